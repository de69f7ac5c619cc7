//! What an update does, and what changes over a run: learning rates, and the probability of random actions.

/// The settings that all [`OnPolicy`](super::OnPolicy) algorithms have.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct UpdateSettings {
    /// Agent steps of each environment between two updates.
    pub num_steps: usize,
    /// Discount factor.
    pub gamma: f64,
    /// λ of the generalized advantages.
    pub lambda: f64,
    /// Learning rate of the first update.
    pub learning_rate: f64,
    /// It falls linearly to zero over the run.
    pub anneal_lr: bool,
    /// Rewards are normalized.
    pub norm_reward: bool,
    /// Passes over all samples of a rollout.
    pub epochs: usize,
    /// Minibatches in each pass.
    pub minibatches: usize,
    /// Minibatches are drawn anew for each pass without replacement: of samples, or for a network with a memory
    /// of environments; else they come in their order.
    pub is_shuffled: bool,
    /// Advantages are normalized in each minibatch.
    pub norm_adv: bool,
    /// Largest global norm of the gradient.
    pub max_grad_norm: f64,
}

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
    /// The learning rate of the next one.
    pub(super) fn learning_rate(self, settings: &UpdateSettings) -> f64 {
        let done = self.done as f64 / self.total as f64;
        settings.learning_rate * if settings.anneal_lr { 1.0 - done } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_falls_to_its_end_and_stays() {
        for (done, over, expected) in [
            (0.0, 50.0, 1.0),
            (10.0, 50.0, 0.82),
            (40.0, 50.0, 0.28),
            (50.0, 50.0, 0.1),
            (99.0, 50.0, 0.1),
            (0.0, 0.0, 0.1),
        ] {
            let found = linear(1.0, 0.1, done, over);
            assert!((found - expected).abs() < 1e-12, "{done}: {found}");
        }
    }
}
