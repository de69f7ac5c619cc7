//! What a recording takes: the frames of the games that are filmed, where games begin, and where the agent's steps end.

use std::num::NonZeroU64;

use crate::Console;

/// Which games are filmed, counted as `atari_wrappers.recording.video` does: a game counts from its first agent step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilmedGames {
    /// The first and every n-th after it.
    pub every: NonZeroU64,
    /// A game that a reset gives up counts too.
    pub unfinished: bool,
}

/// One thing after the other, as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilmEvent {
    /// A frame was emulated. Of games that are not filmed only the first frame is told of.
    Frame {
        /// The first of its game.
        is_first: bool,
        /// The game before this one ended while a reset was to go on with it.
        ended_in_reset: bool,
        /// Its picture is the next of [`Film::pictures`].
        is_filmed: bool,
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

/// Films a game after the other.
#[derive(Clone, Debug)]
pub(super) struct Camera {
    games: FilmedGames,
    /// The number of this game.
    game: u64,
    has_stepped: bool,
    at_start: bool,
    film: Film,
}

impl Camera {
    pub(super) fn new(games: FilmedGames) -> Self {
        Self {
            games,
            game: 0,
            has_stepped: false,
            at_start: false,
            film: Film::default(),
        }
    }

    /// Whether this game is filmed, so that all of it has to be drawn.
    pub(super) fn is_running(&self) -> bool {
        self.game.is_multiple_of(self.games.every.get())
    }

    /// A game begins, and what was left of the one before was given up unless it `ended_in_reset`.
    pub(super) fn begin_game(&mut self, ended_in_reset: bool) {
        self.end_game(ended_in_reset);
        self.at_start = true;
    }

    fn end_game(&mut self, is_over: bool) {
        self.game += u64::from(self.has_stepped && (is_over || self.games.unfinished));
        self.has_stepped = false;
    }

    /// A frame was emulated, and drawn if the camera is running.
    pub(super) fn frame(&mut self, console: &Console, ended_in_reset: bool) {
        let (is_first, is_filmed) = (std::mem::take(&mut self.at_start), self.is_running());
        if is_filmed {
            self.film.pictures.extend_from_slice(console.screen());
        }
        if is_filmed || is_first {
            self.film.events.push(FilmEvent::Frame {
                is_first,
                ended_in_reset,
                is_filmed,
            });
        }
    }

    /// The agent's step is done.
    pub(super) fn step(&mut self, game_over: bool) {
        self.has_stepped = true;
        if game_over {
            self.end_game(true);
        }
        self.film.events.push(FilmEvent::Step { game_over });
    }

    /// What was filmed since this was called last.
    pub(super) fn take(&mut self) -> Film {
        std::mem::take(&mut self.film)
    }
}
