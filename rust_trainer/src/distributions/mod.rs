//! Distributions over actions: what a network says about the actions to take, whichever kind they are of.

pub(crate) mod categorical;
pub(crate) mod gaussian;

use tch::Tensor;

pub use categorical::Categorical;
pub use gaussian::DiagonalGaussian;

/// A distribution over the actions of an environment for each of a batch of observations.
#[derive(Debug)]
pub enum Distribution {
    /// Over `ActionSpace::Discrete`.
    Categorical(Categorical),
    /// Over `ActionSpace::Box`.
    DiagonalGaussian(DiagonalGaussian),
}

impl Distribution {
    /// Log-probabilities, or densities, of `actions`: int64 `[batch]` for discrete ones, float32
    /// `[batch, dims]` for continuous ones → float32 `[batch]`.
    pub fn log_prob(&self, actions: &Tensor) -> Tensor {
        match self {
            Self::Categorical(policy) => policy.log_prob(actions),
            Self::DiagonalGaussian(policy) => policy.log_prob(actions),
        }
    }

    /// Entropies in nats, float32 `[batch]`.
    pub fn entropy(&self) -> Tensor {
        match self {
            Self::Categorical(policy) => policy.entropy(),
            Self::DiagonalGaussian(policy) => policy.entropy(),
        }
    }

    /// What actions are drawn by on the host, float32 `[batch, numbers]`: a row for `draw` of the
    /// distribution's module.
    pub(crate) fn numbers(&self) -> Tensor {
        match self {
            Self::Categorical(policy) => policy.numbers(),
            Self::DiagonalGaussian(policy) => policy.numbers(),
        }
    }
}
