//! Fresh networks of a run.

use rand_pcg::Pcg64;
use tch::Device;
use vec_env::{ActionSpace, ObsSpec};

use crate::{
    error::TrainerError,
    nn::{Actor, Critics, PolicyValueNet, QNet, QStyle},
    normalize::ObsNormalizer,
    random::seeded_rng,
    settings::Settings,
};

/// What networks are made from.
pub struct Blueprint<'a> {
    run: &'a Settings,
    spec: &'a ObsSpec,
    actions: &'a ActionSpace,
    device: Device,
    /// Draws their weights.
    pub(super) rng: Pcg64,
}

impl<'a> Blueprint<'a> {
    /// For these observations and actions, with weights drawn by `seed`.
    pub(super) fn new(
        run: &'a Settings,
        (spec, actions): (&'a ObsSpec, &'a ActionSpace),
        device: Device,
        seed: u64,
    ) -> Self {
        Self {
            run,
            spec,
            actions,
            device,
            rng: seeded_rng(seed),
        }
    }

    /// A policy and a value function, with an LSTM of `lstm_size`, 0 for none; with `norm_obs` it normalizes
    /// observations.
    pub(super) fn policy_value_net(
        &mut self,
        lstm_size: i64,
        norm_obs: bool,
    ) -> Result<PolicyValueNet, TrainerError> {
        let (spec, actions, body) = (self.spec, self.actions, &self.run.net);
        let (device, precision) = (self.device, self.run.machine.precision);
        let rng = &mut self.rng;
        let mut net = PolicyValueNet::new(spec, actions, body, lstm_size, device, precision, rng)?;
        if norm_obs {
            net.obs_normalizer = Some(ObsNormalizer::new(spec)?);
        }
        Ok(net)
    }

    /// A deterministic policy.
    pub(super) fn actor(&mut self) -> Result<Actor, TrainerError> {
        let on = (self.device, self.run.machine.precision);
        let body = &self.run.net;
        Actor::new(self.spec, self.actions, body, on, &mut self.rng)
    }

    /// So many critics of its actions.
    pub(super) fn critics(&mut self, count: usize) -> Result<Critics, TrainerError> {
        let on = (self.device, self.run.machine.precision);
        let spaces = (self.spec, self.actions);
        Critics::new(count, spaces, &self.run.net, on, &mut self.rng)
    }

    pub(super) fn q_net(&mut self, style: QStyle) -> Result<QNet, TrainerError> {
        let on = (self.device, self.run.machine.precision);
        let body = &self.run.net;
        QNet::new(self.spec, self.actions, body, style, on, &mut self.rng)
    }
}
