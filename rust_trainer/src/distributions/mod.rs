//! Distributions over actions: what a network says about the actions to take.

pub(crate) mod categorical;
pub(crate) mod gaussian;

use tch::{Kind, Tensor};
use vec_env::ActionSpace;

use gaussian::LN_SQRT_2PI;

/// A distribution over the actions of an environment for each of a batch of observations.
#[derive(Debug)]
pub enum Distribution {
    /// Over the actions of `ActionSpace::Discrete`.
    Categorical {
        /// log π(action | observation), float32 `[batch, num_actions]`.
        log_probs: Tensor,
    },
    /// Over those of `ActionSpace::Box`: independent normal distributions of an action's numbers. The standard
    /// deviations are the same for all observations, as in Schulman et al. 2015 ("Trust region policy
    /// optimization", appendix D) and Baselines since.
    DiagonalGaussian {
        /// `[batch, dims]`.
        mean: Tensor,
        /// Logarithms of the standard deviations, `[dims]`; `[batch, dims]` where agents have networks of their own.
        log_std: Tensor,
    },
}

impl Distribution {
    /// A categorical one from unnormalized log-probabilities, `[batch, num_actions]`.
    pub(crate) fn categorical(logits: &Tensor) -> Self {
        Self::Categorical {
            log_probs: logits.log_softmax(-1, Kind::Float),
        }
    }

    /// Log-probabilities, or densities, of `actions`: int64 `[batch]` for discrete ones, float32
    /// `[batch, dims]` for continuous ones → float32 `[batch]`.
    pub fn log_prob(&self, actions: &Tensor) -> Tensor {
        match self {
            Self::Categorical { log_probs } => {
                let chosen = log_probs.gather(1, &actions.unsqueeze(1), false);
                chosen.squeeze_dim(1)
            }
            Self::DiagonalGaussian { mean, log_std } => {
                let z = (actions - mean) * (-log_std).exp();
                let each = z.square() * -0.5 - log_std - LN_SQRT_2PI;
                each.sum_dim_intlist(-1, false, None)
            }
        }
    }

    /// Entropies in nats, float32 `[batch]`.
    pub fn entropy(&self) -> Tensor {
        match self {
            Self::Categorical { log_probs } => {
                -(log_probs.exp() * log_probs).sum_dim_intlist(-1, false, Kind::Float)
            }
            Self::DiagonalGaussian { mean, log_std } => {
                let each = log_std + (0.5 + LN_SQRT_2PI);
                if each.dim() > 1 {
                    return each.sum_dim_intlist(-1, false, None);
                }
                each.sum(None).expand([mean.size()[0]], false)
            }
        }
    }

    /// What actions are drawn by on the host, float32 `[batch, numbers]`: the log-probabilities of all, or the mean
    /// of each number and then the logarithm of each number's deviation. A row is for `draw` of the module.
    pub(crate) fn numbers(&self) -> Tensor {
        match self {
            Self::Categorical { log_probs } => log_probs.shallow_clone(),
            Self::DiagonalGaussian { mean, log_std } => {
                Tensor::cat(&[mean, &log_std.expand_as(mean)], 1)
            }
        }
    }

    /// The one whose [`Distribution::numbers`] these are, over `actions`.
    pub(crate) fn of_numbers(numbers: &Tensor, actions: &ActionSpace) -> Self {
        let ActionSpace::Box { low, .. } = actions else {
            let log_probs = numbers.shallow_clone();
            return Self::Categorical { log_probs };
        };
        let dims = low.len() as i64;
        Self::DiagonalGaussian {
            mean: numbers.narrow(1, 0, dims),
            log_std: numbers.narrow(1, dims, dims),
        }
    }
}
