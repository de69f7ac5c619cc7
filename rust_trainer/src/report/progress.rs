//! How training stands, on standard error: a bar on a terminal; elsewhere (a log file, CI) a plain
//! line every ten seconds, without control characters.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::format::{duration, of_games};
use super::running::{GameWindow, Rate};
use crate::listener;

/// A bar is redrawn, or a line printed, no sooner than this after the one before.
const BAR_INTERVAL: Duration = Duration::from_millis(200);
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The progress display of one run. Dropping it, however the run ends, leaves a clean line.
pub struct Progress {
    display: Display,
    total_steps: u64,
    rate: Rate,
    shown: Instant,
    shown_step: Option<u64>,
}

enum Display {
    Bar(ProgressBar),
    Lines(Box<dyn Write + Send>),
}

impl Progress {
    /// Shows the progress from `start_step` (0, or where a resumed run goes on) to `total_steps`; a
    /// [`listener`] hears of updates instead.
    pub fn new(start_step: u64, total_steps: u64) -> Self {
        if listener::is_there() {
            return Self::hidden(start_step, total_steps);
        }
        let terminal = std::env::var_os("TERM").is_none_or(|kind| kind != "dumb");
        let display = if terminal && io::stderr().is_terminal() {
            Display::Bar(bar(start_step, total_steps))
        } else {
            Display::Lines(Box::new(io::stderr()))
        };
        Self::on(display, start_step, total_steps)
    }

    /// Shows nothing.
    pub fn hidden(start_step: u64, total_steps: u64) -> Self {
        let nowhere = Display::Lines(Box::new(io::sink()));
        Self::on(nowhere, start_step, total_steps)
    }

    fn on(display: Display, start_step: u64, total_steps: u64) -> Self {
        let now = Instant::now();
        Self {
            display,
            total_steps,
            rate: Rate::new(now, start_step),
            shown: now,
            shown_step: None,
        }
    }

    /// Notes that an update has ended at `step`, for the rate.
    pub fn update(&mut self, step: u64) {
        self.rate.record(Instant::now(), step);
    }

    /// Shows that training stands at `step`, when it is time to.
    pub fn tick(&mut self, step: u64, games: &GameWindow) {
        self.tick_at(Instant::now(), step, games);
    }

    fn tick_at(&mut self, now: Instant, step: u64, games: &GameWindow) {
        let interval = match self.display {
            Display::Bar(_) => BAR_INTERVAL,
            Display::Lines(_) => LINE_INTERVAL,
        };
        if now.duration_since(self.shown) >= interval {
            self.shown = now;
            self.show(step, games);
        }
    }

    /// Shows where training stands at once, whenever it was last shown; a plain line for this step
    /// that is printed already is not repeated.
    pub fn show(&mut self, step: u64, games: &GameWindow) {
        let status = status(step, self.total_steps, self.rate.per_second(), games);
        let is_new = self.shown_step.replace(step) != Some(step);
        match &mut self.display {
            Display::Bar(bar) => {
                if bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position(step);
                bar.set_message(status);
            }
            Display::Lines(out) if is_new => line(out, &status),
            Display::Lines(_) => {}
        }
    }

    /// Agent steps of the whole run.
    pub fn total_steps(&self) -> u64 {
        self.total_steps
    }

    /// Leaves out the last `time` of what the rate is measured over.
    pub fn pause(&mut self, time: Duration) {
        self.rate.pause(time);
    }

    /// Prints a line of text above the bar, or among the lines.
    pub fn message(&mut self, text: &str) {
        if listener::tell_line(text) {
            return;
        }
        match &mut self.display {
            Display::Bar(bar) if bar.is_hidden() => line(&mut io::stderr(), text),
            Display::Bar(bar) => bar.println(text),
            Display::Lines(out) => line(out, text),
        }
    }

    /// Agent steps per second over the last updates, new steps only ([`Rate`]).
    pub fn steps_per_second(&self) -> Option<f64> {
        self.rate.per_second()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display
            && !bar.is_hidden()
        {
            // The bar stays as it stands. It ends at the terminal's last column without a line
            // break, which shows as a broken line where the width has changed since.
            bar.abandon();
            line(&mut io::stderr(), "");
        }
    }
}

/// A failure to print is no reason to stop training: standard error may be a pipe whose reader
/// has gone, and `eprintln!` would panic there.
fn line(out: &mut impl Write, text: &str) {
    let _ = writeln!(out, "{text}");
}

/// A bar that is not there before training stands somewhere: what is said until then would go behind it.
fn bar(start_step: u64, total_steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total_steps), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{wide_bar:.cyan/dim} {msg}");
    bar.set_style(
        style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("━━─"),
    );
    bar.set_position(start_step);
    bar
}

/// `1200000/10000000 steps  5321/s  27m 34s left  mean return 345.2  1203 games`, the mean being that of
/// the last 100 games. Steps stand in full, as in all other lines and in the names of checkpoints.
fn status(step: u64, total: u64, per_second: Option<f64>, games: &GameWindow) -> String {
    let mut parts = vec![format!("{step}/{total} steps")];
    if let Some(rate) = per_second.filter(|&rate| rate > 0.0) {
        let left = total.saturating_sub(step) as f64 / rate;
        parts.push(format!("{rate:.0}/s"));
        parts.push(format!("{} left", duration(left)));
    }
    if let Some(mean) = games.mean() {
        parts.push(format!("mean {} {mean:.1}", games.what));
        parts.push(of_games(games.played));
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn plain_lines_come_every_ten_seconds_from_the_resumed_step() {
        let buffer = Buffer::default();
        let lines = Display::Lines(Box::new(buffer.clone()));
        let mut progress = Progress::on(lines, 500_000, 1_000_000);
        let start = progress.shown;
        let mut games = GameWindow::of("return");
        games.push(20.0);
        for second in 1..=25_u64 {
            let now = start + Duration::from_secs(second);
            progress.rate.record(now, 500_000 + 1_000 * second);
            progress.tick_at(now, 500_000 + 1_000 * second, &games);
        }
        progress.message("checkpoint written");
        for step in [525_000, 525_000] {
            progress.show(step, &games);
        }
        drop(progress);
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            text,
            "510000/1000000 steps  1000/s  8m 10s left  mean return 20.0  1 game\n\
             520000/1000000 steps  1000/s  8m 00s left  mean return 20.0  1 game\n\
             checkpoint written\n\
             525000/1000000 steps  1000/s  7m 55s left  mean return 20.0  1 game\n"
        );
    }

    #[test]
    fn status_leaves_out_what_is_not_known() {
        let games = GameWindow::of("return");
        assert_eq!(status(0, 0, None, &games), "0/0 steps");
        assert_eq!(status(5, 10, Some(0.0), &games), "5/10 steps");
    }

    #[test]
    fn status_fits_beside_a_bar() {
        let mut games = GameWindow::of("return");
        for _ in 0..1_203 {
            games.push(345.25);
        }
        let text = status(1_200_000, 10_000_000, Some(5_320.6), &games);
        let expected =
            "1200000/10000000 steps  5321/s  27m 34s left  mean return 345.2  1203 games";
        assert_eq!(text, expected);
    }
}
