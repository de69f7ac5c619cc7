//! What changes over a run: learning rates, and the probability of random actions.

use crate::{data::Rollout, ranks::Ranks};

/// From `start` to `end` in a line while `done` goes from 0 to `over`, and `end` from there on.
pub(super) fn linear(start: f64, end: f64, done: f64, over: f64) -> f64 {
    if done >= over {
        end
    } else {
        start + (end - start) * done / over
    }
}

/// Updates of a run that learns from whole rollouts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Updates {
    /// Those that are done.
    pub done: u64,
    /// Those of the whole run; the last rollout is a whole one.
    pub total: u64,
}

impl Updates {
    /// Those of a run of `total_steps` agent steps at all `ranks`, none of them done.
    pub fn of(total_steps: u64, rollout: &Rollout, ranks: &Ranks) -> Self {
        let of_all = (rollout.num_samples() * ranks.count()) as u64;
        Self {
            done: 0,
            total: total_steps.div_ceil(of_all),
        }
    }

    /// The learning rate of the next one: with `anneal` it falls in a line from `first` to 0.
    pub fn learning_rate(self, first: f64, anneal: bool) -> f64 {
        let done = self.done as f64 / self.total as f64;
        first * if anneal { 1.0 - done } else { 1.0 }
    }
}
