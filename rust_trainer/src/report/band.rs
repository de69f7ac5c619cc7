//! The learning curve of several seeds as a picture: their mean as a line, its 95 % interval as a band.

use std::path::Path;

use plotters::prelude::*;

use super::error::ReportError;
use super::format::short;
use super::picture::{self, Canvas, Drawn, INK, UNIT, text};
use super::statistics::Interval;
use super::stats::GAMES;

const GRID: RGBColor = RGBColor(230, 230, 230);
const BLUE: RGBColor = RGBColor(0, 114, 178);

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
///
/// # Errors
/// A file that cannot be written.
pub fn draw_band(path: &Path, title: &str, points: &[Point]) -> Result<(), ReportError> {
    picture::draw(path, |canvas| paint(canvas, title, points))
}

fn paint(canvas: &Canvas<'_>, title: &str, points: &[Point]) -> Drawn {
    let ends = points
        .iter()
        .flat_map(|point| [point.interval.low, point.interval.high]);
    let (low, high) = ends
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
    let room = (0.05 * (high - low)).max(1e-6 * high.abs()).max(1e-3);
    let last = points.last().map_or(1, |point| point.step.max(1)) as f64;
    let mut chart = ChartBuilder::on(canvas)
        .caption(title, text(20))
        .margin(14 * UNIT)
        .margin_right(24 * UNIT)
        .x_label_area_size(52 * UNIT)
        .y_label_area_size(78 * UNIT)
        .build_cartesian_2d(0.0..1.02 * last, low - room..high + room)?;
    chart
        .configure_mesh()
        .x_desc("agent steps")
        .y_desc(format!("raw return, mean of the last {GAMES} games"))
        .axis_desc_style(text(15))
        .label_style(text(14))
        .x_label_formatter(&|&step| short(step))
        .y_label_formatter(&|&value| short(value))
        .axis_style(INK.stroke_width(UNIT as u32))
        .bold_line_style(GRID.stroke_width(UNIT as u32))
        .light_line_style(TRANSPARENT)
        .draw()?;
    let upper = points
        .iter()
        .map(|point| (point.step as f64, point.interval.high));
    let lower = points
        .iter()
        .rev()
        .map(|point| (point.step as f64, point.interval.low));
    let outline: Vec<_> = upper.chain(lower).collect();
    chart
        .draw_series([Polygon::new(outline, BLUE.mix(0.2).filled())])?
        .label("95 % interval, bootstrap over seeds")
        .legend(|(x, y)| {
            let corners = [(x + 2 * UNIT, y - 5 * UNIT), (x + 28 * UNIT, y + 5 * UNIT)];
            Rectangle::new(corners, BLUE.mix(0.2).filled())
        });
    let line = BLUE.stroke_width(5 * UNIT as u32 / 2);
    let means = points.iter().map(|point| (point.step as f64, point.mean));
    chart
        .draw_series(LineSeries::new(means, line))?
        .label("mean over seeds")
        .legend(move |(x, y)| PathElement::new([(x + 2 * UNIT, y), (x + 28 * UNIT, y)], line));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .margin(12 * UNIT)
        .legend_area_size(34 * UNIT)
        .label_font(text(14))
        .background_style(WHITE.mix(0.85))
        .border_style(GRID.stroke_width(UNIT as u32))
        .draw()?;
    Ok(())
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
