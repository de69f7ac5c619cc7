//! The learning curve: the mean of the last hundred games as a line, evaluations as dots; those of other runs
//! of the game behind it.

use ratatui::{
    Frame,
    layout::Rect,
    style::{Color, Style, Stylize},
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Chart, Dataset, GraphType, Paragraph},
};

use super::{ACCENT, FAINT, titled};
use crate::{
    report::format::{duration, short},
    watch::{run::WatchedRun, series::Point, shown::Shown},
};

const EVALUATIONS: Color = Color::Magenta;

type Points = Vec<(f64, f64)>;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, shown: &Shown) {
    let run = &shown.runs[shown.chosen];
    let curve = curve_of(run, shown.over_time);
    let dots = evaluations(run, shown.over_time);
    let block = titled(title(run, !dots.is_empty()));
    if curve.is_empty() && dots.is_empty() {
        let nothing = Paragraph::new("no game has ended yet")
            .style(FAINT)
            .centered();
        frame.render_widget(nothing.block(block), area);
        return;
    }
    let env_of = |run: &WatchedRun| run.settings.as_ref().map(|all| all.env.env_id.clone());
    // Another game has another scale.
    let others = shown
        .runs
        .iter()
        .enumerate()
        .filter(|(index, other)| *index != shown.chosen && env_of(other) == env_of(run));
    let others: Vec<Points> = others
        .map(|(_, other)| curve_of(other, shown.over_time))
        .collect();
    let all = || others.iter().chain([&curve, &dots]).flatten();
    let across = [0.0, all().map(|point| point.0).fold(1.0, f64::max)];
    let down = bounds(all().map(|point| point.1));
    let line = |points, style: Style| {
        let line = Dataset::default().data(points).style(style);
        line.marker(Marker::Braille).graph_type(GraphType::Line)
    };
    let mut lines: Vec<_> = others.iter().map(|points| line(points, FAINT)).collect();
    lines.push(line(&curve, ACCENT.into()));
    lines.push(
        line(&dots, EVALUATIONS.into())
            .graph_type(GraphType::Scatter)
            .marker(Marker::Dot),
    );
    let label = |value: f64| {
        if shown.over_time {
            duration(value)
        } else {
            short(value)
        }
    };
    let labels = [0.0, 0.5, 1.0].map(|part| label((across[1] * part).round()));
    let x_axis = Axis::default().bounds(across).labels(labels).style(FAINT);
    let middle = f64::midpoint(down[0], down[1]);
    let labels = [down[0], middle, down[1]].map(|value| level(value, down[1] - down[0]));
    let y_axis = Axis::default().bounds(down).labels(labels).style(FAINT);
    frame.render_widget(
        Chart::new(lines).block(block).x_axis(x_axis).y_axis(y_axis),
        area,
    );
}

fn title(run: &WatchedRun, has_evaluations: bool) -> Line<'static> {
    let what = run.games.what();
    let mut words = vec![Span::from(match run.games.mean() {
        Some((value, 1)) => format!("{what} of the only game: {value:.1}"),
        Some((mean, count)) => format!("{what}, mean of the last {count} games: {mean:.1}"),
        None => what.to_owned(),
    })];
    if has_evaluations {
        words.extend(["  ".into(), "• evaluations".fg(EVALUATIONS)]);
    }
    Line::from(words)
}

fn curve_of(run: &WatchedRun, over_time: bool) -> Points {
    let across = |point: Point| if over_time { point.seconds } else { point.step };
    run.games
        .curve
        .points()
        .map(|point| (across(point), point.value))
        .collect()
}

/// Evaluations; over time they stand at the mean speed, for their table has no seconds of training.
fn evaluations(run: &WatchedRun, over_time: bool) -> Points {
    if run.games.what() != "return" {
        return Points::new();
    }
    let per_step = match (over_time, run.mean_speed()) {
        (true, Some(speed)) => 1.0 / speed,
        _ => 1.0,
    };
    run.evaluations
        .iter()
        .map(|row| (row.step as f64 * per_step, row.mean))
        .collect()
}

/// The ends of an axis, with some room around the values; none below 0 where no value is.
fn bounds(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let room = ((high - low) * 0.05).max(high.abs() * 1e-3).max(1e-3);
    let least = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    [(low - room).max(least), high + room]
}

/// A number on an axis of this length, with as many digits as tell it from the next.
fn level(value: f64, length: f64) -> String {
    match length {
        size if size >= 10_000.0 => short((value / 100.0).round() * 100.0),
        size if size >= 20.0 => format!("{:.0}", value.round() + 0.0), // no "-0"
        size if size >= 2.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
