//! The settings of DQN and of everything that was added to it.

use super::{choices::Distributional, fields::settings};
use crate::error::TrainerError;

settings! {
    /// Settings of DQN: Mnih et al. 2015 with Adam, in the values of `CleanRL`. Rainbow (Hessel et al.
    /// 2018) is all that can be switched on.
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
        /// Agent steps that make an update of the run: a row of metrics, and where it may stop
        steps_per_update: u64 = 250, Between(1.0, 1_048_576.0),
        /// Let the network choose the action that the target network values (van Hasselt et al. 2016)
        double_q: bool = false, Any,
        /// A stream for the value of the observation and one for the advantages of the actions (Wang et
        /// al. 2016)
        dueling: bool = false, Any,
        /// Rewards that are summed before the target network values what follows
        n_step: usize = 1, Between(1.0, 1024.0),
        /// Draw transitions by how wrong the network was about them (Schaul et al. 2016)
        prioritized: bool = false, Any,
        /// Exponent of the priorities: 0 draws uniformly
        priority_alpha: f64 = 0.5, Between(0.0, 1.0), if On("prioritized"),
        /// Exponent of the importance weights at first; it rises linearly to 1 over the run
        priority_beta: f64 = 0.4, Between(0.0, 1.0), if On("prioritized"),
        /// How returns are learned: none, their mean; c51, probabilities of fixed returns (Bellemare et
        /// al. 2017); quantile, their quantiles (Dabney et al. 2018)
        distributional: Distributional = Distributional::None, Any,
        /// Huber's loss (Mnih et al. 2015), not the squared error: it suits rewards clipped to ±1; where returns
        /// grow long, as in `CartPole`, values can grow without end by it
        huber: bool = true, Any, if OneOf("distributional", &["none"]),
        /// Returns that have a probability
        num_atoms: i64 = 51, Between(2.0, 4096.0), if OneOf("distributional", &["c51"]),
        /// Least of these returns
        v_min: f64 = -10.0, Any, if OneOf("distributional", &["c51"]),
        /// Greatest of these returns
        v_max: f64 = 10.0, Any, if OneOf("distributional", &["c51"]),
        /// Quantiles; as published with learning rate 5e-5, Adam's ε 3.125e-4 and gradients not clipped
        /// (`max_grad_norm` 1e9; their norm is seldom under 10)
        num_quantiles: i64 = 200, Between(1.0, 4096.0), if OneOf("distributional", &["quantile"]),
        /// Explore by noise on the weights of the last two fully connected layers, drawn for all
        /// environments at once (Fortunato et al. 2018)
        noisy: bool = false, Any,
        /// Size of this noise at first
        noisy_sigma: f64 = 0.5, Positive, if On("noisy"),
        /// ε at first: the probability of a random action
        start_e: f64 = 1.0, Between(0.0, 1.0), if OneOf("noisy", &["false"]),
        /// ε at last
        end_e: f64 = 0.01, Between(0.0, 1.0), if OneOf("noisy", &["false"]),
        /// Part of the run in which ε falls linearly from the first to the last
        exploration_fraction: f64 = 0.1, Between(0.0, 1.0), if OneOf("noisy", &["false"]),
        /// ε when a trained agent plays without --greedy, with noisy weights too: for these name 0
        eval_e: f64 = 0.05, Between(0.0, 1.0),
    }
}

impl DqnSettings {
    /// Environments stepped together by default.
    pub const NUM_ENVS: usize = 8;

    /// Refuses values that contradict each other.
    pub(crate) fn check(&self, _num_envs: usize) -> Result<(), TrainerError> {
        if self.learning_starts > self.replay_capacity {
            let problem = format!(
                "is more than fit in the replay memory: `replay_capacity` is {}",
                self.replay_capacity
            );
            return Err(TrainerError::setting(
                "learning_starts",
                self.learning_starts,
                problem,
            ));
        }
        if self.v_min >= self.v_max {
            let problem = format!("must be less than `v_max`, which is {}", self.v_max);
            return Err(TrainerError::setting("v_min", self.v_min, problem));
        }
        Ok(())
    }
}
