//! How far an algorithm with a replay memory has come, and what is due.

/// Steps that are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Progress {
    /// Agent steps, over all environments.
    pub steps: u64,
    /// Those of them since the last update.
    pub steps_of_update: u64,
    /// Those of them for which no gradient step was taken yet.
    pub steps_to_learn: u64,
    pub gradient_steps: u64,
}

impl Progress {
    /// Counts agent steps; those since the memory `can_learn` are to be learned from.
    pub fn count(&mut self, steps: u64, can_learn: bool) {
        self.steps += steps;
        self.steps_of_update += steps;
        if can_learn {
            self.steps_to_learn += steps;
        }
    }

    /// Whether an update of so many agent steps is over, or the whole run.
    pub fn is_update_over(&self, steps_per_update: u64, total_steps: u64) -> bool {
        let is_over = self.steps >= total_steps && self.steps_of_update > 0;
        self.steps_of_update >= steps_per_update || is_over
    }
}
