//! The loop of the algorithms that learn from rollouts, PPO, A2C and PQN: they
//!
//! 1. collect a rollout with the present policy ([`OnPolicy::choose`]),
//! 2. find what each action was worth ([`Rollout::gae`] over [`OnPolicy::values`]),
//! 3. take gradient steps on minibatches of it ([`OnPolicy::loss`]),
//!
//! and forget it. What tells one from another is in a file of its name.

mod state;

use tch::{Device, Tensor};
use vec_env::{ActionBatch, ActionSpace, AutoresetMode, ObsSlot, ObsSpec, StepBatch, VecEnv};

use super::{
    algorithm::{Algorithm, Learning, Metrics},
    learner::{Learner, Loss},
    nets::Blueprint,
    schedule::{UpdateSettings, Updates},
    state::State,
};
use crate::{
    cuda::Recording,
    data::{Batch, Rollout, Samples, truncated_obs},
    error::TrainerError,
    nn::{Memory, Network},
    normalize::RewardNormalizer,
    optimizer::Optimizer,
    policy::{Choice, Policy},
    ranks::Ranks,
    settings::Settings,
    tensors::obs_tensor,
};

/// What tells one algorithm that learns from rollouts from another; of its settings.
pub trait OnPolicy: Sync + 'static {
    /// The network, as it plays.
    type Net: Network + Policy;

    /// Names of the terms of the loss that are reported.
    const TERMS: &'static [&'static str];

    /// The settings that all of them have.
    fn common(&self) -> UpdateSettings;

    /// A fresh network.
    fn net(&self, blueprint: &mut Blueprint<'_>) -> Result<Self::Net, TrainerError>;

    /// A fresh optimizer.
    fn optimizer(&self, num_params: i64, device: Device) -> Optimizer;

    /// What collects: actions for the newest observations.
    fn choose(&self, learner: &mut Learner<Self::Net>, turn: Turn<'_>) -> Choice;

    /// What `obs`, `[num_envs, ...]`, are worth, behind what `memory` holds.
    fn values(&self, learner: &Learner<Self::Net>, obs: &Tensor, memory: &Memory) -> Vec<f32>;

    /// The loss of samples under the present network; their advantages are normalized already, where the settings
    /// say so.
    fn loss(&self, net: &Self::Net, batch: &Batch, samples: &Samples) -> Loss;

    /// The probability of a random action, where there is one.
    fn epsilon(&self, _updates: Updates) -> Option<f64> {
        None
    }
}

/// What actions are chosen for.
pub struct Turn<'a> {
    /// The newest observations of a group of environments, `[num_envs, ...]`.
    pub obs: &'a Tensor,
    /// What the network remembers of those before; it comes to remember these.
    pub memory: &'a mut Memory,
    /// How far the run has come.
    pub updates: Updates,
}

/// An algorithm that learns from rollouts, with its settings `S`.
#[derive(Debug)]
pub struct OnPolicyAlgorithm<S: OnPolicy> {
    settings: S,
    common: UpdateSettings,
    learner: Learner<S::Net>,
    rollout: Rollout,
    reward_normalizer: Option<RewardNormalizer>,
    /// The newest observations are a reset's, as the environments made them.
    is_reset: bool,
    /// Of each group of environments, of the observations before its newest.
    memories: Vec<Memory>,
    obs_spec: ObsSpec,
    action_space: ActionSpace,
    restarts_in_next_step: bool,
    /// Agents of an environment, whose rows stand side by side.
    num_agents: usize,
    updates: Updates,
}

impl<S: OnPolicy> OnPolicyAlgorithm<S> {
    /// Fresh weights, drawn by the seed of `run`; at one of several `ranks`, for its share of the environments.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for agents that are known to end apart, at several ranks and with an LSTM; as those of the
    /// network.
    pub fn of_rank(
        settings: S,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let common = settings.common();
        let spaces = (env.obs_spec(), env.action_space());
        let num_agents = env.spec().num_agents;
        let mut blueprint = Blueprint::new(run, spaces, device, run.run.seed).of_agents(num_agents);
        let net = settings.net(&mut blueprint)?;
        let optimizer = settings.optimizer(net.params().numel(), device);
        let (num_envs, actions) = (env.num_envs(), env.action_space());
        let memory = net.new_memory(num_envs);
        if env.spec().ends_apart {
            check_ends_apart(ranks, &memory)?;
        }
        // What several ranks do together is not all on the device, and cannot be recorded; agents may be absent, and
        // minibatches differ in size.
        let is_alone = ranks.is_alone() && num_agents == 1;
        let is_recorded = device != Device::Cpu && is_alone && memory.state().is_none();
        let recording = || Recording::on(device, run.machine.cuda_graphs);
        let is_discrete = matches!(actions, ActionSpace::Discrete { .. });
        let mut learner = Learner::new(net, optimizer, blueprint.rng, &run.machine, ranks);
        learner.steps = is_recorded.then(recording);
        learner.acting = (is_recorded && is_discrete).then(recording);
        let sizes = (num_envs, num_envs / env.batch_size());
        let (num_steps, of_rollout) = (common.num_steps, memory.clone());
        let mut rollout = Rollout::new(spaces.0, num_steps, sizes, of_rollout, device)?;
        if run.machine.cuda_streams {
            rollout.stream()?;
        }
        let samples_of_all = (rollout.num_samples() * ranks.count()) as u64;
        Ok(Self {
            updates: Updates {
                done: 0,
                total: run.run.total_steps.div_ceil(samples_of_all),
            },
            memories: memory.split(rollout.num_groups()),
            reward_normalizer: (common.norm_reward)
                .then(|| RewardNormalizer::new(num_envs * ranks.count())),
            settings,
            common,
            learner,
            rollout,
            is_reset: false,
            obs_spec: env.obs_spec().clone(),
            action_space: actions.clone(),
            restarts_in_next_step: env.autoreset_mode() == AutoresetMode::NextStep,
            num_agents,
        })
    }

    /// Takes the observations written last, at all ranks, into the statistics and normalizes those of this
    /// one in their place, once. Rows that show nobody, if any, are left out of the statistics.
    fn normalize_obs(&mut self, shows_nobody: &[bool]) -> Result<(), TrainerError> {
        if let Some(normalizer) = self.learner.net.obs_normalizer_mut() {
            let mut obs = self.rollout.next_obs();
            if shows_nobody.is_empty() {
                normalizer.update(&self.learner.ranks.all_gather(&obs)?.concat());
            } else {
                let rows = obs.chunks_exact(self.obs_spec.num_bytes());
                let shown = rows.zip(shows_nobody).filter(|(_, nobody)| !**nobody);
                normalizer.update(&shown.flat_map(|(row, _)| row).copied().collect::<Vec<_>>());
            }
            normalizer.apply(&mut obs);
        }
        Ok(())
    }

    /// The rewards of a step to learn from, by the statistics of all ranks where they are normalized.
    fn rewards(&mut self, step: &StepBatch) -> Result<Vec<f32>, TrainerError> {
        let Some(normalizer) = &mut self.reward_normalizer else {
            return Ok(step.reward.clone());
        };
        let (ranks, gamma) = (&self.learner.ranks, self.common.gamma);
        if ranks.is_alone() {
            return Ok(normalizer.normalize(step, gamma));
        }
        let mut all = StepBatch::default();
        let (reward, terminated, truncated) = (&step.reward, &step.terminated, &step.truncated);
        let own = (reward.clone(), terminated.clone(), truncated.clone());
        for (reward, terminated, truncated) in ranks.tell(&own)? {
            all.reward.extend(reward);
            all.terminated.extend(terminated);
            all.truncated.extend(truncated);
        }
        let rewards = normalizer.normalize(&all, gamma);
        Ok(rewards[ranks.share(rewards.len())].to_vec())
    }

    /// The last observation of each episode that `step` cut off, `[1, ...]`, as the network reads it, by its row.
    fn truncated(&mut self, step: &StepBatch) -> Result<Vec<(usize, Tensor)>, TrainerError> {
        if self.restarts_in_next_step {
            return Ok(self.rollout.truncated(step));
        }
        let (device, spec) = (self.learner.device(), &self.obs_spec);
        let of_row = |(row, bytes)| {
            let mut obs = obs_tensor(bytes, 1, spec)?.to_device(device);
            if let Some(normalizer) = self.learner.net.obs_normalizer() {
                obs = normalizer.normalized(&obs);
            }
            Ok((row, obs))
        };
        truncated_obs(step)?.into_iter().map(of_row).collect()
    }

    /// Begins a rollout with the newest observations, and with what is remembered of those before.
    fn restart(&mut self, memory: Memory) {
        self.memories = memory.split(self.memories.len());
        self.rollout.restart(memory);
    }
}

/// Refuses what cannot learn from agents whose episodes end apart.
fn check_ends_apart(ranks: &Ranks, memory: &Memory) -> Result<(), TrainerError> {
    if ranks.is_alone() && memory.state().is_none() {
        return Ok(());
    }
    let problem =
        "agents whose episodes end apart are learned from in one process, and without an LSTM";
    Err(TrainerError::Usage(problem.to_owned()))
}

impl<S: OnPolicy> Algorithm for OnPolicyAlgorithm<S> {
    fn next_obs(&mut self) -> ObsSlot {
        if self.rollout.is_empty() {
            self.is_reset = true;
        }
        self.rollout.next_obs()
    }

    fn can_act(&self) -> bool {
        self.rollout.can_act()
    }

    fn act(&mut self) -> Result<ActionBatch, TrainerError> {
        if std::mem::take(&mut self.is_reset) {
            self.normalize_obs(&[])?;
            if let Some(normalizer) = &mut self.reward_normalizer {
                normalizer.restart();
            }
        }
        let obs = self.rollout.obs_in_turn();
        let turn = Turn {
            obs: &obs,
            memory: &mut self.memories[self.rollout.turns().0],
            updates: self.updates,
        };
        let choice = self.settings.choose(&mut self.learner, turn);
        let actions = self.action_space.clipped(&choice.actions);
        self.rollout.add_choice(choice);
        Ok(actions)
    }

    /// A truncated episode's last reward has γV of its last observation added, by what is remembered of
    /// that episode: see [`truncated_obs`]; where the next step restarts it, that observation is the newest.
    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError> {
        let shows_nobody = step.shows_nobody(self.num_agents);
        if !(step.absent.is_empty() && shows_nobody.is_empty()) {
            check_ends_apart(&self.learner.ranks, &self.memories[0])?;
        }
        self.normalize_obs(&shows_nobody)?;
        let mut rewards = self.rewards(step)?;
        let group = self.rollout.turns().1;
        for (row, obs) in self.truncated(step)? {
            let memory = self.memories[group].select(&[row as i64]);
            let value = self.settings.values(&self.learner, &obs, &memory)[0];
            rewards[row] += self.common.gamma as f32 * value;
        }
        let dones = (0..rewards.len()).map(|row| step.is_done(row));
        let dones: Vec<bool> = dones.collect();
        self.memories[group].forget(&dones);
        self.rollout.add_step(&rewards, dones);
        if !step.absent.is_empty() {
            self.rollout.leave_out(&step.absent);
        }
        Ok(())
    }

    fn learn(&mut self, should_stop: &mut dyn FnMut() -> bool) -> Result<Learning, TrainerError> {
        if !self.rollout.is_full() {
            return Ok(Learning::NotYet);
        }
        let (settings, common) = (&self.settings, self.common);
        let (learner, rollout) = (&mut self.learner, &mut self.rollout);
        let memory = Memory::joined(&self.memories);
        let last_values = settings.values(learner, &rollout.newest_obs(), &memory);
        let advantages = rollout.gae(&last_values, common.gamma, common.lambda);
        let samples = learner.gather(rollout, &advantages)?;

        let rate = self.updates.learning_rate(&common);
        let loss =
            |net: &S::Net, batch: &Batch, samples: &Samples| settings.loss(net, batch, samples);
        let terms = learner.learn_from(rollout, &samples, &common, rate, should_stop, loss)?;
        let Some(terms) = terms else {
            return Ok(Learning::BrokenOff);
        };
        let mut metrics = vec![("learning_rate", rate)];
        let epsilon = settings.epsilon(self.updates);
        metrics.extend(epsilon.map(|epsilon| ("epsilon", epsilon)));
        metrics.extend(learner.metrics(S::TERMS, &terms)?.0);
        metrics.push(("explained_variance", samples.explained_variance()));
        self.restart(memory);
        self.updates.done += 1;
        Ok(Learning::Done(Metrics(metrics)))
    }

    fn policy(&self) -> &dyn Policy {
        &self.learner.net
    }

    fn state(&self) -> Result<State, TrainerError> {
        self.to_state()
    }

    fn network_state(&self) -> State {
        self.network()
    }

    fn load_state(&mut self, state: &State) -> Result<(), TrainerError> {
        self.take_state(state)
    }

    fn start_from(&mut self, state: &State) -> Result<(), TrainerError> {
        self.take_network(state)
    }

    fn notices(&mut self) -> Vec<String> {
        self.learner.notices()
    }

    fn forget_games(&mut self) {
        let memory = self.learner.net.new_memory(self.rollout.num_envs());
        self.restart(memory);
    }

    fn num_params(&self) -> i64 {
        self.learner.net.params().numel()
    }
}

#[cfg(test)]
impl<S: OnPolicy> OnPolicyAlgorithm<S> {
    /// Acts and learns as on a device, with these recordings.
    pub(super) fn record(&mut self, acting: Recording, steps: Recording) {
        (self.learner.acting, self.learner.steps) = (Some(acting), Some(steps));
    }
}
