//! Deep deterministic policy gradients (DDPG: Lillicrap et al. 2016), and with twin critics, a delayed policy and
//! target policy smoothing TD3 (Fujimoto et al. 2018). With several agents whose critics read what all of them observe and
//! do, it is MADDPG (Lowe et al. 2017), which also takes discrete actions.
//!
//! Actions are the policy's with normal noise, the first ones random; each transition goes to the replay memory; for
//! every `train_frequency` agent steps the critics learn from a batch of what is there, and every `policy_frequency` such
//! steps the policy learns from the first critic, and the target networks follow both.

mod gradient;
mod state;

use tch::{Device, Tensor};
use vec_env::{ActionBatch, ActionSpace, ObsSlot, ObsSpec, StepBatch, VecEnv};

use super::{
    algorithm::{Algorithm, Learning, Metrics},
    in_hand::InHand,
    learner::Learner,
    nets::Blueprint,
    progress::Progress,
    state::State,
};
use crate::{
    data::Replay,
    error::TrainerError,
    nn::{Actor, Critics, Network},
    optimizer::Optimizer,
    policy::{Policy, explored, uniform},
    random::seeded_rng,
    ranks::Ranks,
    settings::{AlgorithmSettings, DdpgSettings, Settings},
    tensors::obs_tensor,
};
use rand::RngExt;

/// That of `CleanRL` and of `PyTorch`.
const ADAM_EPS: f64 = 1e-8;

/// DDPG or TD3 with its settings.
#[derive(Debug)]
pub struct Ddpg {
    settings: DdpgSettings,
    /// Two critics and smoothing: TD3.
    is_twin: bool,
    obs_spec: ObsSpec,
    action_space: ActionSpace,
    num_envs: usize,
    /// Agents that learn together, whose rows stand side by side.
    num_agents: usize,
    total_steps: u64,
    /// Its generator draws the actions.
    policy: Learner<Actor>,
    /// Their generator draws the batches, and the noise of the targets.
    critics: Learner<Critics>,
    target_policy: Actor,
    target_critics: Critics,
    replay: Replay,
    in_hand: InHand,
    progress: Progress,
    /// Values, losses and norm of the gradient of each gradient step of the critics since the last update.
    terms: Vec<Tensor>,
    /// Loss and norm of the gradient of each of the policy.
    policy_terms: Vec<Tensor>,
}

/// Refuses several ranks where the algorithm of `settings` takes none.
pub(crate) fn check_ranks(settings: &Settings, ranks: &Ranks) -> Result<(), TrainerError> {
    if settings.algorithm.ddpg().is_none() || ranks.is_alone() {
        return Ok(());
    }
    Err(TrainerError::Usage(format!(
        "{} learns in one process, and here are {}: start it without ranks",
        settings.algorithm.algorithm(),
        ranks.count()
    )))
}

impl Ddpg {
    /// Fresh weights, drawn by the seed of `run`, and an empty replay memory.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for actions or observations that it does not learn with, and for several `ranks`.
    pub fn new(
        settings: DdpgSettings,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        check_ranks(run, ranks)?;
        let is_twin = matches!(run.algorithm, AlgorithmSettings::Td3(_));
        let num_critics = if is_twin { 2 } else { 1 };
        let (spec, num_envs, actions) = (env.obs_spec(), env.num_envs(), env.action_space());
        let together = matches!(run.algorithm, AlgorithmSettings::Maddpg(_));
        let num_agents = if together { env.spec().num_agents } else { 1 };
        let new = |seed| Blueprint::new(run, (spec, actions), device, seed).of_agents(num_agents);
        let (mut blueprint, mut of_targets) = (new(run.run.seed), new(0));
        let policy = blueprint.actor()?;
        let noise = settings.exploration_noise;
        let is_named = (noise - DdpgSettings::default().exploration_noise).abs() > 0.0;
        if is_named && matches!(env.action_space(), ActionSpace::Discrete { .. }) {
            let problem = "is not read: discrete actions are drawn";
            return Err(TrainerError::setting("exploration_noise", noise, problem));
        }
        let critics = blueprint.critics(num_critics, &policy)?;
        let mut target_policy = of_targets.actor()?;
        let mut target_critics = of_targets.critics(num_critics, &policy)?;
        target_policy.params.copy_from(&policy.params);
        target_critics.params.copy_from(&critics.params);
        let rng_of_batches = seeded_rng(blueprint.rng.random());
        let adam = |numel| Optimizer::adam(numel, device, ADAM_EPS);
        let (of_policy, of_critics) = (adam(policy.params.numel()), adam(critics.params.numel()));
        Ok(Self {
            is_twin,
            obs_spec: spec.clone(),
            action_space: actions.clone(),
            num_envs,
            num_agents,
            total_steps: run.run.total_steps,
            policy: Learner::new(policy, of_policy, blueprint.rng, &run.machine, ranks),
            critics: Learner::new(critics, of_critics, rng_of_batches, &run.machine, ranks),
            target_policy,
            target_critics,
            replay: new_replay(&settings, (spec, actions), num_envs)?,
            in_hand: InHand::new(num_envs * spec.num_bytes()),
            progress: Progress::default(),
            terms: Vec::new(),
            policy_terms: Vec::new(),
            settings,
        })
    }

    /// What the terms of the critics are called.
    fn names(&self) -> &'static [&'static str] {
        if self.is_twin {
            &[
                "qf1_values",
                "qf2_values",
                "qf1_loss",
                "qf2_loss",
                "qf_loss",
            ]
        } else {
            &["qf1_values", "qf1_loss"]
        }
    }

    /// What the gradient steps since the last update say; not numbers where there were none.
    fn metrics(&self) -> Result<Metrics, TrainerError> {
        let of = |learned: Result<Metrics, TrainerError>, names: &[&'static str]| {
            let metrics = learned?.0.into_iter();
            let metrics = metrics.filter(|(name, _)| names.contains(name));
            Ok::<_, TrainerError>(metrics.collect::<Vec<_>>())
        };
        let none = |names: &[&'static str]| names.iter().map(|name| (*name, f64::NAN)).collect();
        let mut metrics = vec![
            ("replay_size", self.num_held() as f64),
            ("gradient_steps", self.progress.gradient_steps as f64),
        ];
        let names = self.names();
        metrics.extend(match self.terms.as_slice() {
            [] => none(names),
            terms => of(self.critics.metrics(names, terms), names)?,
        });
        metrics.extend(match self.policy_terms.as_slice() {
            [] => none(&["actor_loss"]),
            terms => of(self.policy.metrics(&["actor_loss"], terms), &["actor_loss"])?,
        });
        Ok(Metrics(metrics))
    }

    /// Transitions that can be drawn.
    fn num_held(&self) -> u64 {
        let held = self.replay.held();
        held.end - held.start
    }
}

impl Algorithm for Ddpg {
    fn next_obs(&mut self) -> ObsSlot {
        self.in_hand.next_obs()
    }

    fn act(&mut self) -> Result<ActionBatch, TrainerError> {
        self.in_hand.begin(&mut self.replay)?;
        let (space, rng) = (&self.action_space, &mut self.policy.rng);
        let actions = if self.progress.steps < self.settings.learning_starts as u64 {
            uniform(space, self.num_envs, rng)
        } else {
            let obs = obs_tensor(self.replay.in_hand(), self.num_envs, &self.obs_spec)?;
            let obs = obs.to_device(self.critics.device());
            let policy: &dyn Policy = &self.policy.net;
            let mut memory = policy.new_memory(self.num_envs);
            let chosen = policy.act(&obs, &mut memory, rng, false);
            explored(&chosen, space, self.settings.exploration_noise, rng)
        };
        self.in_hand.choose(&actions);
        Ok(actions)
    }

    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError> {
        self.in_hand.observe(step, &mut self.replay)?;
        let can_learn = self.num_held() >= self.settings.learning_starts as u64;
        self.progress.count(self.num_envs as u64, can_learn);
        Ok(())
    }

    fn learn(&mut self, should_stop: &mut dyn FnMut() -> bool) -> Result<Learning, TrainerError> {
        while self.progress.steps_to_learn >= self.settings.train_frequency {
            if should_stop() {
                return Ok(Learning::BrokenOff);
            }
            self.gradient_step()?;
        }
        let steps_per_update = self.settings.steps_per_update;
        if !self
            .progress
            .is_update_over(steps_per_update, self.total_steps)
        {
            return Ok(Learning::NotYet);
        }
        let metrics = self.metrics()?;
        self.terms.clear();
        self.policy_terms.clear();
        self.progress.steps_of_update = 0;
        Ok(Learning::Done(metrics))
    }

    fn policy(&self) -> &dyn Policy {
        &self.policy.net
    }

    fn state(&self) -> Result<State, TrainerError> {
        self.to_state()
    }

    fn network_state(&self) -> State {
        let (policy, critics) = (&self.policy.net.params, &self.critics.net.params);
        State::of_network(policy.named().chain(critics.named()))
    }

    /// Not within a gradient step that the critics' optimizer has begun with and that did not come to its end.
    fn is_whole_between_steps(&self) -> bool {
        self.critics.optimizer.steps == self.progress.gradient_steps
    }

    fn load_state(&mut self, state: &State) -> Result<(), TrainerError> {
        self.take_state(state)
    }

    fn start_from(&mut self, state: &State) -> Result<(), TrainerError> {
        let (policy, critics) = (self.policy.net.params(), self.critics.net.params());
        state.copy_to(policy.named().chain(critics.named()))?;
        self.target_policy.params.copy_from(policy);
        self.target_critics.params.copy_from(critics);
        Ok(())
    }

    fn forget_games(&mut self) {
        self.in_hand.forget();
    }

    fn num_params(&self) -> i64 {
        self.policy.net.params.numel() + self.critics.net.params.numel()
    }
}

fn new_replay(
    settings: &DdpgSettings,
    spaces: (&ObsSpec, &ActionSpace),
    num_envs: usize,
) -> Result<Replay, TrainerError> {
    Replay::new(
        spaces,
        num_envs,
        settings.replay_capacity,
        1,
        settings.gamma,
    )
}
