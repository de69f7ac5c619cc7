//! What a recording takes: every emulated frame with its place in its game, and where the agent's steps end.

use crate::Console;

/// One thing after the other, as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilmEvent {
    /// A frame was emulated; its picture is the next of [`Film::pictures`].
    Frame {
        /// Its number in its game, from 1 on.
        number: i64,
        /// The game before this one ended while a reset was to go on with it.
        ended_in_reset: bool,
    },
    /// The agent's step is done.
    Step {
        /// With it the game.
        game_over: bool,
    },
}

/// Events since the film was last taken, and the pictures of their frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Film {
    /// What happened.
    pub events: Vec<FilmEvent>,
    /// One palette entry for each pixel, `[frames, height, 160]`.
    pub pictures: Vec<u8>,
}

impl Film {
    pub(super) fn frame(&mut self, console: &Console, number: i64, ended_in_reset: bool) {
        self.pictures.extend_from_slice(console.screen());
        self.events.push(FilmEvent::Frame {
            number,
            ended_in_reset,
        });
    }
}
