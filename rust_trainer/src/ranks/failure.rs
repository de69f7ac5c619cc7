//! Who tells of an error: each is said once, by the rank that knows best why.

use std::{thread, time::Duration};

use super::{Ranks, TELLER};
use crate::error::TrainerError;

/// How long survivors wait for one another, and for a rank that knows the reason.
const WAIT: Duration = Duration::from_millis(1500);
/// How much sooner rank 0 tells what all know.
const AHEAD: Duration = Duration::from_millis(300);

impl Ranks {
    /// What becomes of an error at this rank: with the rank's name, where this is the one to tell it, else
    /// [`TrainerError::Told`].
    pub(crate) fn explain(&self, error: TrainerError) -> TrainerError {
        let Some(engine) = &self.engine else {
            return error;
        };
        let is_lost = error.is_lost();
        if is_lost {
            let _noted = engine.is_first_to(&survivor(self.rank));
            thread::sleep(WAIT);
        } else if !self.is_first() {
            thread::sleep(AHEAD);
        }
        // Where nobody keeps names any more, better twice than never.
        if !engine.is_first_to(TELLER).unwrap_or(true) {
            return TrainerError::Told;
        }
        let gone = if is_lost { self.gone() } else { Vec::new() };
        if self.is_first() {
            // Without torchrun the names are kept in this process: the others have yet to ask.
            thread::sleep(WAIT + AHEAD);
        }
        let whose = match gone.join(", ") {
            none if none.is_empty() => self.name(self.rank),
            gone => format!("{gone} was killed, is frozen, or cannot be reached"),
        };
        TrainerError::Rank(whose, Box::new(error))
    }

    /// The ranks that have not noticed that any is lost: those that are.
    fn gone(&self) -> Vec<String> {
        let Some(engine) = &self.engine else {
            return Vec::new();
        };
        let others = (0..self.count()).filter(|rank| *rank != self.rank);
        let is_gone = |rank: &usize| engine.is_taken(&survivor(*rank)) == Ok(false);
        others.filter(is_gone).map(|rank| self.name(rank)).collect()
    }

    /// Ends what the ranks did together: all of them have come to this.
    pub(crate) fn leave(&self) {
        if let Some(engine) = &self.engine {
            engine.leave();
        }
    }
}

fn survivor(rank: usize) -> String {
    format!("rust_trainer/survivor/{rank}")
}
