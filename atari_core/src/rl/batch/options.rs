//! [`BatchOptions`]: how a batch runs its games.

use std::time::Duration;

use vec_env::{AutoresetMode, pool::SPIN};

use crate::rl::{game::FilmedGames, recipe::Recipe};

/// How a batch runs its games.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// How games become episodes of observations.
    pub recipe: Recipe,
    /// Players of each game: 1, or 2 who play against each other. With two, rewards, returns and actions come in pairs, and
    /// observations have an axis of the players first.
    pub num_players: usize,
    /// When an ended episode is followed by the next.
    pub autoreset: AutoresetMode,
    /// Threads that emulate, the one that calls `recv` included; 0 for as many as there are cores, and at most one for
    /// each environment. With 1 everything happens in `recv`.
    pub num_threads: usize,
    /// How long a thread that finds nothing to do looks for work before it sleeps, and is woken for some 30 µs.
    pub spin: Duration,
    /// Environments that one `recv` waits for, the first that are ready; 0 for all.
    pub batch_size: usize,
    /// Keep a picture of every frame of these games, for [`AtariEnv::take_film`](crate::rl::AtariEnv::take_film).
    pub film: Option<FilmedGames>,
}

impl BatchOptions {
    /// All defaults with a recipe.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        Self {
            recipe,
            num_players: 1,
            autoreset: AutoresetMode::SameStep,
            num_threads: 0,
            spin: SPIN,
            batch_size: 0,
            film: None,
        }
    }
}
