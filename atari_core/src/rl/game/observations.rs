//! What is observed of a game: pictures, which `pictures` makes, or the console's RAM.
//!
//! `episodes` says which frame was kept and with which an episode begins; nothing is decided here.

mod pictures;

use crate::{
    Console,
    rl::recipe::{ObsType, Recipe},
    state::{BadState, Tape},
};
use pictures::Pictures;

/// The console's memory, uint8 `[128]`, as the last frame left it; told as `Pictures` are.
#[derive(Clone, Debug)]
pub(super) struct Ram {
    read: [u8; 128],
    observed: [u8; 128],
}

/// What is observed of a game.
#[derive(Clone, Debug)]
pub(super) enum Observations {
    /// The screen.
    Pictures(Box<Pictures>),
    /// The console's memory.
    Ram(Box<Ram>),
}

impl Observations {
    pub(super) fn new(console: &Console, recipe: &Recipe) -> Self {
        match recipe.obs_type {
            ObsType::Screen => Self::Pictures(Box::new(Pictures::new(console, recipe))),
            ObsType::Ram => Self::Ram(Box::new(Ram {
                read: [0; 128],
                observed: [0; 128],
            })),
        }
    }

    /// Whether the screen must be drawn.
    pub(super) fn are_pictures(&self) -> bool {
        matches!(self, Self::Pictures(_))
    }

    /// Takes a frame in, with `left` (1 or 0) of the step to come; `is_end` stops it there.
    pub(super) fn kept(&mut self, console: &Console, left: u32, is_end: bool) {
        if let Self::Pictures(pictures) = self {
            pictures.kept(console, left, is_end);
        }
    }

    /// The step is done: what it shows is the frames' maximum.
    pub(super) fn step_done(&mut self, console: &Console) {
        match self {
            Self::Pictures(pictures) => pictures.step_done(),
            Self::Ram(ram) => ram.read = *console.ram(),
        }
    }

    /// An episode begins with what the console shows.
    pub(super) fn restarted(&mut self, console: &Console) {
        match self {
            Self::Pictures(pictures) => pictures.restarted(console),
            Self::Ram(ram) => ram.read = *console.ram(),
        }
    }

    /// What is shown now, to be shown again by [`Observations::show_again`].
    pub(super) fn shown(&self) -> Vec<u8> {
        match self {
            Self::Pictures(pictures) => pictures.shown(),
            Self::Ram(ram) => ram.read.to_vec(),
        }
    }

    /// Shows what [`Observations::shown`] returned, until a step or a start.
    pub(super) fn show_again(&mut self, shown: Vec<u8>) {
        match self {
            Self::Pictures(pictures) => pictures.show_again(shown),
            Self::Ram(ram) => ram.read.copy_from_slice(&shown),
        }
    }

    /// Puts what is shown behind the other frames.
    pub(super) fn push(&mut self) {
        match self {
            Self::Pictures(pictures) => pictures.push(),
            Self::Ram(ram) => ram.observed = ram.read,
        }
    }

    /// Lets an episode begin with what is shown, and nothing or the same before it.
    pub(super) fn begin(&mut self) {
        match self {
            Self::Pictures(pictures) => pictures.begin(),
            Self::Ram(_) => self.push(),
        }
    }

    /// Writes the observation.
    pub(super) fn write_to(&self, out: &mut [u8]) {
        match self {
            Self::Pictures(pictures) => pictures.write_to(out),
            Self::Ram(ram) => out.copy_from_slice(&ram.observed),
        }
    }

    pub(super) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        match self {
            Self::Pictures(pictures) => pictures.walk(tape),
            Self::Ram(ram) => tape.bytes(&mut ram.observed),
        }
    }
}
