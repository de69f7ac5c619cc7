//! The learning curve as a picture: each true game's raw return as a dot over the agent steps, the
//! running mean of the last 100 games as a line, evaluations as a line of points.

use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::picture::{self, BLUE, Canvas, Chart, Drawn, LINE, SIZE, UNIT, VERMILION, text};
use super::running::{GAMES, running_mean};
use crate::error::TrainerError;

const GAMES_COLOUR: RGBColor = BLUE;
const EVALUATIONS_COLOUR: RGBColor = VERMILION;

/// The games of one run.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Agent step and raw return of each true game, in the order in which they ended.
    pub games: Vec<(u64, f64)>,
    /// Agent step and mean raw return of each evaluation during training.
    pub evaluations: Vec<(u64, f64)>,
}

/// Draws `curve` into the PNG file `path`, 1200×700 pixels; `returns` names the upright axis.
pub fn draw_curve(
    path: &Path,
    title: &str,
    returns: &str,
    curve: &Curve,
) -> Result<(), TrainerError> {
    picture::draw(path, |canvas| paint(canvas, title, returns, curve))
}

fn paint(canvas: &Canvas<'_>, title: &str, axis: &str, curve: &Curve) -> Drawn {
    let empty = curve.games.is_empty() && curve.evaluations.is_empty();
    let ranges = ranges(curve);
    let mut chart = picture::axes(canvas, title, axis, ranges.clone(), !empty)?;
    draw_games(&mut chart, curve)?;
    draw_mean(&mut chart, curve, ranges.0)?;
    draw_evaluations(&mut chart, curve)?;
    if empty {
        let (across, down) = chart.plotting_area().get_pixel_range();
        let style = text(16).pos(Pos::new(HPos::Center, VPos::Center));
        let middle = (
            i32::midpoint(across.start, across.end),
            i32::midpoint(down.start, down.end),
        );
        canvas.draw_text("no game has ended yet", &style, middle)?;
    } else {
        picture::legend(&mut chart)?;
    }
    Ok(())
}

/// The last agent step, and the ends of the return axis, with room around the data.
fn ranges(curve: &Curve) -> (u64, Range<f64>) {
    let games = || curve.games.iter().chain(&curve.evaluations);
    let last = games().map(|&(step, _)| step).max().unwrap_or(0);
    (last, picture::range(games().map(|&(_, value)| value)))
}

fn draw_games(chart: &mut Chart<'_>, curve: &Curve) -> Drawn {
    // Many games overlap: smaller and fainter dots keep their density visible.
    let (radius, strength) = match curve.games.len() {
        0..200 => (3 * UNIT, 0.4),
        200..2_000 => (2 * UNIT, 0.35),
        2_000..20_000 => (3 * UNIT / 2, 0.2),
        _ => (UNIT, 0.1),
    };
    let style = GAMES_COLOUR.mix(strength).filled();
    let dots = curve.games.iter().filter(|(_, value)| value.is_finite());
    let dots = dots.map(|&(step, value)| Circle::new((step as f64, value), radius, style));
    let legend = GAMES_COLOUR.mix(0.45).filled();
    chart
        .draw_series(dots)?
        .label("single games")
        .legend(move |(x, y)| Circle::new((x + 15 * UNIT, y), 3 * UNIT, legend));
    Ok(())
}

fn draw_mean(chart: &mut Chart<'_>, curve: &Curve, last: u64) -> Drawn {
    let line = GAMES_COLOUR.stroke_width(5 * LINE / 2);
    let points = running_mean(&curve.games, 1.02 * last.max(1) as f64 / f64::from(SIZE.0));
    // A line of one point is invisible.
    let alone = points.first().filter(|_| points.len() == 1).copied();
    chart.draw_series(alone.map(|at| Circle::new(at, 4 * UNIT, GAMES_COLOUR.filled())))?;
    chart
        .draw_series(LineSeries::new(points, line))?
        .label(format!("mean of the last {GAMES} games"))
        .legend(move |at| picture::line_sign(at, line));
    Ok(())
}

/// The evaluations: points with a line through them, in the legend where there are any.
fn draw_evaluations(chart: &mut Chart<'_>, curve: &Curve) -> Drawn {
    let colour = EVALUATIONS_COLOUR;
    if curve.evaluations.is_empty() {
        return Ok(());
    }
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
        .label("evaluations")
        .legend(move |(x, y)| {
            EmptyElement::at((x, y))
                + PathElement::new([(2 * UNIT, 0), (28 * UNIT, 0)], line)
                + Circle::new((15 * UNIT, 0), 4 * UNIT, colour.filled())
        });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(games: &[(u64, f64)]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curve.png");
        let curve = Curve {
            games: games.to_vec(),
            evaluations: vec![(5, 1.0), (9, 2.0)],
        };
        draw_curve(&path, "Env, algorithm", "raw return", &curve).unwrap();
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
            let picture = drawn(&games);
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
        drawn(&[(0, 5.0)]);
        drawn(&[(8, f64::NAN), (9, f64::INFINITY)]);
        drawn(&[(8, -21.0), (9, -21.0)]);
    }

    #[test]
    fn ranges_hold_all_that_is_drawn() {
        let games = vec![(100, -4.0), (1_000, 16.0)];
        let curve = Curve {
            games,
            evaluations: vec![(1_100, 40.0)],
        };
        assert_eq!(ranges(&curve), (1_100, -6.2..42.2));
    }
}
