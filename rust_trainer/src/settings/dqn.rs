//! The settings of DQN and of everything that was added to it.

use super::{choices::Distributional, fields::settings};
use crate::error::TrainerError;

settings! {
    /// Settings of DQN: Mnih et al. 2015 with Adam, in the values of `CleanRL` but for the loss, Huber's, and for a gradient
    /// that is clipped. Rainbow (Hessel et al. 2018) is all that can be switched on.
    pub struct DqnSettings {
        /// Learning rate
        learning_rate: f64 = 1e-4, Positive,
        /// Adam's ε
        adam_eps: f64 = 1e-8, Positive,
        /// Largest global norm of the gradient
        max_grad_norm: f64 = 10.0, Positive,
        /// Discount factor
        gamma: f64 = 0.99, Between(0.0, 1.0),
        /// Transitions that a gradient step learns from
        batch_size: usize = 32, Between(1.0, 1_048_576.0),
        /// Transitions to keep; 1,000,000 of Atari take 7.1 GB
        replay_capacity: usize = 1_000_000, Between(1.0, 1e12),
        /// Transitions to collect before the first gradient step
        learning_starts: usize = 80_000, Positive,
        /// Agent steps, over all environments, for each gradient step
        train_frequency: u64 = 4, Between(1.0, 1_048_576.0),
        /// Gradient steps between two copies of the network into the target network
        target_update: u64 = 250, Positive,
        /// Agent steps between two rows of metrics; a run stops at one of them
        steps_per_update: u64 = 250, Between(1.0, 1_048_576.0),
        /// Let the network choose the action that the target network values (van Hasselt et al. 2016)
        double_q: bool = false, Any,
        /// A stream for the value of the observation and one for the advantages of the actions (Wang et
        /// al. 2016)
        dueling: bool = false, Any,
        /// Rewards summed before the target network's value: the n of n-step returns
        n_step: usize = 1, Between(1.0, 1024.0),
        /// Draw transitions by the size of the network's error on them (Schaul et al. 2016)
        prioritized: bool = false, Any,
        /// Exponent of the priorities: 0 draws uniformly
        priority_alpha: f64 = 0.5, Between(0.0, 1.0), if On("prioritized"),
        /// Initial exponent of the importance weights; it rises linearly to 1 over the run
        priority_beta: f64 = 0.4, Between(0.0, 1.0), if On("prioritized"),
        /// How returns are learned: none, their mean; c51, probabilities of fixed returns (Bellemare et
        /// al. 2017); quantile, their quantiles (Dabney et al. 2018); iqn, their quantiles at fractions that
        /// are drawn (Dabney et al. 2018, "Implicit quantile networks")
        distributional: Distributional = Distributional::None, Any,
        /// Huber loss (Mnih et al. 2015) instead of the squared error: it suits rewards clipped to ±1; where
        /// returns are large, as in `CartPole`, values can diverge with it
        huber: bool = true, Any, if OneOf("distributional", &["none"]),
        /// Number of fixed returns
        num_atoms: i64 = 51, Between(2.0, 4096.0), if OneOf("distributional", &["c51"]),
        /// Smallest fixed return
        v_min: f64 = -10.0, Any, if OneOf("distributional", &["c51"]),
        /// Largest fixed return
        v_max: f64 = 10.0, Any, if OneOf("distributional", &["c51"]),
        /// Number of quantiles; published with learning rate 5e-5, Adam's ε 3.125e-4 and unclipped gradients
        /// (`max_grad_norm` 1e9; their norm is seldom under 10)
        num_quantiles: i64 = 200, Between(1.0, 4096.0), if OneOf("distributional", &["quantile"]),
        /// Quantiles of a transition's value in its loss, at fractions drawn for each transition: N of the paper
        num_tau_samples: i64 = 64, Between(1.0, 4096.0), if OneOf("distributional", &["iqn"]),
        /// Quantiles of its target, drawn likewise: N' of the paper
        num_tau_prime_samples: i64 = 64, Between(1.0, 4096.0), if OneOf("distributional", &["iqn"]),
        /// Quantiles of which an action value is the mean: K of the paper
        num_quantile_samples: i64 = 32, Between(1.0, 4096.0), if OneOf("distributional", &["iqn"]),
        /// Cosines that a fraction is embedded by: n of the paper
        quantile_embedding_dim: i64 = 64, Between(1.0, 4096.0), if OneOf("distributional", &["iqn"]),
        /// Explore by noise on the weights of the last two fully connected layers, drawn for all
        /// environments at once (Fortunato et al. 2018)
        noisy: bool = false, Any,
        /// Initial size of the noise
        noisy_sigma: f64 = 0.5, Positive, if On("noisy"),
        /// Initial ε: the probability of a random action
        start_e: f64 = 1.0, Between(0.0, 1.0), if OneOf("noisy", &["false"]),
        /// Final ε
        end_e: f64 = 0.01, Between(0.0, 1.0), if OneOf("noisy", &["false"]),
        /// Fraction of the run over which ε falls linearly from its initial to its final value
        exploration_fraction: f64 = 0.1, Between(0.0, 1.0), if OneOf("noisy", &["false"]),
        /// ε when a trained agent plays without --greedy; with noisy weights set it to 0
        eval_e: f64 = 0.05, Between(0.0, 1.0),
    }
}

impl DqnSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 8;

    /// Refuses values that contradict each other.
    pub(crate) fn check(&self, _num_envs: usize) -> Result<(), TrainerError> {
        check_learning_starts(self.learning_starts, self.replay_capacity)?;
        if self.v_min >= self.v_max {
            let problem = format!("must be less than `v_max`, which is {}", self.v_max);
            return Err(TrainerError::setting("v_min", self.v_min, problem));
        }
        for (name, end) in [("v_min", self.v_min), ("v_max", self.v_max)] {
            if !(end as f32).is_finite() {
                let problem = "is more than float32 holds".to_owned();
                return Err(TrainerError::setting(name, end, problem));
            }
        }
        let gap = (self.v_max - self.v_min) / (self.num_atoms - 1) as f64;
        if !(gap as f32).is_normal() {
            let problem = format!(
                "leaves nothing between the fixed returns from {} on",
                self.v_min
            );
            return Err(TrainerError::setting("v_max", self.v_max, problem));
        }
        Ok(())
    }
}

/// Refuses to wait for more transitions than there is room for.
pub(super) fn check_learning_starts(starts: usize, capacity: usize) -> Result<(), TrainerError> {
    if starts <= capacity {
        return Ok(());
    }
    let problem = format!("is more than fit in the replay memory: `replay_capacity` is {capacity}");
    Err(TrainerError::setting("learning_starts", starts, problem))
}
