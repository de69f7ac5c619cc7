//! What is drawn of a run: a head with how far it is, its curve, and lists below. It fits 80 columns and 24 lines, and
//! grows; where there is less, the lower parts go first.

mod curve;
mod lists;
mod speed;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style, Stylize},
    text::{Line, Span},
    widgets::{Block, Clear, LineGauge, Padding, Paragraph, Tabs},
};

use super::{
    run::{State, WatchedRun},
    shown::Shown,
};
use crate::report::format::{duration, short};

/// Colours by what they mean; those of the terminal, whatever its background.
const ACCENT: Color = Color::Cyan;
const GOOD: Color = Color::Green;
const CAUTION: Color = Color::Yellow;
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);

const KEYS: &[(&str, &str)] = &[
    ("q, Esc, Ctrl-C", "leave; the run goes on"),
    ("← →, Tab, 1-9", "another run"),
    ("↑ ↓", "scroll the lists"),
    ("t", "the curve over time, or over agent steps"),
    ("h, ?", "this help"),
];

/// Draws it all.
pub(super) fn draw(frame: &mut Frame<'_>, shown: &Shown) {
    let run = &shown.runs[shown.chosen];
    let area = frame.area();
    let tabs = u16::from(shown.runs.len() > 1);
    let lists = if area.height >= 20 {
        (area.height / 3).max(8)
    } else {
        0
    };
    let parts = [
        Constraint::Length(tabs),
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(lists),
        Constraint::Length(1),
    ];
    let [tabs, head, middle, lists, foot] = Layout::vertical(parts).areas(area);
    draw_tabs(frame, tabs, shown);
    draw_head(frame, head, run);
    let side = if area.width >= 60 {
        (area.width / 4).clamp(24, 36)
    } else {
        0
    };
    let [curve, speed] =
        Layout::horizontal([Constraint::Min(20), Constraint::Length(side)]).areas(middle);
    curve::draw(frame, curve, shown);
    if side > 0 {
        speed::draw(frame, speed, run);
    }
    if lists.height > 0 {
        lists::draw(frame, lists, run, shown.scrolled);
    }
    draw_foot(frame, foot, run, shown.runs.len() > 1);
    if shown.help {
        draw_help(frame);
    }
}

fn draw_tabs(frame: &mut Frame<'_>, area: Rect, shown: &Shown) {
    if area.height == 0 {
        return;
    }
    let names: Vec<&str> = shown.runs.iter().map(|run| run.name.as_str()).collect();
    // Where there are more than the line holds, the first ones go.
    let width = |names: &[&str]| {
        names
            .iter()
            .map(|name| Line::from(*name).width() + 3)
            .sum::<usize>()
    };
    let fits = |from: &usize| width(&names[*from..=shown.chosen]) <= usize::from(area.width);
    let first = (0..shown.chosen).find(fits).unwrap_or(shown.chosen);
    let tabs = Tabs::new(names[first..].to_vec())
        .select(shown.chosen - first)
        .divider("│")
        .style(FAINT)
        .highlight_style(Style::new().not_dim().bold().fg(ACCENT));
    frame.render_widget(tabs, area);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, run: &WatchedRun) {
    let [names, progress] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let (state, colour) = state(run);
    let state_width = state.chars().count() as u16 + 1;
    let [name, right] =
        Layout::horizontal([Constraint::Min(10), Constraint::Length(state_width)]).areas(names);
    let name_of_it = Span::from(run.name.as_str()).bold();
    frame.render_widget(
        Line::from(vec![name_of_it, "  ".into(), run.title().into()]),
        name,
    );
    frame.render_widget(Line::from(state).style(colour).right_aligned(), right);
    let total = run.total_steps().unwrap_or(0);
    let ratio = if total > 0 {
        run.step() as f64 / total as f64
    } else {
        0.0
    };
    let label = progress_of(run);
    let gauge = LineGauge::default()
        .label(label)
        .ratio(ratio.clamp(0.0, 1.0))
        .filled_symbol("━")
        .unfilled_symbol("─")
        .filled_style(ACCENT)
        .unfilled_style(FAINT);
    frame.render_widget(gauge, progress);
}

/// How far it is: `7.235M/10M steps  72 %  30m 26s left`.
pub(super) fn progress_of(run: &WatchedRun) -> String {
    let step = run.step();
    let Some(total) = run.total_steps() else {
        return format!("{} steps", short(step as f64));
    };
    let percent = (100.0 * step as f64 / total.max(1) as f64).min(100.0);
    let steps = format!(
        "{}/{} steps  {percent:.0} %",
        short(step as f64),
        short(total as f64)
    );
    match (run.state, run.seconds_left()) {
        (State::Running(_), Some(left)) => format!("{steps}  {} left", duration(left)),
        _ => steps,
    }
}

/// How the run stands, and in which colour that is said.
pub(super) fn state(run: &WatchedRun) -> (String, Style) {
    let age = run.written.and_then(|written| written.elapsed().ok());
    let age = age.map_or_else(|| "?".to_owned(), |age| duration(age.as_secs_f64()));
    match run.state {
        State::Waiting => ("nothing written yet".to_owned(), CAUTION.into()),
        State::Running(Some(process)) => (format!("running, process {process}"), GOOD.into()),
        State::Running(None) => (format!("running, wrote {age} ago"), GOOD.into()),
        State::Finished => ("done".to_owned(), Style::from(GOOD).bold()),
        State::Stopped => (format!("stopped, wrote {age} ago"), CAUTION.into()),
    }
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, run: &WatchedRun, are_several: bool) {
    let line = match &run.problem {
        Some(problem) => Line::from(format!(" {problem}")).fg(Color::Red),
        None if are_several => Line::from(" q leave   ← → runs   ↑ ↓ scroll   t time   h help"),
        None => Line::from(" q leave   ↑ ↓ scroll   t time   h help"),
    };
    frame.render_widget(
        line.style(if run.problem.is_some() {
            Style::new()
        } else {
            FAINT
        }),
        area,
    );
}

fn draw_help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (64.min(area.width), (KEYS.len() as u16 + 2).min(area.height));
    let area = Rect {
        x: (area.width - width) / 2,
        y: (area.height - height) / 2,
        width,
        height,
    };
    let lines = KEYS
        .iter()
        .map(|(keys, what)| Line::from(vec![format!("{keys:<16}").fg(ACCENT), Span::from(*what)]));
    let block = titled("keys").padding(Padding::horizontal(1));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(block), area);
}

/// A frame with a title.
fn titled<'a>(title: impl Into<Line<'a>>) -> Block<'a> {
    Block::bordered().border_style(FAINT).title(title.into())
}

/// Of which time the last speed is.
pub(super) fn when(run: &WatchedRun) -> &'static str {
    match run.state {
        State::Running(_) => "now",
        _ => "last",
    }
}

/// A number of a run, of any size, in at most eight columns.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1e-2 => format!("{value:.2e}"),
        size if size < 10.0 => format!("{value:.4}"),
        size if size < 10_000.0 => format!("{value:.1}"),
        _ => short((value / 10.0).round() * 10.0),
    }
}
