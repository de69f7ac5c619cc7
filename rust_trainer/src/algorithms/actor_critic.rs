//! What PPO and A2C share: they collect a rollout with the present policy, learn from it, forget it.

use serde_json::json;
use tch::Device;
use vec_env::{ActionBatch, ActionSpace, ObsSlot, ObsSpec, StepBatch, VecEnv};

use super::{
    Algorithm, Learner, Learning, Metrics, State,
    learner::AllSamples,
    problems, recording,
    schedule::Updates,
    statistics::{NORM_OBS, NORM_REWARD, load_obs_normalizer, load_reward_normalizer},
};
use crate::{
    cuda::Recording,
    data::{Rollout, Samples, advantage::gae, truncated_obs},
    error::TrainerError,
    nn::{Memory, PolicyValueNet},
    normalize::{ObsNormalizer, RewardNormalizer},
    optimizer::Optimizer,
    policy::{Policy, choose, choose_recorded, skip, values},
    random::seeded_rng,
    ranks::Ranks,
    settings::Settings,
    tensors::obs_tensor,
};

/// What tells one actor-critic algorithm from another: its settings, and how it learns from a rollout.
pub trait OnPolicy: 'static {
    /// The settings that all of them have.
    fn shared(&self) -> Shared;

    /// A fresh optimizer.
    fn optimizer(&self, num_params: i64, device: Device) -> Optimizer;

    /// Learns from a full rollout, and from those of other ranks; `None` where `should_stop`, asked before each gradient step, said yes.
    ///
    /// # Errors
    /// [`TrainerError::Diverged`].
    fn update(
        &self,
        learner: &mut Learner<PolicyValueNet>,
        rollout: &mut Rollout,
        samples: (&Samples, &AllSamples),
        learning_rate: f64,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Metrics>, TrainerError>;
}

/// The settings of an [`OnPolicy`] algorithm that collecting needs.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Agent steps of each environment between two updates.
    pub num_steps: usize,
    /// Discount factor.
    pub gamma: f64,
    /// λ of generalized advantage estimation.
    pub gae_lambda: f64,
    /// Learning rate of the first update.
    pub learning_rate: f64,
    /// It falls linearly to zero over the run.
    pub anneal_lr: bool,
    /// Observations are normalized.
    pub norm_obs: bool,
    /// Rewards are normalized.
    pub norm_reward: bool,
    /// Size of the LSTM, 0 for none.
    pub lstm_size: i64,
}

/// An actor-critic algorithm with its settings `S`.
#[derive(Debug)]
pub struct ActorCritic<S> {
    settings: S,
    learner: Learner<PolicyValueNet>,
    /// Acting on a device, where actions are discrete and nothing is remembered; else it is done as it comes.
    acting: Option<Recording>,
    rollout: Rollout,
    reward_normalizer: Option<RewardNormalizer>,
    /// The newest observations are a reset's, as the environments made them.
    is_reset: bool,
    /// Of each group of environments, of the observations before its newest.
    memories: Vec<Memory>,
    num_envs: usize,
    obs_spec: ObsSpec,
    updates: Updates,
}

impl<S: OnPolicy> ActorCritic<S> {
    /// Fresh weights, drawn by the seed of `run`.
    ///
    /// # Errors
    /// As [`super::new`].
    pub fn new(
        settings: S,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
    ) -> Result<Self, TrainerError> {
        Self::of_rank(settings, run, env, device, &Ranks::alone())
    }

    /// The same at one of several ranks, for its share of the environments.
    ///
    /// # Errors
    /// As [`super::of_rank`].
    pub fn of_rank(
        settings: S,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let (spec, actions) = (env.obs_spec(), env.action_space());
        let mut rng = seeded_rng(run.run.seed);
        let (body, precision) = (&run.net, run.machine.precision);
        let Shared {
            num_steps,
            norm_obs,
            norm_reward,
            lstm_size,
            ..
        } = settings.shared();
        let mut net =
            PolicyValueNet::new(spec, actions, body, lstm_size, device, precision, &mut rng)?;
        net.obs_normalizer = norm_obs.then(|| ObsNormalizer::new(spec)).transpose()?;
        let optimizer = settings.optimizer(net.params.numel(), device);
        let rollout = Rollout::of_envs(env, num_steps, net.new_memory(env.num_envs()), device)?
            .streamed(run.machine.cuda_streams)?;
        let num_rewards = env.num_envs() * ranks.count();
        let recorded = || recording(&run.machine, device, ranks).filter(|_| lstm_size == 0);
        let is_discrete = matches!(actions, ActionSpace::Discrete { .. });
        Ok(Self {
            settings,
            acting: recorded().filter(|_| is_discrete),
            updates: Updates::of(run.run.total_steps, &rollout, ranks),
            memories: net.new_memory(env.num_envs()).split(rollout.num_groups()),
            learner: Learner::new(net, optimizer, rng, recorded(), &run.machine, ranks),
            rollout,
            reward_normalizer: norm_reward.then(|| RewardNormalizer::new(num_rewards)),
            is_reset: false,
            num_envs: env.num_envs(),
            obs_spec: spec.clone(),
        })
    }

    fn learning_rate(&self) -> f64 {
        let Shared {
            learning_rate,
            anneal_lr,
            ..
        } = self.settings.shared();
        self.updates.learning_rate(learning_rate, anneal_lr)
    }

    /// Takes the observations written last, at all ranks, into the statistics and normalizes those of this
    /// one in their place, once.
    fn normalize_obs(&mut self) -> Result<(), TrainerError> {
        if let Some(normalizer) = &mut self.learner.net.obs_normalizer {
            let mut obs = self.rollout.next_obs();
            normalizer.update(&self.learner.ranks.all_gather(&obs)?.concat());
            normalizer.apply(&mut obs);
        }
        Ok(())
    }

    /// The rewards of a step to learn from, by the statistics of all ranks where they are normalized.
    fn rewards(&mut self, step: &StepBatch, gamma: f64) -> Result<Vec<f32>, TrainerError> {
        let Some(normalizer) = &mut self.reward_normalizer else {
            return Ok(step.reward.clone());
        };
        let ranks = &self.learner.ranks;
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
}

impl<S: OnPolicy> Algorithm for ActorCritic<S> {
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
            self.normalize_obs()?;
            if let Some(normalizer) = &mut self.reward_normalizer {
                normalizer.restart();
            }
        }
        let obs = self.rollout.obs_in_turn();
        let memory = &mut self.memories[self.rollout.turns().0];
        let Learner {
            net,
            rng,
            ranks,
            threads,
            ..
        } = &mut self.learner;
        let choice = match &mut self.acting {
            Some(recording) => choose_recorded(recording, net, &obs, rng),
            None => ranks.draw(
                rng,
                obs.size()[0] as usize,
                |rng| skip(net.action_space(), rng),
                |rng| choose(net, &obs, memory, rng, false, *threads),
            ),
        };
        let actions = net.action_space().clipped(&choice.actions);
        self.rollout.add_choice(choice);
        Ok(actions)
    }

    /// A truncated episode's last reward has γV of its last observation added, by what is remembered of
    /// that episode: see [`truncated_obs`].
    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError> {
        self.normalize_obs()?;
        let gamma = self.settings.shared().gamma;
        let mut rewards = self.rewards(step, gamma)?;
        let group = self.rollout.turns().1;
        for (row, bytes) in truncated_obs(step)? {
            let obs = obs_tensor(bytes, 1, &self.obs_spec)?.to_device(self.device());
            let net = &self.learner.net;
            let memory = self.memories[group].select(&[row as i64]);
            rewards[row] += gamma as f32 * values(net, &net.normalized(&obs), &memory)[0];
        }
        let dones = (0..rewards.len()).map(|row| step.is_done(row));
        let dones: Vec<bool> = dones.collect();
        self.memories[group].forget(&dones);
        self.rollout.add_step(&rewards, dones);
        Ok(())
    }

    fn learn(&mut self, should_stop: &mut dyn FnMut() -> bool) -> Result<Learning, TrainerError> {
        if !self.rollout.is_full() {
            return Ok(Learning::NotYet);
        }
        let shared = self.settings.shared();
        let memory = Memory::joined(&self.memories);
        let last_values = values(&self.learner.net, &self.rollout.newest_obs(), &memory);
        let advantages = gae(
            &self.rollout.rewards,
            &self.rollout.values,
            &self.rollout.dones,
            &last_values,
            shared.gamma,
            shared.gae_lambda,
        );
        let samples = self.rollout.samples(&advantages);
        let all = self.learner.gather(&self.rollout, &samples)?;
        let learning_rate = self.learning_rate();
        let (learner, rollout) = (&mut self.learner, &mut self.rollout);
        let update = self.settings.update(
            learner,
            rollout,
            (&samples, &all),
            learning_rate,
            should_stop,
        )?;
        let Some(update) = update else {
            return Ok(Learning::BrokenOff);
        };
        update.check()?;
        self.rollout.restart(memory);
        self.updates.done += 1;
        let mut metrics = Metrics(vec![("learning_rate", learning_rate)]);
        metrics.0.extend(update.0);
        let explained_variance = all.explained_variance();
        metrics.0.push(("explained_variance", explained_variance));
        Ok(Learning::Done(metrics))
    }

    fn policy(&self) -> &dyn Policy {
        &self.learner.net
    }

    fn state(&self) -> Result<State, TrainerError> {
        let ranks = &self.learner.ranks;
        let obs = ranks.rows_at_first(&self.rollout.obs_in_hand(), 0)?;
        let memory = Memory::joined(&self.memories);
        let memory = memory.named().map(|(name, state)| {
            let all = ranks.rows_at_first(state, Memory::ENVS);
            all.map(|all| (name, all))
        });
        let memory: Vec<_> = memory.collect::<Result<_, _>>()?;
        let memory = memory.iter().map(|(name, state)| (*name, state));
        let in_hand: Vec<_> = memory.chain([(Rollout::OBS_IN_HAND, &obs)]).collect();
        let mut state = self.learner.state(&in_hand)?;
        let values = &mut state.values;
        values.insert("updates".to_owned(), json!(self.updates.done));
        if let Some(normalizer) = &self.learner.net.obs_normalizer {
            values.insert(NORM_OBS.to_owned(), json!(normalizer));
        }
        if let Some(normalizer) = &self.reward_normalizer {
            values.insert(NORM_REWARD.to_owned(), json!(normalizer));
        }
        Ok(state)
    }

    fn load_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let (updates, obs) = (state.value("updates")?, self.rollout.obs_in_hand());
        let obs = self.learner.ranks.room_for_all(&obs, 0);
        let has_any = self.learner.net.obs_normalizer.is_some();
        let obs_normalizer = has_any.then(|| load_obs_normalizer(state, &self.obs_spec));
        let obs_normalizer = obs_normalizer.transpose()?;
        let reward_normalizer = match &self.reward_normalizer {
            Some(present) => Some(load_reward_normalizer(state, present.num_envs())?),
            None => None,
        };
        let num_envs = self.num_envs * self.learner.ranks.count();
        let memory = self.learner.net.new_memory(num_envs);
        let in_hand = memory.named().chain([(Rollout::OBS_IN_HAND, &obs)]);
        let in_hand: Vec<_> = in_hand.collect();
        self.learner.load_state(state, &in_hand)?;
        self.learner.net.obs_normalizer = obs_normalizer;
        self.reward_normalizer = reward_normalizer;
        self.is_reset = false;
        self.updates.done = updates;
        let own = self.learner.ranks.share(num_envs);
        let memory = memory.select(&own.map(|env| env as i64).collect::<Vec<_>>());
        self.memories = memory.split(self.memories.len());
        self.rollout.restart(memory); // what another policy did is not this one's to learn from
        let own = self.learner.ranks.own_rows(&obs, 0);
        self.rollout.set_obs_in_hand(&own)
    }

    fn notices(&mut self) -> Vec<String> {
        problems([
            ("acting", &mut self.acting),
            ("a gradient step", &mut self.learner.steps),
        ])
    }

    fn forget_games(&mut self) {
        let memory = self.learner.net.new_memory(self.num_envs);
        self.memories = memory.split(self.memories.len());
        self.rollout.restart(memory);
    }

    fn num_params(&self) -> i64 {
        self.learner.net.params.numel()
    }

    fn device(&self) -> Device {
        self.learner.net.params.device()
    }
}

#[cfg(test)]
impl<S> ActorCritic<S> {
    /// Acts and learns as on a device, with these recordings.
    pub(super) fn record(&mut self, acting: Recording, steps: Recording) {
        (self.acting, self.learner.steps) = (Some(acting), Some(steps));
    }
}
