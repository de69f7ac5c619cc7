//! The learning curve as a picture: each true game's raw return as a dot over the agent steps, the
//! running mean of the last 100 games as a line, evaluations as a line of points, and reference results as dashed lines.

use std::path::Path;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::error::ReportError;
use super::format::short;
use super::picture::{self, Canvas, Drawn, INK, SIZE, UNIT, text};
use super::stats::{GAMES, running_mean};

/// A line one pixel wide in the finished picture.
const LINE: u32 = UNIT as u32;
const GRID: RGBColor = RGBColor(230, 230, 230);
/// Told apart by the colour-blind too (Okabe and Ito, "Color Universal Design", 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The games of one run.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Name in the legend, such as `seed 1`; may be empty where there is one curve only.
    pub label: String,
    /// Agent step and raw return of each true game, in the order in which they ended.
    pub games: Vec<(u64, f64)>,
    /// Agent step and mean raw return of each evaluation during training.
    pub evaluations: Vec<(u64, f64)>,
}

/// A result to compare with, drawn as a horizontal dashed line.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Whose result it is.
    pub label: String,
    /// Raw return.
    pub raw_return: f64,
}

type Chart<'a> = ChartContext<'a, BitMapBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws `curves` and `references` into the PNG file `path`, 1200×700 pixels; `returns` names the
/// upright axis.
pub fn draw_curves(
    path: &Path,
    title: &str,
    returns: &str,
    curves: &[Curve],
    references: &[Reference],
) -> Result<(), ReportError> {
    picture::draw(path, |canvas| {
        paint(canvas, title, returns, curves, references)
    })
}

fn paint(
    canvas: &Canvas<'_>,
    title: &str,
    axis: &str,
    curves: &[Curve],
    references: &[Reference],
) -> Drawn {
    let empty = curves.iter().all(|curve| curve.games.is_empty());
    let (steps, returns) = ranges(curves, references);
    let right = labels_width(canvas, references)?;
    let mut chart = ChartBuilder::on(canvas)
        .caption(title, text(20))
        .margin(14 * UNIT)
        .margin_right(right)
        .x_label_area_size(52 * UNIT)
        .y_label_area_size(78 * UNIT)
        .build_cartesian_2d(0.0..steps, returns.clone())?;
    chart
        .configure_mesh()
        .x_desc("agent steps")
        .y_desc(axis)
        .axis_desc_style(text(15))
        .label_style(text(14))
        .x_labels(if empty { 0 } else { 11 })
        .y_labels(if empty { 0 } else { 9 })
        .x_label_formatter(&|&step| short(step))
        .y_label_formatter(&|&value| return_label(value))
        .set_all_tick_mark_size(5 * UNIT)
        .axis_style(INK.stroke_width(LINE))
        .bold_line_style(GRID.stroke_width(LINE))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (place, curve) in curves.iter().enumerate() {
        draw_games(&mut chart, curve, COLOURS[place % COLOURS.len()])?;
    }
    name_games(&mut chart, if curves.len() == 1 { COLOURS[0] } else { INK })?;
    // The lines come after all dots, so that no run's dots hide another's mean.
    for (place, curve) in curves.iter().enumerate() {
        draw_mean(&mut chart, curve, COLOURS[place % COLOURS.len()], steps)?;
    }
    for (place, curve) in curves.iter().enumerate() {
        let next = if curves.len() == 1 { 1 } else { place };
        draw_evaluations(&mut chart, curve, COLOURS[next % COLOURS.len()])?;
    }
    draw_references(canvas, &mut chart, references, steps)?;
    if empty {
        let (across, down) = chart.plotting_area().get_pixel_range();
        let style = text(16).pos(Pos::new(HPos::Center, VPos::Center));
        let middle = (
            i32::midpoint(across.start, across.end),
            i32::midpoint(down.start, down.end),
        );
        canvas.draw_text("no game has ended yet", &style, middle)?;
    } else {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .margin(12 * UNIT)
            .legend_area_size(34 * UNIT)
            .label_font(text(14))
            .background_style(WHITE.mix(0.85))
            .border_style(GRID.stroke_width(LINE))
            .draw()?;
    }
    Ok(())
}

/// The end of the step axis and the ends of the return axis, with room around the data.
fn ranges(curves: &[Curve], references: &[Reference]) -> (f64, std::ops::Range<f64>) {
    let games = || {
        curves
            .iter()
            .flat_map(|curve| curve.games.iter().chain(&curve.evaluations))
    };
    let last = games().map(|&(step, _)| step).max().unwrap_or(0);
    let values = games().map(|&(_, value)| value);
    let values = values.chain(references.iter().map(|line| line.raw_return));
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
    let room = if high > low {
        0.05 * (high - low)
    } else {
        0.1 * high.abs().max(1.0)
    };
    (1.02 * last.max(1) as f64, low - room..high + room)
}

/// Returns are known by their digits: `2500`, not `2.5k`.
fn return_label(value: f64) -> String {
    if (1e3..1e6).contains(&value.abs()) {
        format!("{value:.0}")
    } else {
        short(value)
    }
}

fn draw_games(chart: &mut Chart<'_>, curve: &Curve, colour: RGBColor) -> Drawn {
    // Many games overlap: smaller and fainter dots keep their density visible.
    let (radius, strength) = match curve.games.len() {
        0..200 => (3 * UNIT, 0.4),
        200..2_000 => (2 * UNIT, 0.35),
        2_000..20_000 => (3 * UNIT / 2, 0.2),
        _ => (UNIT, 0.1),
    };
    let style = colour.mix(strength).filled();
    let dots = curve.games.iter().filter(|(_, value)| value.is_finite());
    let dots = dots.map(|&(step, value)| Circle::new((step as f64, value), radius, style));
    chart.draw_series(dots)?;
    Ok(())
}

/// The dots' entry in the legend, one for all curves.
fn name_games(chart: &mut Chart<'_>, colour: RGBColor) -> Drawn {
    let none = std::iter::empty::<Circle<(f64, f64), i32>>();
    let style = colour.mix(0.45).filled();
    chart
        .draw_series(none)?
        .label("single games")
        .legend(move |(x, y)| Circle::new((x + 15 * UNIT, y), 3 * UNIT, style));
    Ok(())
}

fn draw_mean(chart: &mut Chart<'_>, curve: &Curve, colour: RGBColor, steps: f64) -> Drawn {
    let label = match curve.label.as_str() {
        "" => format!("mean of the last {GAMES} games"),
        label => format!("{label}, mean of the last {GAMES} games"),
    };
    let line = colour.stroke_width(5 * LINE / 2);
    let points = running_mean(&curve.games, steps / f64::from(SIZE.0));
    // A line of one point is invisible.
    let alone = points.first().filter(|_| points.len() == 1).copied();
    chart.draw_series(alone.map(|at| Circle::new(at, 4 * UNIT, colour.filled())))?;
    chart
        .draw_series(LineSeries::new(points, line))?
        .label(label)
        .legend(move |(x, y)| PathElement::new([(x + 2 * UNIT, y), (x + 28 * UNIT, y)], line));
    Ok(())
}

/// The evaluations: points with a line through them, in the legend where there are any.
fn draw_evaluations(chart: &mut Chart<'_>, curve: &Curve, colour: RGBColor) -> Drawn {
    if curve.evaluations.is_empty() {
        return Ok(());
    }
    let label = match curve.label.as_str() {
        "" => "evaluations".to_owned(),
        label => format!("{label}, evaluations"),
    };
    let line = colour.stroke_width(LINE);
    let points = curve.evaluations.iter();
    let points: Vec<_> = points.map(|&(step, mean)| (step as f64, mean)).collect();
    let marks = points
        .iter()
        .map(|&at| Circle::new(at, 4 * UNIT, colour.filled()));
    chart.draw_series(marks)?;
    let series = LineSeries::new(points, line);
    chart
        .draw_series(series)?
        .label(label)
        .legend(move |(x, y)| {
            EmptyElement::at((x, y))
                + PathElement::new([(2 * UNIT, 0), (28 * UNIT, 0)], line)
                + Circle::new((15 * UNIT, 0), 4 * UNIT, colour.filled())
        });
    Ok(())
}

/// The right margin that the references' labels need, in fine pixels.
fn labels_width(canvas: &Canvas<'_>, references: &[Reference]) -> Drawn<i32> {
    let mut width = 24 * UNIT;
    for reference in references {
        let (label, _) = canvas.estimate_text_size(&reference.label, &text(13))?;
        width = width.max(label as i32 + 24 * UNIT);
    }
    Ok(width)
}

/// Dashed lines over the whole width, each label to the right of its line; labels of lines that
/// lie close together are moved apart.
fn draw_references(
    canvas: &Canvas<'_>,
    chart: &mut Chart<'_>,
    references: &[Reference],
    steps: f64,
) -> Drawn {
    let mut sorted: Vec<&Reference> = references.iter().collect();
    sorted.sort_by(|one, other| one.raw_return.total_cmp(&other.raw_return));
    let mut lowest_free = i32::MAX;
    for reference in sorted {
        let value = reference.raw_return;
        let ends = [(0.0, value), (steps, value)];
        let dash = INK.mix(0.7).stroke_width(LINE);
        let dashes = DashedLineSeries::new(ends, 7 * UNIT, 5 * UNIT, dash);
        chart.draw_series(dashes)?;
        let (x, y) = chart.backend_coord(&ends[1]);
        let y = y.min(lowest_free);
        lowest_free = y - 17 * UNIT;
        let style = text(13).pos(Pos::new(HPos::Left, VPos::Center));
        canvas.draw_text(&reference.label, &style, (x + 8 * UNIT, y + 2 * UNIT))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(games: &[(u64, f64)], references: &[Reference]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curve.png");
        let label = "seed 1".into();
        let curve = Curve {
            label,
            games: games.to_vec(),
            evaluations: vec![(5, 1.0), (9, 2.0)],
        };
        draw_curves(&path, "Env, algorithm", "raw return", &[curve], references).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn any_number_of_games_draws() {
        let mut pictures = Vec::new();
        for count in [0, 1, 2, 100_000] {
            let games: Vec<_> = (0..count)
                .map(|game| (100 * game, (game % 7) as f64))
                .collect();
            let picture = drawn(&games, &[]);
            let size: Vec<u8> = [SIZE.0, SIZE.1]
                .iter()
                .flat_map(|side| side.to_be_bytes())
                .collect();
            assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
            assert_eq!(picture[16..24], size);
            pictures.push(picture);
        }
        pictures.dedup();
        assert_eq!(pictures.len(), 4);
    }

    #[test]
    fn unusual_values_draw() {
        let label = "peer".into();
        let reference = Reference {
            label,
            raw_return: -3.0,
        };
        drawn(&[(0, 5.0)], &[]);
        drawn(&[(8, f64::NAN), (9, f64::INFINITY)], &[]);
        drawn(&[(8, -21.0), (9, -21.0)], &[reference.clone(), reference]);
    }

    #[test]
    fn ranges_hold_all_that_is_drawn() {
        let games = vec![(100, -4.0), (1_000, 16.0)];
        let curve = Curve {
            label: String::new(),
            games,
            evaluations: vec![(1_100, 40.0)],
        };
        let reference = Reference {
            label: String::new(),
            raw_return: 36.0,
        };
        let (steps, returns) = ranges(&[curve], &[reference]);
        assert_eq!((steps, returns), (1_122.0, -6.2..42.2));
    }
}
