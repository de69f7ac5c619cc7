//! Parallelized Q-network (Gallici et al. 2024, "Simplifying Deep Temporal Difference Learning"): Q-learning
//! without a replay memory and without a target network. Many environments in parallel take the place of
//! the one, layer normalization that of the other.
//!
//! A rollout of ε-greedy steps is learned from in a few epochs of minibatches, and forgotten. The targets
//! are the λ-returns of Peng's Q(λ) (Peng & Williams 1994):
//! `G_t = r_t + γ(1 − d_t)((1 − λ) max Q(s_{t+1}) + λ G_{t+1})`, with `d_t` 1 where the episode ended;
//! which is to say `max Q(s_t)` and the generalized advantage over it.

use rand_pcg::Pcg64;
use serde_json::json;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionBatch, ObsSlot, ObsSpec, StepBatch, VecEnv};

use super::{
    Algorithm, Learner, Learning, Metrics, State,
    learner::{AllSamples, Loss as PartLoss},
    minibatches::{Descent, Minibatches},
    problems, recording,
    schedule::{self, Updates},
};
use crate::{
    cuda::Recording,
    data::{Batch, Rollout, Samples, advantage::gae, truncated_obs},
    error::TrainerError,
    nn::{Memory, QNet, QStyle},
    optimizer::Optimizer,
    parallel,
    policy::{EpsilonGreedy, Policy, epsilon_greedy, epsilon_greedy_recorded, skip_epsilon_greedy},
    random::seeded_rng,
    ranks::Ranks,
    settings::{PqnSettings, Settings},
    tensors::{obs_tensor, to_vec},
};

impl PqnSettings {
    /// The network.
    pub(super) fn style(&self) -> QStyle {
        QStyle {
            layer_norm: self.layer_norm,
            ..QStyle::default()
        }
    }

    /// ε in the rollout behind `updates` of `num_updates` updates.
    fn epsilon(&self, updates: u64, num_updates: u64) -> f64 {
        let falling = self.exploration_fraction * num_updates as f64;
        schedule::linear(self.start_e, self.end_e, updates as f64, falling)
    }
}

/// Half the mean squared error of the values of the actions taken; `q_values` are `[samples, num_actions]`.
pub fn loss(q_values: &Tensor, samples: &Samples) -> Tensor {
    let error = taken(q_values, samples) - &samples.returns;
    error.square().mean(Kind::Float) * 0.5
}

/// The values of the actions taken, `[samples]`.
fn taken(q_values: &Tensor, samples: &Samples) -> Tensor {
    let values = q_values.gather(1, &samples.actions.unsqueeze(1), false);
    values.squeeze_dim(1)
}

/// PQN with its settings.
#[derive(Debug)]
pub struct Pqn {
    settings: PqnSettings,
    learner: Learner<EpsilonGreedy>,
    /// Acting on a device; on the CPU it is done as it comes.
    acting: Option<Recording>,
    rollout: Rollout,
    obs_spec: ObsSpec,
    updates: Updates,
}

impl Pqn {
    /// Fresh weights, drawn by the seed of `run`.
    ///
    /// # Errors
    /// As [`super::new`].
    pub fn new(
        settings: PqnSettings,
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
        settings: PqnSettings,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let (spec, actions) = (env.obs_spec(), env.action_space());
        let mut rng = seeded_rng(run.run.seed);
        let (on, style) = ((device, run.machine.precision), settings.style());
        let net = QNet::new(spec, actions, &run.net, style, on, &mut rng)?;
        let optimizer = Optimizer::radam(net.params.numel(), device);
        let memory = Memory::default();
        let rollout = Rollout::of_envs(env, settings.num_steps, memory, device)?
            .streamed(run.machine.cuda_streams)?;
        let recorded = || recording(&run.machine, device, ranks);
        let net = EpsilonGreedy {
            net,
            epsilon: settings.end_e,
        };
        Ok(Self {
            settings,
            learner: Learner::new(net, optimizer, rng, recorded(), &run.machine, ranks),
            acting: recorded(),
            updates: Updates::of(run.run.total_steps, &rollout, ranks),
            rollout,
            obs_spec: spec.clone(),
        })
    }

    fn epsilon(&self) -> f64 {
        let Updates { done, total } = self.updates;
        self.settings.epsilon(done, total)
    }

    fn learning_rate(&self) -> f64 {
        let PqnSettings {
            learning_rate,
            anneal_lr,
            ..
        } = self.settings;
        self.updates.learning_rate(learning_rate, anneal_lr)
    }

    fn q_values(&self, obs: &Tensor) -> Tensor {
        let Learner { net, threads, .. } = &self.learner;
        parallel::forward(&net.net, obs, *threads, QNet::values)
    }

    /// The greatest action value of each observation.
    fn values(&self, obs: &Tensor) -> Vec<f32> {
        to_vec(&self.q_values(obs).amax([1], false))
    }

    /// `update_epochs` passes over `num_minibatches` minibatches, drawn anew for each pass without
    /// replacement. The metrics are means over all of them; `None` where `should_stop` said yes.
    fn update(
        &mut self,
        samples: (&Samples, &AllSamples),
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Metrics>, TrainerError> {
        let (settings, learning_rate) = (&self.settings, self.learning_rate());
        let how = Descent {
            norm_adv: false,
            max_grad_norm: settings.max_grad_norm,
            learning_rate,
        };
        let (learner, rollout) = (&mut self.learner, &mut self.rollout);
        let passes = (settings.update_epochs, settings.num_minibatches);
        let minibatches = Minibatches::draw(learner, rollout, passes, learning_rate);
        let mut terms = Vec::new();
        for minibatch in minibatches.iter() {
            if should_stop() {
                return Ok(None);
            }
            let loss = |net: &EpsilonGreedy, (batch, samples): (Batch, Samples)| {
                let q_values = net.net.values(&batch.obs);
                let mean = taken(&q_values, &samples).mean(Kind::Float);
                let loss = loss(&q_values, &samples);
                PartLoss::new(loss.shallow_clone(), vec![loss, mean])
            };
            terms.push(learner.step(rollout, samples, &minibatch, how, loss)?);
        }
        let names = ["q_loss", "q_value", "grad_norm"];
        self.learner.metrics(&names, &terms).map(Some)
    }
}

impl Algorithm for Pqn {
    fn next_obs(&mut self) -> ObsSlot {
        self.rollout.next_obs()
    }

    fn can_act(&self) -> bool {
        self.rollout.can_act()
    }

    fn act(&mut self) -> Result<ActionBatch, TrainerError> {
        let (obs, epsilon) = (self.rollout.obs_in_turn(), self.epsilon());
        let choice = if let Some(recording) = &mut self.acting {
            let Learner { net, rng, .. } = &mut self.learner;
            epsilon_greedy_recorded(recording, &net.net, &obs, epsilon, rng)
        } else {
            let q_values = self.q_values(&obs);
            let (rows, num_actions) = (q_values.size()[0] as usize, q_values.size()[1] as usize);
            let Learner { rng, ranks, .. } = &mut self.learner;
            let skip = |rng: &mut Pcg64| skip_epsilon_greedy(num_actions, epsilon, rng);
            let draw = |rng: &mut Pcg64| epsilon_greedy(&q_values, epsilon, rng);
            ranks.draw(rng, rows, skip, draw)
        };
        let actions = choice.actions.clone();
        self.rollout.add_choice(choice);
        Ok(actions)
    }

    /// A truncated episode's last reward has γ max Q of its last observation added: see
    /// [`truncated_obs`].
    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError> {
        let mut rewards = step.reward.clone();
        for (row, bytes) in truncated_obs(step)? {
            let obs = obs_tensor(bytes, 1, &self.obs_spec)?.to_device(self.device());
            rewards[row] += self.settings.gamma as f32 * self.values(&obs)[0];
        }
        let dones = (0..rewards.len()).map(|row| step.is_done(row));
        self.rollout.add_step(&rewards, dones);
        Ok(())
    }

    fn learn(&mut self, should_stop: &mut dyn FnMut() -> bool) -> Result<Learning, TrainerError> {
        if !self.rollout.is_full() {
            return Ok(Learning::NotYet);
        }
        let newest = self.rollout.newest_obs();
        let advantages = gae(
            &self.rollout.rewards,
            &self.rollout.values,
            &self.rollout.dones,
            &self.values(&newest),
            self.settings.gamma,
            self.settings.q_lambda,
        );
        let samples = self.rollout.samples(&advantages);
        let all = self.learner.gather(&self.rollout, &samples)?;
        let mut metrics = Metrics(vec![
            ("learning_rate", self.learning_rate()),
            ("epsilon", self.epsilon()),
        ]);
        let Some(update) = self.update((&samples, &all), should_stop)? else {
            return Ok(Learning::BrokenOff);
        };
        update.check()?;
        self.rollout.restart(Memory::default());
        self.updates.done += 1;
        metrics.0.extend(update.0);
        let explained_variance = all.explained_variance();
        metrics.0.push(("explained_variance", explained_variance));
        Ok(Learning::Done(metrics))
    }

    fn policy(&self) -> &dyn Policy {
        &self.learner.net
    }

    fn state(&self) -> Result<State, TrainerError> {
        let obs = self.rollout.obs_in_hand();
        let obs = self.learner.ranks.rows_at_first(&obs, 0)?;
        let mut state = self.learner.state(&[(Rollout::OBS_IN_HAND, &obs)])?;
        let updates = json!(self.updates.done);
        state.values.insert("updates".to_owned(), updates);
        Ok(state)
    }

    fn load_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let (updates, obs) = (state.value("updates")?, self.rollout.obs_in_hand());
        let obs = self.learner.ranks.room_for_all(&obs, 0);
        let in_hand = [(Rollout::OBS_IN_HAND, &obs)];
        self.learner.load_state(state, &in_hand)?;
        self.updates.done = updates;
        self.rollout.restart(Memory::default()); // what another policy did is not this one's to learn from
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
        self.rollout.restart(Memory::default());
    }

    fn num_params(&self) -> i64 {
        self.learner.net.net.params.numel()
    }

    fn device(&self) -> Device {
        self.learner.net.net.params.device()
    }
}

#[cfg(test)]
impl Pqn {
    /// Acts and learns as on a device, with these recordings.
    pub(super) fn record(&mut self, acting: Recording, steps: Recording) {
        (self.acting, self.learner.steps) = (Some(acting), Some(steps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_falls_linearly_and_stays() {
        let settings = PqnSettings {
            start_e: 1.0,
            end_e: 0.1,
            exploration_fraction: 0.5,
            ..PqnSettings::default()
        };
        for (updates, expected) in [
            (0, 1.0),
            (1, 0.82),
            (4, 0.28),
            (5, 0.1),
            (9, 0.1),
            (10, 0.1),
        ] {
            let epsilon = settings.epsilon(updates, 10);
            assert!((epsilon - expected).abs() < 1e-12, "{updates}: {epsilon}");
        }
        let never = PqnSettings {
            exploration_fraction: 0.0,
            ..settings
        };
        assert!((never.epsilon(0, 10) - 0.1).abs() < 1e-12);
    }
}
