//! Numbers as people read them: `1.5M` on an axis, `2h 05m` in the progress line.

/// A count or an axis value with at most three decimals and a unit: `950`, `1.5k`, `10M`, `-0.25`.
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        // From 999.9995 on, three decimals round up to the next unit.
        size if size >= 999.9995e6 => (value / 1e9, "G"),
        size if size >= 999.9995e3 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = format!("{scaled:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    // Rounding a tiny negative number leaves a sign without a value.
    let digits = if digits == "-0" { "0" } else { digits };
    format!("{digits}{unit}")
}

/// A span of time with its two largest units: `42s`, `7m 03s`, `2h 05m`, `3d 04h`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m {:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h {:02}m", minutes % 60),
        _ => format!("{days}d {:02}h", hours % 24),
    }
}

/// `1 game`, `3 games`.
pub fn of_games(count: u64) -> String {
    let unit = if count == 1 { "game" } else { "games" };
    format!("{count} {unit}")
}

/// What a mean return of agents means where each environment has several: the literature has both conventions.
pub fn of_agents(mean: f64, num_agents: usize) -> String {
    match num_agents {
        1 => String::new(),
        count => format!(
            " per agent, {:.1} summed over {count} agents",
            mean * count as f64
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keeps_what_an_axis_needs() {
        let expected = [
            (0.0, "0"),
            (-0.000_01, "0"),
            (0.25, "0.25"),
            (-21.0, "-21"),
            (950.0, "950"),
            (1_500.0, "1.5k"),
            (500_000.0, "500k"),
            (999_999.9, "1M"),
            (1_234_567.0, "1.235M"),
            (10_000_000.0, "10M"),
            (2.5e9, "2.5G"),
        ];
        for (value, text) in expected {
            assert_eq!(short(value), text, "{value}");
        }
    }

    #[test]
    fn duration_keeps_two_units() {
        let expected = [
            (-1.0, "0s"),
            (59.4, "59s"),
            (59.6, "1m 00s"),
            (423.0, "7m 03s"),
            (7_500.0, "2h 05m"),
            (273_600.0, "3d 04h"),
        ];
        for (seconds, text) in expected {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }
}
