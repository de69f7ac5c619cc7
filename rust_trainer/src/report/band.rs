//! The learning curve of several seeds as a picture: their mean as a line, its 95 % interval as a band.

use std::path::Path;

use plotters::prelude::*;

use super::bootstrap::Interval;
use super::picture::{self, BLUE, Canvas, Drawn, LINE, UNIT};
use super::running::GAMES;
use crate::error::TrainerError;

/// The mean over seeds at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Agent steps of each run.
    pub step: u64,
    /// The mean over seeds.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// Draws `points`, in the order of their steps, into the PNG file `path`.
pub fn draw_band(path: &Path, title: &str, points: &[Point]) -> Result<(), TrainerError> {
    picture::draw(path, |canvas| paint(canvas, title, points))
}

fn paint(canvas: &Canvas<'_>, title: &str, points: &[Point]) -> Drawn {
    let ends = points
        .iter()
        .flat_map(|point| [point.interval.low, point.interval.high]);
    let last = points.last().map_or(0, |point| point.step);
    let axis = format!("raw return, mean of the last {GAMES} games");
    let ranges = (last, picture::range(ends));
    let mut chart = picture::axes(canvas, title, &axis, ranges, true)?;
    let upper = points
        .iter()
        .map(|point| (point.step as f64, point.interval.high));
    let lower = points
        .iter()
        .rev()
        .map(|point| (point.step as f64, point.interval.low));
    // That of a single seed is not known.
    let has_width = |point: &Point| point.interval.low < point.interval.high;
    if points.iter().any(has_width) {
        let outline: Vec<_> = upper.chain(lower).collect();
        chart
            .draw_series([Polygon::new(outline, BLUE.mix(0.2).filled())])?
            .label("95 % interval, bootstrap over seeds")
            .legend(|(x, y)| {
                let corners = [(x + 2 * UNIT, y - 5 * UNIT), (x + 28 * UNIT, y + 5 * UNIT)];
                Rectangle::new(corners, BLUE.mix(0.2).filled())
            });
    }
    let line = BLUE.stroke_width(5 * LINE / 2);
    let means = points.iter().map(|point| (point.step as f64, point.mean));
    chart
        .draw_series(LineSeries::new(means, line))?
        .label("mean over seeds")
        .legend(move |at| picture::line_sign(at, line));
    picture::legend(&mut chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(points: &[(u64, f64, f64, f64)]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curve.png");
        let points = points.iter().map(|&(step, low, mean, high)| Point {
            step,
            mean,
            interval: Interval { low, high },
        });
        draw_band(&path, "Env", &points.collect::<Vec<_>>()).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn any_points_draw_and_the_band_shows() {
        let narrow = drawn(&[
            (0, 0.9, 1.0, 1.1),
            (100, 4.0, 5.0, 6.0),
            (200, 4.0, 5.0, 10.0),
        ]);
        let wide = drawn(&[
            (0, 0.0, 1.0, 2.0),
            (100, 0.0, 5.0, 9.0),
            (200, 4.0, 5.0, 10.0),
        ]);
        assert_ne!(narrow, wide);
        for points in [
            vec![],
            vec![(8, 0.0, 0.0, 0.0)],
            vec![(8, -21.0, -21.0, -21.0); 2],
        ] {
            assert!(drawn(&points).starts_with(b"\x89PNG"));
        }
    }
}
