//! How fast a run is, and what its time goes into.

use ratatui::{
    Frame,
    layout::Rect,
    style::Stylize,
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{ACCENT, FAINT, lists::sparkline, titled, when};
use crate::{
    report::format::duration,
    watch::run::{State, WatchedRun},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, run: &WatchedRun) {
    let block = titled("steps per second");
    let inner = block.inner(area);
    let named = |name: &str, value: String| {
        let width = usize::from(inner.width).saturating_sub(name.len() + value.chars().count());
        Line::from(vec![
            Span::from(name.to_owned()),
            " ".repeat(width).into(),
            value.into(),
        ])
    };
    let mut lines = Vec::new();
    if let Some(speed) = run.updates.speed() {
        lines.push(named(when(run), format!("{speed:.0}")));
    }
    if let Some(speed) = run.mean_speed() {
        lines.push(named("mean", format!("{speed:.0}")));
        lines.push(named("trained for", duration(run.seconds())));
    }
    if let (State::Running(_), Some(left)) = (run.state, run.seconds_left()) {
        lines.push(named("left", duration(left)));
    }
    if let Some(speeds) = run.updates.named("steps_per_second") {
        let trend = sparkline(speeds, usize::from(inner.width));
        lines.push(Line::from(trend.fg(ACCENT)));
    }
    if let Some(phases) = run.updates.phases() {
        lines.push(Line::from("where time goes").style(FAINT));
        let widest = usize::from(inner.width).saturating_sub(14);
        for (name, share) in phases {
            let (bar, percent) = (bar(share, widest), format!("{:>3.0} %", 100.0 * share));
            lines.push(Line::from(vec![
                format!("{name:<9}").into(),
                bar.fg(ACCENT),
                percent.into(),
            ]));
        }
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// A bar for a share of `width` columns, to an eighth of a column.
pub(super) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let text = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    let used = text.chars().count();
    text + &" ".repeat(width.saturating_sub(used))
}
