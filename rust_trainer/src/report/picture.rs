//! A PNG picture of fixed size, drawn larger and averaged down so that its lines are smooth, with
//! the font that the program brings along. What is in the picture is its caller's business.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::error::ReportError;

/// Size of a picture in pixels.
pub(super) const SIZE: (u32, u32) = (1200, 700);
/// A pixel's side while drawing: plotters' bitmap lines are not smooth by themselves.
const FINER: usize = 2;
/// The same as plotters counts, for lengths in the finished picture's pixels.
pub(super) const UNIT: i32 = FINER as i32;

pub(super) const INK: RGBColor = RGBColor(45, 45, 45);

const FONT: &str = "DejaVu Sans";
/// Shipped with the program: a training machine need not have any font installed.
const FONT_FILE: &[u8] = include_bytes!("assets/DejaVuSans.ttf");

pub(super) type Canvas<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
pub(super) type Drawn<T = ()> = Result<T, Box<dyn Error>>;

/// Writes what `paint` draws on a white canvas to the PNG file `path`.
pub(super) fn draw(
    path: &Path,
    paint: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> Result<(), ReportError> {
    // Written under another name and renamed, so that a viewer never meets half a picture.
    let unfinished = path.with_extension("partial.png");
    let drawn = paint_fine(paint).and_then(|fine| save(&unfinished, &average_down(&fine)));
    drawn.map_err(|error| ReportError::Draw {
        path: path.into(),
        reason: error.to_string(),
    })?;
    fs::rename(&unfinished, path).map_err(ReportError::file("replace", path))
}

/// The style of a text of `size` pixels.
pub(super) fn text(size: i32) -> TextStyle<'static> {
    (FONT, size * UNIT).into_font().color(&INK)
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

fn save(path: &Path, pixels: &[u8]) -> Drawn {
    let mut file = BitMapBackend::new(path, SIZE);
    file.blit_bitmap((0, 0), SIZE, pixels)?;
    file.present()?;
    Ok(())
}
