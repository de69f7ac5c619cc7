//! The two pictures that the TIA draws in turns. What a frame leaves out shows from the frame before the last one.

use super::{MAX_HEIGHT, WIDTH};
use crate::cartridge::zeros;

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

    /// The same, to show another one until a frame is drawn.
    pub(crate) fn shown_mut(&mut self) -> &mut [u8; PIXELS] {
        &mut self.pixels[usize::from(self.shown)]
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

    /// What is seen is the picture that frames go on from: the current one is not known.
    pub(crate) fn go_on(&mut self) {
        self.current = self.shown;
    }

    /// Takes the current picture away and puts another in its place.
    pub(crate) fn replace(&mut self, picture: Box<[u8; PIXELS]>) -> Box<[u8; PIXELS]> {
        std::mem::replace(&mut self.pixels[usize::from(self.current)], picture)
    }
}
