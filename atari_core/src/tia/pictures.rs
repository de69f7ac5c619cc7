//! The two pictures that the TIA draws in turns. What a frame leaves out shows from the frame before the last one.

use super::{MAX_HEIGHT, WIDTH};
use crate::state::{BadState, Tape};

pub(super) const PIXELS: usize = WIDTH * MAX_HEIGHT;

/// Palette entries, row after row, of as many rows as the tallest picture has.
#[derive(Clone)]
pub(crate) struct Pictures {
    pixels: [Box<[u8; PIXELS]>; 2],
    /// Which of the two this frame draws on, and which one was drawn last.
    current: bool,
    shown: bool,
}

impl Pictures {
    pub(super) fn new() -> Self {
        Self {
            pixels: [black(), black()],
            current: false,
            shown: false,
        }
    }

    /// The picture that was drawn last.
    pub(crate) fn shown(&self) -> &[u8; PIXELS] {
        &self.pixels[usize::from(self.shown)]
    }

    /// The picture that this frame draws.
    #[inline(always)]
    pub(crate) fn current(&mut self) -> &mut [u8; PIXELS] {
        &mut self.pixels[usize::from(self.current)]
    }

    /// A new picture begins.
    pub(crate) fn turn(&mut self) {
        self.current = !self.current;
    }

    /// The current picture is the one to be seen.
    pub(crate) fn show(&mut self) {
        self.shown = self.current;
    }

    /// Takes the current picture away and puts another in its place.
    pub(crate) fn replace(&mut self, picture: Box<[u8; PIXELS]>) -> Box<[u8; PIXELS]> {
        std::mem::replace(&mut self.pixels[usize::from(self.current)], picture)
    }

    /// Goes over the first pixels of both, as many as a game shows, and which is which.
    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>, num_pixels: usize) -> Result<(), BadState> {
        tape.number(&mut self.current)?;
        tape.number(&mut self.shown)?;
        for picture in &mut self.pixels {
            tape.bytes(&mut picture[..num_pixels])?;
        }
        Ok(())
    }
}

/// A black picture, made on the heap and not by way of the stack.
#[allow(clippy::unnecessary_box_returns)]
pub(crate) fn black() -> Box<[u8; PIXELS]> {
    match vec![0; PIXELS].into_boxed_slice().try_into() {
        Ok(picture) => picture,
        Err(_) => unreachable!("a vector of so many is an array of so many"),
    }
}
