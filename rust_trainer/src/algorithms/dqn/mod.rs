//! Deep Q-learning (Mnih et al. 2015), and what was added to it up to Rainbow (Hessel et al. 2018).
//!
//! Actions are ε-greedy, or greedy by noisy weights; each transition goes to the replay memory; for every
//! `train_frequency` agent steps the network learns from a batch of what is there; every `target_update`
//! such steps the target network becomes a copy of it.
//!
//! Several ranks have a replay memory together: each holds the transitions of its own environments, and all
//! draw the same batch out of those of all, of which each computes what it holds. The priorities are at
//! every rank, one number a transition.

mod fractions;
mod gradient;
mod loss;
mod replay_of_ranks;
mod state;

use std::ops::Range;

use rand_pcg::Pcg64;
use tch::{Device, Tensor, no_grad_guard};
use vec_env::{ActionBatch, ActionSpace, ObsSlot, ObsSpec, StepBatch, VecEnv};

pub use loss::{loss, target};

use super::{
    algorithm::{Algorithm, Learning, Metrics},
    in_hand::InHand,
    learner::Learner,
    nets::Blueprint,
    progress::Progress,
    schedule,
    state::State,
};
use crate::{
    data::{Priorities, Replay},
    error::TrainerError,
    nn::{QNet, QStyle, Returns},
    optimizer::Optimizer,
    policy::{EpsilonGreedy, Policy, epsilon_greedy, skip_epsilon_greedy},
    ranks::Ranks,
    settings::{Distributional, DqnSettings, Settings},
    tensors::obs_tensor,
};

impl DqnSettings {
    /// What these settings decide of the network.
    #[must_use]
    pub fn style(&self) -> QStyle {
        QStyle {
            layer_norm: false,
            dueling: self.dueling,
            noise: self.noisy.then_some(self.noisy_sigma),
            returns: match self.distributional {
                Distributional::None => Returns::Expected,
                Distributional::C51 => Returns::Categorical {
                    atoms: self.num_atoms,
                    low: self.v_min,
                    high: self.v_max,
                },
                Distributional::Quantile => Returns::Quantiles {
                    count: self.num_quantiles,
                },
                Distributional::Iqn => Returns::Implicit {
                    cosines: self.quantile_embedding_dim,
                    samples: self.num_quantile_samples,
                },
            },
        }
    }

    /// ε behind `steps` of `total_steps` agent steps; 0 where noisy weights explore.
    fn epsilon(&self, steps: u64, total_steps: u64) -> f64 {
        if self.noisy {
            return 0.0;
        }
        let falling = self.exploration_fraction * total_steps as f64;
        schedule::linear(self.start_e, self.end_e, steps as f64, falling)
    }
}

/// DQN with its settings.
#[derive(Debug)]
pub struct Dqn {
    settings: DqnSettings,
    obs_spec: ObsSpec,
    /// Environments of this rank.
    num_envs: usize,
    action_space: ActionSpace,
    total_steps: u64,
    learner: Learner<EpsilonGreedy>,
    target: QNet,
    /// The transitions of this rank's environments.
    replay: Replay,
    /// The priorities of those of all ranks.
    priorities: Option<Priorities>,
    in_hand: InHand,
    progress: Progress,
    /// Loss, value and norm of the gradient of each gradient step since the last update.
    terms: Vec<Tensor>,
}

impl Dqn {
    /// Fresh weights, drawn by the seed of `run`, and an empty replay memory: at one of several `ranks`, for
    /// its share of the environments.
    pub fn of_rank(
        settings: DqnSettings,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let (spec, num_envs, actions) = (env.obs_spec(), env.num_envs(), env.action_space());
        let new = |seed| Blueprint::new(run, (spec, actions), device, seed);
        let mut blueprint = new(run.run.seed);
        let net = blueprint.q_net(settings.style())?;
        let mut target = new(0).q_net(settings.style())?;
        target.params.copy_from(&net.params);
        let optimizer = Optimizer::adam(net.params.numel(), device, settings.adam_eps);
        let replay = new_replay(&settings, (spec, actions), num_envs, ranks)?;
        let priorities = new_priorities(&settings, &replay, ranks);
        let net = EpsilonGreedy {
            net,
            epsilon: settings.eval_e,
        };
        Ok(Self {
            obs_spec: spec.clone(),
            num_envs,
            action_space: actions.clone(),
            total_steps: run.run.total_steps,
            learner: Learner::new(net, optimizer, blueprint.rng, &run.machine, ranks),
            target,
            replay,
            priorities,
            in_hand: InHand::new(num_envs * spec.num_bytes()),
            progress: Progress::default(),
            terms: Vec::new(),
            settings,
        })
    }

    /// Probability of a random action.
    fn epsilon(&self) -> f64 {
        self.settings.epsilon(self.progress.steps, self.total_steps)
    }

    /// Exponent of the importance weights.
    fn beta(&self) -> f64 {
        let done = (self.progress.steps as f64 / self.total_steps as f64).min(1.0);
        self.settings.priority_beta + done * (1.0 - self.settings.priority_beta)
    }

    /// Numbers of the transitions, of all ranks, that can be drawn.
    fn held(&self) -> Range<u64> {
        of_all(&self.learner.ranks, &self.replay.held())
    }

    /// How many can be drawn at most, of all ranks.
    fn capacity(&self) -> u64 {
        (self.replay.capacity() * self.learner.ranks.count()) as u64
    }

    /// What the gradient steps since the last update say; not numbers where there were none.
    fn metrics(&self) -> Result<Metrics, TrainerError> {
        let means = if self.terms.is_empty() {
            Metrics(
                ["loss", "q_value", "grad_norm"]
                    .map(|name| (name, f64::NAN))
                    .into(),
            )
        } else {
            self.learner.metrics(&["loss", "q_value"], &self.terms)?
        };
        let held = self.held();
        let mut metrics = Metrics(vec![
            ("epsilon", self.epsilon()),
            ("replay_size", (held.end - held.start) as f64),
            ("gradient_steps", self.progress.gradient_steps as f64),
        ]);
        metrics.0.extend(means.0);
        Ok(metrics)
    }
}

impl Algorithm for Dqn {
    fn next_obs(&mut self) -> ObsSlot {
        self.in_hand.next_obs()
    }

    fn act(&mut self) -> Result<ActionBatch, TrainerError> {
        self.in_hand.begin(&mut self.replay)?;
        let obs = obs_tensor(self.replay.in_hand(), self.num_envs, &self.obs_spec)?;
        let (epsilon, obs) = (self.epsilon(), obs.to_device(self.learner.device()));
        let Learner {
            net, rng, ranks, ..
        } = &mut self.learner;
        let noise = net.net.draw_noise(rng);
        let fractions = fractions::of_actions(net.net.returns, self.num_envs, ranks, rng);
        let fractions = fractions.map(|drawn| drawn.to_device(obs.device()));
        let values = {
            let _guard = no_grad_guard();
            let outputs = net.net.forward(&obs, noise.as_ref(), fractions.as_ref());
            net.net.returns.mean(&outputs)
        };
        let num_actions = self.action_space.num_actions() as usize;
        let skip = |rng: &mut Pcg64| skip_epsilon_greedy(num_actions, epsilon, rng);
        let draw = |rng: &mut Pcg64| epsilon_greedy(&values, epsilon, rng).actions;
        let chosen = ranks.draw(rng, self.num_envs, skip, draw);
        self.in_hand.choose(&chosen);
        Ok(chosen)
    }

    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError> {
        let held_before = self.held();
        self.in_hand.observe(step, &mut self.replay)?;
        let (held, capacity) = (self.held(), self.capacity());
        if let Some(priorities) = &mut self.priorities {
            for number in held_before.end..held.end {
                priorities.push((number % capacity) as usize);
            }
        }
        let steps = (self.num_envs * self.learner.ranks.count()) as u64;
        let can_learn = held.end - held.start >= self.settings.learning_starts as u64;
        self.progress.count(steps, can_learn);
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
        self.progress.steps_of_update = 0;
        Ok(Learning::Done(metrics))
    }

    fn policy(&self) -> &dyn Policy {
        &self.learner.net
    }

    fn state(&self) -> Result<State, TrainerError> {
        self.to_state()
    }

    fn network_state(&self) -> State {
        State::of_network(self.learner.net.net.params.named())
    }

    /// Not within a gradient step that the optimizer has begun with and that did not come to its end.
    fn is_whole_between_steps(&self) -> bool {
        self.learner.optimizer.steps == self.progress.gradient_steps
    }

    fn load_state(&mut self, state: &State) -> Result<(), TrainerError> {
        self.take_state(state)
    }

    fn start_from(&mut self, state: &State) -> Result<(), TrainerError> {
        let net = &self.learner.net.net;
        state.copy_to(net.params.named())?;
        self.target.params.copy_from(&net.params);
        Ok(())
    }

    fn forget_games(&mut self) {
        self.in_hand.forget();
    }

    fn num_params(&self) -> i64 {
        self.learner.net.net.params.numel()
    }
}

fn new_replay(
    settings: &DqnSettings,
    spaces: (&ObsSpec, &ActionSpace),
    num_envs: usize,
    ranks: &Ranks,
) -> Result<Replay, TrainerError> {
    let capacity = Replay::capacity_of_rank(settings.replay_capacity, num_envs, ranks.count());
    Replay::new(spaces, num_envs, capacity, settings.n_step, settings.gamma)
}

fn new_priorities(settings: &DqnSettings, replay: &Replay, ranks: &Ranks) -> Option<Priorities> {
    let capacity = replay.capacity() * ranks.count();
    let new = || Priorities::new(capacity, settings.priority_alpha);
    settings.prioritized.then(new)
}

/// Numbers of transitions at one rank, whole steps of its environments, among those of all.
fn of_all(ranks: &Ranks, own: &Range<u64>) -> Range<u64> {
    let count = ranks.count() as u64;
    own.start * count..own.end * count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_weights_explore_alone() {
        let epsilon = |noisy| {
            let of = DqnSettings::default();
            DqnSettings { noisy, ..of }.epsilon(0, 100)
        };
        assert_eq!((epsilon(true), epsilon(false)), (0.0, 1.0));
    }
}
