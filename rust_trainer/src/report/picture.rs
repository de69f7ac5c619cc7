//! A PNG picture of fixed size, drawn larger and averaged down so that its lines are smooth, with
//! the font that the program brings along; axes and legend of the learning curves. What is between the
//! axes is the caller's business.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::format::short;
use crate::{error::TrainerError, files, pictures};

/// Size of a picture in pixels.
pub(super) const SIZE: (u32, u32) = (1200, 700);
/// A pixel's side while drawing: plotters' bitmap lines are not smooth by themselves.
const FINER: usize = 2;
/// The same as plotters counts, for lengths in the finished picture's pixels.
pub(super) const UNIT: i32 = FINER as i32;

/// A line one pixel wide in the finished picture.
pub(super) const LINE: u32 = UNIT as u32;

const INK: RGBColor = RGBColor(45, 45, 45);
const GRID: RGBColor = RGBColor(230, 230, 230);
/// Told apart by the colour-blind too (Okabe and Ito, "Color Universal Design", 2008).
pub(super) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(super) const VERMILION: RGBColor = RGBColor(213, 94, 0);

const FONT: &str = "DejaVu Sans";
/// Shipped with the program: a training machine need not have any font installed.
const FONT_FILE: &[u8] = include_bytes!("assets/DejaVuSans.ttf");

pub(super) type Canvas<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
pub(super) type Chart<'a> =
    ChartContext<'a, BitMapBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Drawn<T = ()> = Result<T, Box<dyn Error>>;

/// Writes what `paint` draws on a white canvas to the PNG file `path`.
pub(super) fn draw(
    path: &Path,
    paint: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> Result<(), TrainerError> {
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let drawn =
        paint_fine(paint).and_then(|fine| Ok(pictures::png(&average_down(&fine), width, height)?));
    let failed =
        |error| TrainerError::Report(format!("could not draw `{}`: {error}", path.display()));
    files::write(path, &drawn.map_err(failed)?)
}

pub(super) fn text(size: i32) -> TextStyle<'static> {
    (FONT, size * UNIT).into_font().color(&INK)
}

/// The axes of a learning curve: agent steps up to `last`, and `values`, which `axis` names; numbers
/// beside them only where something is `shown`.
pub(super) fn axes<'a>(
    canvas: &Canvas<'a>,
    title: &str,
    axis: &str,
    (last, values): (u64, Range<f64>),
    shown: bool,
) -> Drawn<Chart<'a>> {
    let mut chart = ChartBuilder::on(canvas)
        .caption(title, text(20))
        .margin(14 * UNIT)
        .margin_right(24 * UNIT)
        .x_label_area_size(52 * UNIT)
        .y_label_area_size(78 * UNIT)
        .build_cartesian_2d(0.0..1.02 * last.max(1) as f64, values)?;
    chart
        .configure_mesh()
        .x_desc("agent steps")
        .y_desc(axis)
        .axis_desc_style(text(15))
        .label_style(text(14))
        .x_labels(if shown { 11 } else { 0 })
        .y_labels(if shown { 9 } else { 0 })
        .x_label_formatter(&|&step| short(step))
        .y_label_formatter(&|&value| return_label(value))
        .set_all_tick_mark_size(5 * UNIT)
        .axis_style(INK.stroke_width(LINE))
        .bold_line_style(GRID.stroke_width(LINE))
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(chart)
}

/// The ends of an axis that `values` lie on, those that are finite, with room around them.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
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
    low - room..high + room
}

/// Returns are known by their digits: `2500`, not `2.5k`.
fn return_label(value: f64) -> String {
    if (1e3..1e6).contains(&value.abs()) {
        format!("{value:.0}")
    } else {
        short(value)
    }
}

/// What the series of `chart` are called, beside what each has for its sign.
pub(super) fn legend(chart: &mut Chart<'_>) -> Drawn {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .margin(12 * UNIT)
        .legend_area_size(34 * UNIT)
        .label_font(text(14))
        .background_style(WHITE.mix(0.85))
        .border_style(GRID.stroke_width(LINE))
        .draw()?;
    Ok(())
}

/// A line's sign in the legend.
pub(super) fn line_sign((x, y): (i32, i32), line: ShapeStyle) -> PathElement<(i32, i32)> {
    PathElement::new([(x + 2 * UNIT, y), (x + 28 * UNIT, y)], line)
}

/// The pixels that `paint` draws, `FINER` times as many in both directions; RGB, row by row.
fn paint_fine(paint: impl FnOnce(&Canvas<'_>) -> Drawn) -> Drawn<Vec<u8>> {
    register_font(FONT, FontStyle::Normal, FONT_FILE).map_err(|_| "the font is damaged")?;
    let (width, height) = (SIZE.0 * FINER as u32, SIZE.1 * FINER as u32);
    let mut pixels = vec![0; (width * height * 3) as usize];
    let canvas = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    canvas.fill(&WHITE)?;
    paint(&canvas)?;
    canvas.present()?;
    drop(canvas);
    Ok(pixels)
}

/// Each pixel as the mean of the `FINER`² that were drawn for it; RGB, row by row.
fn average_down(fine: &[u8]) -> Vec<u8> {
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let mut pixels = Vec::with_capacity(width * height * 3);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let mut sums = [0; 3];
        for (row, column) in (0..FINER).flat_map(|row| (0..FINER).map(move |column| (row, column)))
        {
            let place = (y * FINER + row) * width * FINER + x * FINER + column;
            for (channel, sum) in sums.iter_mut().enumerate() {
                *sum += usize::from(fine[3 * place + channel]);
            }
        }
        pixels.extend(sums.map(|sum| (sum / (FINER * FINER)) as u8));
    }
    pixels
}
