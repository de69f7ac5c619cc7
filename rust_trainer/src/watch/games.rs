//! `episodes.csv`: the games of a run, their running mean, the last of them.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use super::{
    series::{Point, Series},
    tail::Tail,
};
use crate::{
    error::TrainerError,
    report::{
        Episode,
        running::{GAMES, GameWindow},
    },
};

/// Games that can be scrolled to.
const KEPT: usize = 200;

/// What there is to say of the games of a run.
pub(super) struct Games {
    tail: Tail,
    /// In self-play each game has a row for each player, and its return says nothing.
    is_self_play: bool,
    window: GameWindow,
    /// The mean of the last hundred games, or of fewer at the start.
    pub curve: Series,
    /// The newest first.
    pub last: VecDeque<Episode>,
    /// The highest mean of a hundred games, and at which step.
    pub best: Option<(f64, u64)>,
}

impl Games {
    /// Those in the folder of a run, of two players or one.
    pub fn in_folder(folder: &Path, is_self_play: bool) -> Self {
        let what = if is_self_play { "length" } else { "return" };
        Self {
            tail: Tail::new(folder.join("episodes.csv")),
            is_self_play,
            window: GameWindow::of(what),
            curve: Series::default(),
            last: VecDeque::new(),
            best: None,
        }
    }

    /// Reads the games that ended since.
    pub fn read(&mut self) -> Result<(), TrainerError> {
        let new = self.tail.read()?;
        if new.starts_anew {
            let tail = std::mem::replace(&mut self.tail, Tail::new(PathBuf::default()));
            *self = Self {
                tail,
                ..Self::in_folder(Path::new(""), self.is_self_play)
            };
        }
        new.rows().for_each(|game| self.push(game));
        Ok(())
    }

    fn push(&mut self, game: Episode) {
        let value = game.shown(self.is_self_play);
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        self.window.push(value);
        self.last.push_front(game);
        self.last.truncate(KEPT);
        let Some((mean, count)) = self.window.mean_and_count() else {
            return;
        };
        let (step, seconds) = (game.step as f64, game.seconds);
        self.curve.push(Point {
            step,
            seconds,
            value: mean,
        });
        if count == GAMES && self.best.is_none_or(|(best, _)| mean > best) {
            self.best = Some((mean, game.step));
        }
    }

    /// What is followed: returns, or lengths.
    pub fn what(&self) -> &'static str {
        self.window.what
    }

    /// Games since the run began.
    pub fn count(&self) -> u64 {
        self.window.played
    }

    /// The mean of the last games, and of how many.
    pub fn mean(&self) -> Option<(f64, usize)> {
        self.window.mean_and_count()
    }
}
