//! Playing at random: what a score is to be seen beside.

use rand_pcg::Pcg64;
use tch::{Device, Tensor};
use vec_env::{ActionBatch, ActionSpace};

use super::{Estimates, Outlook, Policy, uniform};
use crate::nn::Memory;

/// Draws each action uniformly, from a `Box` within its bounds, whatever is observed.
#[derive(Debug)]
pub struct RandomPolicy(pub ActionSpace);

impl Policy for RandomPolicy {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn act(&self, obs: &Tensor, _: &mut Memory, rng: &mut Pcg64, _: bool) -> ActionBatch {
        uniform(&self.0, obs.size()[0] as usize, rng)
    }

    fn outlook(&self, _: &Tensor, _: &Memory) -> Outlook {
        Outlook {
            value: None,
            estimates: Estimates::Probabilities(Vec::new()),
        }
    }
}
