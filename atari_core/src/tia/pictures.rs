//! The two pictures that the TIA draws in turns. What a frame leaves out shows from the frame before the last one.

use super::{MAX_HEIGHT, WIDTH};
use crate::cartridge::zeros;
use crate::state::{BadState, Reader, Writer};

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
            pixels: [zeros(), zeros()],
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
    /// Appends the first pixels of both, as many as a game shows, and which is which.
    pub(crate) fn save(&self, num_pixels: usize, state: &mut Writer) {
        state.bool(self.current);
        state.bool(self.shown);
        for picture in &self.pixels {
            state.bytes(&picture[..num_pixels]);
        }
    }

    /// Goes on with pictures that were read.
    pub(crate) fn put(&mut self, state: &PicturesState<'_>) {
        self.current = state.current;
        self.shown = state.shown;
        for (picture, saved) in self.pixels.iter_mut().zip(state.pixels) {
            picture[..saved.len()].copy_from_slice(saved);
        }
    }
}

/// What [`Pictures::save`] has written, to be put in place.
pub(crate) struct PicturesState<'a> {
    current: bool,
    shown: bool,
    pixels: [&'a [u8]; 2],
}

impl<'a> PicturesState<'a> {
    pub(crate) fn read(num_pixels: usize, state: &mut Reader<'a>) -> Result<Self, BadState> {
        Ok(Self {
            current: state.bool()?,
            shown: state.bool()?,
            pixels: [state.bytes(num_pixels)?, state.bytes(num_pixels)?],
        })
    }
}
