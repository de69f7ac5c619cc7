//! What gradient steps change, whichever algorithm asks for them.

use rand_pcg::Pcg64;
use serde_json::{Map, json};
use tch::{Device, Tensor};

use super::State;
use crate::{
    error::TrainerError,
    nn::Network,
    optimizer::{Optimizer, clip_grad_norm},
};

/// A network, its optimizer, and the random numbers of an algorithm.
#[derive(Debug)]
pub struct Learner<N> {
    /// What is trained.
    pub net: N,
    /// Its optimizer.
    pub optimizer: Optimizer,
    /// Draws the actions and shuffles the minibatches. On the host and of our own, so that every device
    /// samples alike and a checkpoint can hold it.
    pub rng: Pcg64,
}

impl<N: Network> Learner<N> {
    /// One gradient step on `loss`; returns the gradient's norm before clipping.
    ///
    /// # Errors
    /// [`TrainerError::Diverged`] before anything changes, on the CPU; on other devices a look at the
    /// numbers would cost a wait for them, and [`Metrics::check`](super::Metrics::check) finds it after
    /// the update.
    pub(super) fn descend(
        &mut self,
        loss: &Tensor,
        max_grad_norm: f64,
        learning_rate: f64,
    ) -> Result<Tensor, TrainerError> {
        let mut gradient = self.net.params().gradient(loss);
        let norm = clip_grad_norm(&mut gradient, max_grad_norm);
        if norm.device() == Device::Cpu {
            for (what, number) in [("the loss", loss), ("the gradient", &norm)] {
                if !number.double_value(&[]).is_finite() {
                    return Err(TrainerError::Diverged { what });
                }
            }
        }
        let params = self.net.params_mut().flat_mut();
        self.optimizer.step(params, &gradient, learning_rate);
        Ok(norm)
    }

    /// Weights, the optimizer's moments and steps, the generator, and the tensors of `more`; tensors are
    /// copies on the CPU.
    ///
    /// # Errors
    /// A generator that has no text.
    pub(super) fn state(&self, more: &[(&str, &Tensor)]) -> Result<State, TrainerError> {
        let weights = self.net.params().named();
        let tensors = weights.chain(self.optimizer.state());
        let tensors = tensors.chain(more.iter().copied());
        let copies = tensors.map(|(name, tensor)| {
            let copy = tensor.detach().to_device(Device::Cpu).copy();
            (name.to_owned(), copy)
        });
        // As text: the generator's state has 128 bits, JSON values as serde_json holds them 64.
        let rng = serde_json::to_string(&self.rng)
            .map_err(|error| TrainerError::State(format!("value `rng`: {error}")))?;
        Ok(State {
            tensors: copies.collect(),
            values: Map::from_iter([
                ("rng".to_owned(), json!(rng)),
                ("optimizer_steps".to_owned(), json!(self.optimizer.steps)),
            ]),
            replay: Vec::new(),
        })
    }

    /// Goes on from a state, and copies to the tensors of `more`: all of it, or nothing changes.
    ///
    /// # Errors
    /// As [`Algorithm::load_state`](super::Algorithm::load_state).
    pub(super) fn load_state(
        &mut self,
        state: &State,
        more: &[(&str, &Tensor)],
    ) -> Result<(), TrainerError> {
        let rng: String = state.value("rng")?;
        let rng = serde_json::from_str(&rng)
            .map_err(|error| TrainerError::State(format!("value `rng`: {error}")))?;
        let optimizer_steps = state.value("optimizer_steps")?;
        let weights = self.net.params().named();
        let tensors = weights.chain(self.optimizer.state());
        state.copy_to(tensors.chain(more.iter().copied()))?;
        self.rng = rng;
        self.optimizer.steps = optimizer_steps;
        Ok(())
    }
}
