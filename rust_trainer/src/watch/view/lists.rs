//! The last games, the losses with their trends, and what happened.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Style, Stylize},
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{ACCENT, FAINT, GOOD, number, titled};
use crate::{
    report::format::short,
    watch::{run::WatchedRun, series::Series},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, run: &WatchedRun, scrolled: usize) {
    let widths = [
        Constraint::Length(24),
        Constraint::Fill(5),
        Constraint::Fill(4),
    ];
    let [games, losses, happened] = Layout::horizontal(widths).areas(area);
    draw_list(frame, games, "last games", list_of_games(run, scrolled));
    let [width, height] =
        [losses.width, losses.height].map(|cells| usize::from(cells.saturating_sub(2)));
    let mut lines = list_of_losses(run, width);
    // To the last one, and no further.
    lines.drain(..scrolled.min(lines.len().saturating_sub(height)));
    draw_list(frame, losses, "learning, and its trend", lines);
    draw_list(
        frame,
        happened,
        "what happened",
        list_of_happenings(run, scrolled),
    );
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, title: &'static str, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

fn list_of_games(run: &WatchedRun, scrolled: usize) -> Vec<Line<'static>> {
    let games = run.games.last.iter().skip(scrolled);
    let lines = games.map(|game| {
        let length = format!("{:>7}", game.length);
        let of_it = format!("{:>8}", number_of_game(game.raw_return));
        let step = format!("{:<7}", steps(game.step));
        Line::from(vec![
            Span::from(step).style(FAINT),
            of_it.bold(),
            length.into(),
        ])
    });
    let head = Line::from(format!("{:<7}{:>8}{:>7}", "step", "return", "length")).style(FAINT);
    std::iter::once(head).chain(lines).collect()
}

/// A return: whole where it is.
fn number_of_game(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn list_of_losses(run: &WatchedRun, width: usize) -> Vec<Line<'static>> {
    let losses = run.updates.losses();
    let lines = losses.map(|(name, series)| {
        let value = series
            .last()
            .map_or_else(String::new, |point| number(point.value));
        let name_width = 18.min(width.saturating_sub(14));
        let name: String = name.replace('_', " ").chars().take(name_width).collect();
        let trend_width = width.saturating_sub(name_width + 10).min(24);
        let trend = sparkline(series, trend_width);
        Line::from(vec![
            format!("{name:<name_width$} {value:>8} ").into(),
            trend.fg(ACCENT),
        ])
    });
    lines.collect()
}

/// The whole of a series in `width` columns, each as high as its part's mean.
pub(super) fn sparkline(series: &Series, width: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let parts = series.parts(width);
    let low = parts.iter().copied().fold(f64::INFINITY, f64::min);
    let high = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |&part: &f64| {
        let share = if high > low {
            (part - low) / (high - low)
        } else {
            0.0
        };
        HEIGHTS[((share * 8.0) as usize).min(7)]
    };
    parts.iter().map(height).collect()
}

fn list_of_happenings(run: &WatchedRun, scrolled: usize) -> Vec<Line<'static>> {
    let found = run.happenings().into_iter().skip(scrolled);
    let lines = found.map(|happening| {
        let step = format!("{:<7}", steps(happening.step));
        let style = if happening.is_good {
            Style::from(GOOD)
        } else {
            Style::new()
        };
        Line::from(vec![
            Span::from(step).style(FAINT),
            Span::from(happening.text).style(style),
        ])
    });
    lines.collect()
}

/// Agent steps in at most six columns.
fn steps(step: u64) -> String {
    match step {
        0..10_000 => step.to_string(),
        _ => short((step as f64 / 1e3).round() * 1e3),
    }
}
