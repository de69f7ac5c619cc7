//! Fresh networks of a run.

use rand_pcg::Pcg64;
use tch::Device;
use vec_env::{ActionSpace, ObsSpec};

use crate::{
    error::TrainerError,
    nn::{Actor, AgentView, Agents, Critics, PolicyValueNet, QNet, QStyle},
    normalize::ObsNormalizer,
    random::seeded_rng,
    settings::{AlgorithmSettings, Settings},
};

/// What networks are made from.
pub struct Blueprint<'a> {
    run: &'a Settings,
    spec: &'a ObsSpec,
    actions: &'a ActionSpace,
    device: Device,
    /// Agents of an environment, whose rows stand side by side.
    num_agents: usize,
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
            num_agents: 1,
            rng: seeded_rng(seed),
        }
    }

    /// The same for environments of so many agents.
    pub(super) fn of_agents(self, num_agents: usize) -> Self {
        Self { num_agents, ..self }
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
        let shown = AgentView::of(self.run, spec, self.num_agents)?;
        let (rng, on) = (&mut self.rng, (device, precision));
        let mut net = PolicyValueNet::of_agents(shown, actions, body, lstm_size, on, rng)?;
        if norm_obs {
            net.obs_normalizer = Some(ObsNormalizer::new(spec)?);
        }
        Ok(net)
    }

    /// A policy for critics, of each agent where these learn together.
    pub(super) fn actor(&mut self) -> Result<Actor, TrainerError> {
        let on = (self.device, self.run.machine.precision);
        let (body, agents) = (&self.run.net, self.agents());
        Actor::new(self.spec, self.actions, agents, body, on, &mut self.rng)
    }

    /// So many critics of what `actor` does, for each agent.
    pub(super) fn critics(&mut self, count: usize, actor: &Actor) -> Result<Critics, TrainerError> {
        let on = (self.device, self.run.machine.precision);
        let (counts, of_each) = ((count, self.agents().count), (self.spec, actor.width()));
        Critics::new(counts, of_each, &self.run.net, on, &mut self.rng)
    }

    /// Who has networks of its own.
    fn agents(&self) -> Agents {
        let together = matches!(self.run.algorithm, AlgorithmSettings::Maddpg(_));
        Agents {
            count: if together { self.num_agents } else { 1 },
            discrete: together,
        }
    }

    pub(super) fn q_net(&mut self, style: QStyle) -> Result<QNet, TrainerError> {
        let on = (self.device, self.run.machine.precision);
        let body = &self.run.net;
        QNet::new(self.spec, self.actions, body, style, on, &mut self.rng)
    }
}
