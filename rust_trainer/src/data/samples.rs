//! Samples of a rollout: those that a minibatch takes, and what is learned from them.

use tch::{Kind, Tensor};

use crate::nn::{Memory, Observed, Output, PolicyValueNet};

/// Samples that are learned from together, and what a network with a memory needs of them.
#[derive(Debug, Default)]
pub struct Batch {
    /// Which they are; sequences are step-major, `[steps · sequences]`.
    pub indices: Vec<i64>,
    /// Their observations, `[samples, ...]`.
    pub obs: Observed,
    /// What the network remembered before the first step of each sequence.
    pub memory: Memory,
    /// Where an episode starts inside, `[steps · sequences]`; empty without a memory.
    pub episode_starts: Vec<bool>,
}

impl Batch {
    /// What `net` says of them now.
    #[must_use]
    pub fn forward(&self, net: &PolicyValueNet) -> Output {
        let (output, _) = net.unroll(&self.obs, &self.memory, &self.episode_starts);
        output
    }
}

/// What is learned from beside the observations; `[samples]` each.
#[derive(Debug)]
pub struct Samples {
    /// Actions: int64, or float32 `[samples, dims]` where they are continuous.
    pub actions: Tensor,
    /// Log-probabilities of the actions under the policy that took them, float32.
    pub log_probs: Tensor,
    /// Values under the network that acted, float32.
    pub values: Tensor,
    /// Advantages, float32.
    pub advantages: Tensor,
    /// Targets of the value function, advantage + value, float32.
    pub returns: Tensor,
}

impl Samples {
    /// The samples at `indices`.
    #[must_use]
    pub fn select(&self, indices: &[i64]) -> Self {
        let indices = Tensor::from_slice(indices).to_device(self.actions.device());
        let pick = |tensor: &Tensor| tensor.index_select(0, &indices);
        Self::of(self.tensors().map(pick))
    }

    /// All five.
    pub(crate) fn tensors(&self) -> [&Tensor; 5] {
        [
            &self.actions,
            &self.log_probs,
            &self.values,
            &self.advantages,
            &self.returns,
        ]
    }

    /// Of all five, in the order of [`Samples::tensors`].
    pub(crate) fn of(tensors: [Tensor; 5]) -> Self {
        let [actions, log_probs, values, advantages, returns] = tensors;
        Self {
            actions,
            log_probs,
            values,
            advantages,
            returns,
        }
    }

    /// The same with advantages shifted and scaled to mean 0 and deviation 1.
    #[must_use]
    pub fn normalized(self) -> Self {
        let moments = moments(&self.advantages);
        self.normalized_by(&moments)
    }

    /// The same by the mean and the deviation of more advantages than these.
    pub(crate) fn normalized_by(self, (mean, deviation): &(Tensor, Tensor)) -> Self {
        let advantages = (&self.advantages - mean) / (deviation + 1e-8);
        Self { advantages, ..self }
    }
}

/// Mean and deviation of numbers, scalars.
pub(crate) fn moments(numbers: &Tensor) -> (Tensor, Tensor) {
    (numbers.mean(Kind::Float), numbers.std(true))
}

/// Explained variance of the value function, `1 − Var(returns − values) / Var(returns)`.
pub(crate) fn explained_variance(returns: &Tensor, values: &Tensor) -> f64 {
    let variance = returns.var(false);
    let residual = (returns - values).var(false);
    1.0 - (residual / variance).double_value(&[])
}
