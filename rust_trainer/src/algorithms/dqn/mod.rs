//! Deep Q-learning (Mnih et al. 2015), and what was added to it up to Rainbow (Hessel et al. 2018).
//!
//! Actions are ε-greedy, or greedy by noisy weights; each transition goes to the replay memory; for every
//! `train_frequency` agent steps the network learns from a batch of what is there; every `target_update`
//! such steps the target network becomes a copy of it.
//!
//! Several ranks have a replay memory together: each holds the transitions of its own environments, and all
//! draw the same batch out of those of all, of which each computes what it holds. The priorities are at
//! every rank, one number a transition.

mod divided;
mod loss;
mod settings;
mod state;

use std::ops::Range;

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Device, Kind, Tensor, no_grad_guard};
use vec_env::{ActionBatch, ObsBuffer, ObsSlot, ObsSpec, StepBatch, VecEnv};

pub use loss::{loss, target};
pub use settings::DqnSettings;

use super::{
    Algorithm, Learner, Learning, Metrics, State,
    learner::{Loss, Part},
};
use crate::{
    data::{Priorities, Replay, Transitions, obs_tensor},
    error::TrainerError,
    memory,
    nn::QNet,
    optimizer::Optimizer,
    parallel::{self, Shared},
    policy::{EpsilonGreedy, Policy, epsilon_greedy, seeded_rng, skip_epsilon_greedy, to_vec},
    ranks::{Ranks, launch::ranks_here},
    settings::Settings,
};

/// DQN with its settings.
#[derive(Debug)]
pub struct Dqn {
    settings: DqnSettings,
    obs_spec: ObsSpec,
    /// Environments of this rank.
    num_envs: usize,
    num_actions: i64,
    total_steps: u64,
    learner: Learner<EpsilonGreedy>,
    target: QNet,
    /// The transitions of this rank's environments.
    replay: Replay,
    /// The priorities of those of all ranks.
    priorities: Option<Priorities>,
    /// Where the environments write.
    arriving: ObsBuffer,
    /// Whether what arrives begins new episodes, and is not a step's.
    is_reset: bool,
    /// Actions chosen for the observations in hand.
    actions: Vec<i64>,
    progress: Progress,
    /// Loss, value and norm of the gradient of each gradient step since the last update.
    terms: Vec<Tensor>,
}

/// Transitions with the weights of their losses, `[batch]`; none where all count alike.
type Weighted = (Transitions, Option<Tensor>);

/// A batch drawn out of the transitions of all ranks.
struct Drawn {
    /// Their numbers, `step · environments of all ranks + environment`.
    numbers: Vec<u64>,
    /// The weights of their losses, none where all count alike.
    weights: Option<Vec<f32>>,
}

/// What of a batch this rank holds.
struct Own {
    /// Places in the batch.
    places: Vec<usize>,
    parts: Vec<Part<Weighted>>,
}

/// How far learning has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Progress {
    /// Agent steps, over all environments.
    steps: u64,
    /// Those of them since the last update.
    steps_of_update: u64,
    /// Those of them for which no gradient step was taken yet.
    steps_to_learn: u64,
    gradient_steps: u64,
}

impl Dqn {
    /// Fresh weights, drawn by the seed of `run`, and an empty replay memory: at one of several `ranks`, for
    /// its share of the environments.
    ///
    /// # Errors
    /// As [`super::of_rank`]; a replay memory larger than the machine's.
    pub fn of_rank(
        settings: DqnSettings,
        run: &Settings,
        env: &dyn VecEnv,
        device: Device,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let (spec, num_envs, actions) = (env.obs_spec(), env.num_envs(), env.action_space());
        check_memory(&settings, spec, num_envs, ranks)?;
        let mut rng = seeded_rng(run.run.seed);
        let (on, style) = ((device, run.machine.precision), settings.style());
        let net = QNet::new(spec, actions, &run.net, style, on, &mut rng)?;
        let mut target = QNet::new(spec, actions, &run.net, style, on, &mut seeded_rng(0))?;
        target.params.copy_from(&net.params);
        let optimizer = Optimizer::adam(net.params.numel(), device, settings.adam_eps);
        let replay = new_replay(&settings, spec, num_envs, ranks)?;
        let priorities = new_priorities(&settings, &replay, ranks);
        let net = EpsilonGreedy {
            net,
            epsilon: settings.eval_e,
        };
        Ok(Self {
            obs_spec: spec.clone(),
            num_envs,
            num_actions: actions.num_actions(),
            total_steps: run.run.total_steps,
            learner: Learner::new(net, optimizer, rng, None, &run.machine, ranks),
            target,
            replay,
            priorities,
            arriving: ObsBuffer::new(num_envs * spec.num_bytes()),
            is_reset: false,
            actions: Vec::new(),
            progress: Progress::default(),
            terms: Vec::new(),
            settings,
        })
    }

    /// The observations that have arrived; their memory stays with the replay memory, and the next ones
    /// get another.
    fn arrived(&mut self) -> Vec<u8> {
        let obs = self.arriving.take();
        self.arriving = ObsBuffer::new(obs.len());
        obs
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

    /// Draws a batch, the same at all ranks.
    fn draw(&self, rng: &mut Pcg64) -> Drawn {
        let (count, held) = (self.settings.batch_size, self.held());
        let Some(priorities) = &self.priorities else {
            let numbers = (0..count).map(|_| rng.random_range(held.clone()));
            return Drawn {
                numbers: numbers.collect(),
                weights: None,
            };
        };
        let leaves = priorities.sample(count, rng);
        let weights = priorities.weights(&leaves, (held.end - held.start) as usize, self.beta());
        let capacity = self.capacity();
        // Leaves are numbers modulo the capacity; those held are as many at most.
        let behind = |&leaf: &usize| (leaf as u64 + capacity - held.start % capacity) % capacity;
        let numbers = leaves.iter().map(|leaf| held.start + behind(leaf));
        Drawn {
            numbers: numbers.collect(),
            weights: Some(weights),
        }
    }

    /// The transitions of this rank in a batch with the weights of their losses, in as many parts as they
    /// are computed in.
    fn own(&self, drawn: &Drawn) -> Result<Own, TrainerError> {
        let (ranks, device) = (&self.learner.ranks, self.device());
        let batch = drawn.numbers.iter().enumerate();
        let own = batch.filter_map(|(place, &number)| {
            let own = ranks.own_index(number as i64, self.num_envs)?;
            Some((place, own as u64))
        });
        let (places, numbers): (Vec<usize>, Vec<u64>) = own.unzip();
        if places.is_empty() {
            // One that holds none takes part with a transition that counts for nothing.
            let any = self.replay.get(&[self.replay.held().start])?;
            let parts = vec![(0.0, (any.to_device(device), None))];
            return Ok(Own { places, parts });
        }
        let weights = drawn.weights.as_ref();
        let weights = weights.map(|weights| places.iter().map(|&place| weights[place]).collect());
        let weights: Option<Vec<f32>> = weights;
        let count = self.learner.num_parts(numbers.len());
        let mut weights = weights
            .as_deref()
            .map(|weights| parallel::split(weights, count));
        let parts = parallel::split(&numbers, count).map(|part| {
            let weights = weights.as_mut().and_then(Iterator::next);
            let weights = weights.map(|weights| Tensor::from_slice(weights).to_device(device));
            let share = part.len() as f64 / drawn.numbers.len() as f64;
            let transitions = self.replay.get(part)?.to_device(device);
            Ok((share, (transitions, weights)))
        });
        let parts = parts.collect::<Result<_, TrainerError>>()?;
        Ok(Own { places, parts })
    }

    /// One gradient step on a batch of transitions. Where it fails before the optimizer moves the weights,
    /// nothing has changed, nor has anything been drawn.
    fn gradient_step(&mut self) -> Result<(), TrainerError> {
        let mut rng = self.learner.rng.clone();
        let drawn = self.draw(&mut rng);
        let Own { places, parts } = self.own(&drawn)?;
        let net = &self.learner.net.net;
        let noise = net.draw_noise(&mut rng);
        let target_noise = self.target.draw_noise(&mut rng);
        let (noise, target_noise) = (Shared::new(&noise), Shared::new(&target_noise));
        let (returns, settings, target_net) = (
            self.target.returns,
            &self.settings,
            Shared::new(&self.target),
        );

        let loss = |net: &EpsilonGreedy, (batch, weights): Weighted| {
            let (net, noise) = (&net.net, noise.get().as_ref());
            let targets = {
                let _guard = no_grad_guard();
                let target_noise = target_noise.get().as_ref();
                let after = target_net.get().forward(&batch.next_obs, target_noise);
                // Chosen with the noise of the loss, as in Kaixhin's Rainbow; Fortunato et al. draw another.
                let judged = if settings.double_q {
                    net.forward(&batch.next_obs, noise)
                } else {
                    after.shallow_clone()
                };
                let best = returns.mean(&judged).argmax(1, false);
                let after = of_actions(&after, &best);
                target(returns, &after, &batch.returns, &batch.discounts)
            };
            let outputs = net.forward(&batch.obs, noise);
            let outputs = of_actions(&outputs, &batch.actions);
            let (losses, errors) = loss(returns, settings.huber, &outputs, &targets);
            let losses =
                weights.map_or_else(|| losses.shallow_clone(), |weights| &losses * weights);
            let total = losses.mean(Kind::Float);
            let value = returns.mean(&outputs).mean(Kind::Float);
            Loss {
                terms: vec![total.shallow_clone(), value],
                total,
                more: errors.detach(),
            }
        };
        let (max_grad_norm, rate) = (settings.max_grad_norm, settings.learning_rate);
        let (terms, errors) = self.learner.descend(parts, loss, max_grad_norm, rate)?;
        self.learner.rng = rng;
        self.learn_priorities(&drawn.numbers, &places, &errors)?;
        self.terms.push(terms);

        let gradient_steps = self.progress.gradient_steps + 1;
        if gradient_steps.is_multiple_of(self.settings.target_update) {
            self.target.params.copy_from(&self.learner.net.net.params);
        }
        self.progress.gradient_steps = gradient_steps;
        self.progress.steps_to_learn -= self.settings.train_frequency;
        Ok(())
    }

    /// Sets the priorities of a batch by how wrong the network was about it: this rank has the `errors` at its
    /// own `places`, in parts, and hears the others'.
    fn learn_priorities(
        &mut self,
        numbers: &[u64],
        places: &[usize],
        errors: &[Tensor],
    ) -> Result<(), TrainerError> {
        let capacity = self.capacity();
        let Some(priorities) = &mut self.priorities else {
            return Ok(());
        };
        let mut of_all = vec![0.0_f32; numbers.len()];
        for (&place, error) in places.iter().zip(to_vec::<f32>(&Tensor::cat(errors, 0))) {
            of_all[place] = error;
        }
        // Each place is one rank's, and the others add zero.
        let mut of_all = Tensor::from_slice(&of_all);
        self.learner.ranks.sum(&mut of_all)?;
        for (number, error) in numbers.iter().zip(to_vec::<f32>(&of_all)) {
            if !error.is_finite() {
                return Err(TrainerError::Diverged { what: "the error" });
            }
            priorities.set((number % capacity) as usize, f64::from(error));
        }
        Ok(())
    }

    /// What the gradient steps since the last update say; not numbers where there were none.
    fn metrics(&self) -> Result<Metrics, TrainerError> {
        let names = ["loss", "q_value", "grad_norm"];
        let means = if self.terms.is_empty() {
            Metrics(names.map(|name| (name, f64::NAN)).into())
        } else {
            let means = self.learner.metrics(&names, &self.terms)?;
            means.check()?;
            means
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
        self.is_reset = self.actions.is_empty();
        self.arriving.slot()
    }

    fn act(&mut self) -> Result<ActionBatch, TrainerError> {
        if std::mem::take(&mut self.is_reset) {
            let obs = self.arrived();
            self.replay.restart(obs)?;
        }
        let obs = obs_tensor(self.replay.in_hand(), self.num_envs, &self.obs_spec)?;
        let (epsilon, obs) = (self.epsilon(), obs.to_device(self.device()));
        let Learner {
            net, rng, ranks, ..
        } = &mut self.learner;
        let values = {
            let _guard = no_grad_guard();
            let noise = net.net.draw_noise(rng);
            net.net.returns.mean(&net.net.forward(&obs, noise.as_ref()))
        };
        let num_actions = self.num_actions as usize;
        let skip = |rng: &mut Pcg64| skip_epsilon_greedy(num_actions, epsilon, rng);
        let draw = |rng: &mut Pcg64| epsilon_greedy(&values, epsilon, rng).actions;
        let chosen = ranks.draw(rng, self.num_envs, skip, draw);
        if let ActionBatch::Discrete(actions) = &chosen {
            self.actions.clone_from(actions);
        }
        Ok(chosen)
    }

    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError> {
        let obs = self.arrived();
        let held_before = self.held();
        self.replay
            .push(&std::mem::take(&mut self.actions), step, obs)?;
        let (held, capacity) = (self.held(), self.capacity());
        if let Some(priorities) = &mut self.priorities {
            for number in held_before.end..held.end {
                priorities.push((number % capacity) as usize);
            }
        }
        let steps = (self.num_envs * self.learner.ranks.count()) as u64;
        self.progress.steps += steps;
        self.progress.steps_of_update += steps;
        if held.end - held.start >= self.settings.learning_starts as u64 {
            self.progress.steps_to_learn += steps;
        }
        Ok(())
    }

    fn learn(&mut self, should_stop: &mut dyn FnMut() -> bool) -> Result<Learning, TrainerError> {
        while self.progress.steps_to_learn >= self.settings.train_frequency {
            if should_stop() {
                return Ok(Learning::BrokenOff);
            }
            self.gradient_step()?;
        }
        let Progress {
            steps,
            steps_of_update,
            ..
        } = self.progress;
        let is_over = steps >= self.total_steps && steps_of_update > 0;
        if steps_of_update < self.settings.steps_per_update && !is_over {
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

    fn state_to_play(&self) -> Result<State, TrainerError> {
        self.learned()
    }

    /// Not within a gradient step that the optimizer has begun with and that did not come to its end.
    fn is_whole_between_steps(&self) -> bool {
        self.learner.optimizer.steps == self.progress.gradient_steps
    }

    fn load_state(&mut self, state: &State) -> Result<(), TrainerError> {
        self.take_state(state)
    }

    /// What was under way ends behind the observations in hand, as soon as those of new games are there:
    /// see [`Replay::restart`].
    fn forget_games(&mut self) {
        self.actions.clear();
    }

    fn num_params(&self) -> i64 {
        self.learner.net.net.params.numel()
    }

    fn device(&self) -> Device {
        self.learner.net.net.params.device()
    }
}

/// The numbers of one action each: `[batch, num_actions, outputs]` → `[batch, outputs]`.
fn of_actions(outputs: &Tensor, actions: &Tensor) -> Tensor {
    let size = outputs.size();
    let index = actions
        .view([-1, 1, 1])
        .expand([size[0], 1, size[2]], false);
    outputs.gather(1, &index, false).squeeze_dim(1)
}

/// Transitions that each rank holds: those of its environments, of as many steps as make the capacity.
fn capacity_of_rank(settings: &DqnSettings, num_envs: usize, ranks: &Ranks) -> usize {
    let of_all = num_envs * ranks.count();
    settings.replay_capacity.div_ceil(of_all) * num_envs
}

fn new_replay(
    settings: &DqnSettings,
    spec: &ObsSpec,
    num_envs: usize,
    ranks: &Ranks,
) -> Result<Replay, TrainerError> {
    let capacity = capacity_of_rank(settings, num_envs, ranks);
    Replay::new(spec, num_envs, capacity, settings.n_step, settings.gamma)
}

fn new_priorities(settings: &DqnSettings, replay: &Replay, ranks: &Ranks) -> Option<Priorities> {
    let capacity = replay.capacity() * ranks.count();
    let new = || Priorities::new(capacity, settings.priority_alpha);
    settings.prioritized.then(new)
}

/// Refuses a replay memory that the machine has no room for, be it in parts: of the ranks on it, and where
/// rank 0 is, once more whole, as it is gathered there for a checkpoint.
fn check_memory(
    settings: &DqnSettings,
    spec: &ObsSpec,
    num_envs: usize,
    ranks: &Ranks,
) -> Result<(), TrainerError> {
    let capacity = capacity_of_rank(settings, num_envs, ranks);
    let bytes = Replay::num_bytes(spec, num_envs, capacity, settings.n_step);
    let is_gathered = ranks.is_first() && !ranks.is_alone();
    let copies = ranks_here() + if is_gathered { ranks.count() } else { 0 };
    let bytes = bytes.saturating_mul(copies);
    memory::check("replay_capacity", settings.replay_capacity, bytes)
}

/// Numbers of transitions at one rank, whole steps of its environments, among those of all.
fn of_all(ranks: &Ranks, own: &Range<u64>) -> Range<u64> {
    let count = ranks.count() as u64;
    own.start * count..own.end * count
}
