//! What changes over a run: learning rates, and the probability of random actions.

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
pub struct Updates {
    /// Those that are done.
    pub done: u64,
    /// Those of the whole run; the last rollout is a whole one.
    pub total: u64,
}

impl Updates {
    /// The learning rate of the next one: with `anneal` it falls in a line from `first` to 0.
    pub(super) fn learning_rate(self, first: f64, anneal: bool) -> f64 {
        let done = self.done as f64 / self.total as f64;
        first * if anneal { 1.0 - done } else { 1.0 }
    }
}
