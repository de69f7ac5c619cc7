//! [`Canvas`]: a frame made larger, as the television showed it, and text beside it. Pixels are palette entries of the
//! console: every colour of a frame stays what it is, and a GIF needs no other palette.

use atari_core::WIDTH;
use font8x8::legacy::BASIC_LEGACY;

use super::frame::{Colours, Frame};

/// A television is 4 wide and 3 high, and a picture has 160 columns and 210 lines: a column is 7/4 of a line.
pub(super) const COLUMN: (usize, usize) = (7, 4);
/// Sides of a letter.
const LETTER: usize = 8;

/// Palette entries, `[height, width]`.
pub(super) struct Canvas {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

impl Canvas {
    /// All of one colour.
    pub fn new(width: usize, height: usize, colour: u8) -> Self {
        Self {
            width,
            height,
            pixels: vec![colour; width * height],
        }
    }

    /// Draws a frame into `width` columns and `height` lines from a place on. Pixels stay sharp: where they do not fit
    /// evenly, some are a column wider than others.
    pub fn draw_frame(
        &mut self,
        frame: &Frame<'_>,
        (left, top): (usize, usize),
        size: (usize, usize),
    ) {
        let (width, height) = size;
        let columns: Vec<usize> = (0..width).map(|column| column * WIDTH / width).collect();
        for line in 0..height {
            let from = line * frame.height() / height * WIDTH;
            let source = &frame.screen[from..from + WIDTH];
            let at = (top + line) * self.width + left;
            let target = &mut self.pixels[at..at + width];
            for (pixel, &column) in target.iter_mut().zip(&columns) {
                *pixel = source[column];
            }
        }
    }

    /// Writes text in letters `scale` times 8 pixels large; what does not fit is left out.
    pub fn write(&mut self, text: &str, (left, top): (usize, usize), scale: usize, colour: u8) {
        for (index, letter) in text.chars().enumerate() {
            let shape = BASIC_LEGACY
                .get(letter as usize)
                .unwrap_or(&BASIC_LEGACY[usize::from(b'?')]);
            let left = left + index * LETTER * scale;
            for (row, bits) in shape.iter().enumerate() {
                for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                    let place = (left + column * scale, top + row * scale);
                    self.fill(place, (scale, scale), colour);
                }
            }
        }
    }

    /// Fills a rectangle, as much of it as is on the canvas.
    pub fn fill(
        &mut self,
        (left, top): (usize, usize),
        (width, height): (usize, usize),
        colour: u8,
    ) {
        let right = (left + width).min(self.width);
        let left = left.min(right);
        for line in top..(top + height).min(self.height) {
            self.pixels[line * self.width + left..line * self.width + right].fill(colour);
        }
    }

    /// Red, green and blue of each pixel, one after the other.
    pub fn rgb(&self, colours: &Colours) -> Vec<u8> {
        self.pixels
            .iter()
            .flat_map(|&pixel| colours[usize::from(pixel)])
            .collect()
    }
}

/// The size of a picture of so many lines of the console, `scale` for each, as the television showed it.
pub(super) fn size_on_television(lines: usize, scale: usize) -> (usize, usize) {
    (WIDTH * scale * COLUMN.0 / COLUMN.1, lines * scale)
}

/// The palette entry that comes nearest to a colour.
pub(super) fn nearest(colours: &Colours, wanted: [u8; 3]) -> u8 {
    let distance = |colour: &[u8; 3]| -> u32 {
        let parts = colour.iter().zip(wanted);
        parts
            .map(|(&one, other)| u32::from(one.abs_diff(other)).pow(2))
            .sum()
    };
    let entries = colours.iter().enumerate();
    let nearest = entries.min_by_key(|(_, colour)| distance(colour));
    nearest.map_or(0, |(entry, _)| entry as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::frame::Caption;

    #[test]
    fn a_picture_is_as_wide_as_a_television_and_its_pixels_stay_whole() {
        assert_eq!(size_on_television(210, 2), (560, 420));
        let colours = [[0; 3]; 256];
        let screen: Vec<u8> = (0..2 * WIDTH).map(|at| (at / 2) as u8).collect();
        let caption = Caption::default();
        let frame = Frame::of(&screen, &colours, &caption);
        let mut canvas = Canvas::new(300, 9, 255);
        canvas.draw_frame(&frame, (10, 1), (280, 8));
        for (column, source) in [(0, 0), (1, 0), (2, 1), (279, 159)] {
            for (line, from) in [(0, 0), (3, 0), (4, 1), (7, 1)] {
                let pixel = canvas.pixels[(1 + line) * 300 + 10 + column];
                assert_eq!(pixel, screen[from * WIDTH + source], "{column} {line}");
            }
        }
        let margin = canvas.pixels.chunks_exact(300);
        assert!(margin.clone().all(|line| {
            line[..10]
                .iter()
                .chain(&line[290..])
                .all(|&pixel| pixel == 255)
        }));
    }

    #[test]
    fn letters_are_their_shapes_and_end_at_the_edge() {
        let mut canvas = Canvas::new(12, 8, 0);
        canvas.write("IX", (0, 0), 1, 9);
        let line = |line: usize| {
            let pixels = canvas.pixels[line * 12..(line + 1) * 12].iter();
            pixels
                .map(|&pixel| if pixel == 9 { '#' } else { '.' })
                .collect::<String>()
        };
        assert_eq!(line(0), ".####...##..");
        assert_eq!(line(1), "..##....##..");
    }
}
