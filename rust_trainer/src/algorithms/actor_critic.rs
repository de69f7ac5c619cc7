//! How PPO and A2C act while they collect: by one network that says both what to do and what an observation is worth.

use rand_pcg::Pcg64;

use super::{learner::Learner, on_policy::Turn};
use crate::{
    nn::PolicyValueNet,
    policy::{self, Choice, choose_recorded, skip},
};

impl Learner<PolicyValueNet> {
    /// Actions drawn from the policy for the environments of this rank.
    pub(super) fn choose(&mut self, Turn { obs, memory, .. }: Turn<'_>) -> Choice {
        let Self {
            net,
            rng,
            ranks,
            threads,
            acting,
            ..
        } = self;
        let skip = |rng: &mut Pcg64| skip(net.action_space(), rng);
        let draw = |rng: &mut Pcg64| match acting {
            Some(recording) => choose_recorded(recording, net, obs, rng),
            None => policy::choose(net, obs, memory, rng, false, *threads),
        };
        ranks.draw(rng, obs.size()[0] as usize, skip, draw)
    }
}
