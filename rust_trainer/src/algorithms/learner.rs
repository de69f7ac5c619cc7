//! What gradient steps change, whichever algorithm asks for them.

use rand_pcg::Pcg64;
use serde_json::{Map, json};
use tch::{Device, Tensor};

use super::{Metrics, State};
use crate::{
    cuda::Recording,
    data::{Batch, Rollout, Samples, explained_variance, moments},
    error::TrainerError,
    nn::Network,
    optimizer::{Optimizer, clip_grad_norm},
    parallel::{self, Shared, Threads},
    ranks::Ranks,
    settings::MachineSettings,
    tensors::to_vec,
};

/// A network, its optimizer, and the random numbers of an algorithm.
#[derive(Debug)]
pub struct Learner<N> {
    /// What is trained.
    pub net: N,
    /// Its optimizer.
    pub optimizer: Optimizer,
    /// Draws the actions and shuffles the minibatches. On the host and of our own, so that every device
    /// samples alike and a checkpoint can hold it.
    pub rng: Pcg64,
    /// What computes its gradients.
    pub threads: Threads,
    /// Gradient steps on a device, recorded; none where they are computed in parts: on the CPU, for a
    /// network with a memory, and at one of several ranks.
    pub steps: Option<Recording>,
    /// Who else learns the same.
    pub ranks: Ranks,
}

/// Samples of a rollout of all ranks, float32 `[num_steps · envs of all ranks]`, step-major; on the device of
/// the network.
pub struct AllSamples {
    advantages: Tensor,
    values: Tensor,
}

/// What a part of a minibatch says: means over its samples.
pub(super) struct Loss<More = ()> {
    /// What is minimized, a scalar.
    pub total: Tensor,
    /// What is reported, scalars.
    pub terms: Vec<Tensor>,
    /// Whatever else the algorithm wants of it.
    pub more: More,
}

impl Loss {
    pub fn new(total: Tensor, terms: Vec<Tensor>) -> Self {
        Self {
            total,
            terms,
            more: (),
        }
    }
}

/// A part of a minibatch, and its share of the samples.
pub(super) type Part<P> = (f64, P);

impl AllSamples {
    /// Mean and deviation of the advantages of these `sequences` of `length` steps each, scalars.
    fn moments(&self, sequences: &[i64], length: usize, num_envs: usize) -> (Tensor, Tensor) {
        let steps = (0..length as i64).map(|step| step * num_envs as i64);
        let indices = steps.flat_map(|first| sequences.iter().map(move |index| first + index));
        let indices = Tensor::from_slice(&indices.collect::<Vec<i64>>());
        let indices = indices.to_device(self.advantages.device());
        moments(&self.advantages.index_select(0, &indices))
    }

    /// Explained variance of the value function: see [`explained_variance`].
    pub fn explained_variance(&self) -> f64 {
        explained_variance(&(&self.advantages + &self.values), &self.values)
    }
}

impl<N: Network> Learner<N> {
    /// A fresh one at one of the `ranks`; its gradient steps are recorded in `steps`.
    pub(super) fn new(
        net: N,
        optimizer: Optimizer,
        rng: Pcg64,
        steps: Option<Recording>,
        machine: &MachineSettings,
        ranks: &Ranks,
    ) -> Self {
        Self {
            threads: Threads::new(machine, net.params().device()),
            net,
            optimizer,
            rng,
            steps,
            ranks: ranks.clone(),
        }
    }

    /// The samples of this rank among these `sequences` of a full rollout, in as many parts as they are
    /// computed in; with `norm_adv` their advantages are normalized over all parts of all ranks together.
    /// Sequences are numbered over all ranks, [`Learner::num_sequences`] of them.
    pub(super) fn parts(
        &self,
        rollout: &mut Rollout,
        (samples, all): (&Samples, &AllSamples),
        sequences: &[i64],
        norm_adv: bool,
    ) -> Vec<Part<(Batch, Samples)>> {
        let length = rollout.num_samples() / rollout.num_sequences();
        let num_samples = sequences.len() * length;
        let mut own = self.ranks.own(sequences, rollout.envs_per_group());
        // One that has none takes part with a sample that counts for nothing.
        let weight = if own.is_empty() { 0.0 } else { 1.0 };
        own.resize(own.len().max(1), 0);
        let count = self.num_parts(own.len() * length).min(own.len());
        let batches: Vec<Batch> = parallel::split(&own, count)
            .map(|sequences| rollout.batch(sequences))
            .collect();
        let is_alone = self.ranks.is_alone();
        let mut samples = samples.of_batches(&batches, norm_adv && is_alone);
        if norm_adv && !is_alone {
            let num_envs = rollout.num_envs() * self.ranks.count();
            let moments = all.moments(sequences, length, num_envs);
            let normalized = samples.into_iter().map(|part| part.normalized_by(&moments));
            samples = normalized.collect();
        }
        let share = |batch: &Batch| weight * batch.indices.len() as f64 / num_samples as f64;
        let parts = batches.into_iter().zip(samples);
        parts.map(|part| (share(&part.0), part)).collect()
    }

    /// Number of sequences, of all ranks together, that a minibatch takes whole.
    pub(super) fn num_sequences(&self, rollout: &Rollout) -> i64 {
        (rollout.num_sequences() * self.ranks.count()) as i64
    }

    /// What learning from a rollout needs of the samples of all ranks.
    ///
    /// # Errors
    /// [`TrainerError::Lost`].
    pub(super) fn gather(
        &self,
        rollout: &Rollout,
        samples: &Samples,
    ) -> Result<AllSamples, TrainerError> {
        let num_envs = rollout.envs_per_group() as i64;
        let all = |numbers: &Tensor| -> Result<Tensor, TrainerError> {
            let by_step = numbers.view([-1, num_envs]);
            Ok(self.ranks.all_rows(&by_step, 1)?.reshape([-1]))
        };
        Ok(AllSamples {
            advantages: all(&samples.advantages)?,
            values: all(&samples.values)?,
        })
    }

    /// The mean of each term over several gradient steps, which [`Learner::descend`] returned: of all
    /// ranks' samples, and the gradient's norm, which is the same at each.
    ///
    /// # Errors
    /// [`TrainerError::Lost`].
    pub(super) fn metrics(
        &self,
        names: &[&'static str],
        terms: &[Tensor],
    ) -> Result<Metrics, TrainerError> {
        let mut metrics = Metrics::mean_of(names, terms);
        if self.ranks.is_alone() {
            return Ok(metrics);
        }
        let own = metrics.0.iter().map(|(_, value)| *value);
        let mut sums = Tensor::from_slice(&own.collect::<Vec<f64>>());
        self.ranks.sum(&mut sums)?;
        let num_terms = names.len() - 1;
        let terms = metrics.0.iter_mut().take(num_terms);
        for ((_, value), sum) in terms.zip(to_vec::<f64>(&sums)) {
            *value = sum;
        }
        Ok(metrics)
    }

    /// In how many parts a minibatch is computed.
    pub(super) fn num_parts(&self, num_samples: usize) -> usize {
        let num_params = self.net.params().numel();
        self.threads.num_parts(num_samples, num_params)
    }

    /// One gradient step on the mean of a `loss` over the samples of all `parts`. Returns the means of its
    /// terms and behind them the gradient's norm before clipping, one axis; and what else the parts gave.
    ///
    /// Each part has its own graph in its own thread; gradients are added in the order of the parts, then
    /// over all ranks.
    ///
    /// # Errors
    /// [`TrainerError::Diverged`] before anything changes, on the CPU; on other devices a look at the
    /// numbers would cost a wait for them, and [`Metrics::check`](super::Metrics::check) finds it after
    /// the update.
    pub(super) fn descend<P: Send, More: Send>(
        &mut self,
        parts: Vec<Part<P>>,
        loss: impl Fn(&N, P) -> Loss<More> + Sync,
        max_grad_norm: f64,
        learning_rate: f64,
    ) -> Result<(Tensor, Vec<More>), TrainerError> {
        let net = Shared::new(&self.net);
        let computed = parallel::map(parts, |(share, part)| {
            let Loss { total, terms, more } = loss(net.get(), part);
            let total = if share < 1.0 { total * share } else { total };
            let gradient = net.get().params().gradient(&total);
            let terms = Tensor::stack(&terms, 0).detach() * share;
            (gradient, total.detach(), terms, more)
        });
        let (mut sums, mut more) = (None, Vec::new());
        for (gradient, total, terms, of_part) in computed {
            more.push(of_part);
            sums = Some(match sums {
                None => (gradient, total, terms),
                Some((mut gradients, totals, all)) => {
                    gradients += gradient;
                    (gradients, totals + total, all + terms)
                }
            });
        }
        let Some((mut gradient, total, terms)) = sums else {
            let problem = "a minibatch without samples".to_owned();
            return Err(TrainerError::Usage(problem));
        };
        self.ranks.sum(&mut gradient)?;
        let norm = clip_grad_norm(&mut gradient, max_grad_norm);
        if norm.device() == Device::Cpu {
            let numbers = [("the loss", &total), ("the gradient", &norm)];
            // The gradient is what all ranks see alike, so that all end here; a loss that is no number is in it.
            let of_all = usize::from(!self.ranks.is_alone());
            for &(what, number) in &numbers[of_all..] {
                if !number.double_value(&[]).is_finite() {
                    return Err(TrainerError::Diverged { what });
                }
            }
        }
        let params = self.net.params_mut().flat_mut();
        self.optimizer
            .step(params, &gradient, learning_rate, self.threads);
        Ok((Tensor::cat(&[terms, norm.unsqueeze(0)], 0), more))
    }

    /// Weights, the optimizer's moments and steps, the generator, and the tensors of `more`; tensors are
    /// copies on the CPU.
    ///
    /// # Errors
    /// A generator that has no text.
    pub(super) fn state(&self, more: &[(&str, &Tensor)]) -> Result<State, TrainerError> {
        let weights = self.net.params().named();
        let tensors = weights.chain(self.optimizer.state());
        let tensors = tensors.chain(more.iter().copied());
        let copies = tensors.map(|(name, tensor)| {
            let copy = tensor.detach().to_device(Device::Cpu).copy();
            (name.to_owned(), copy)
        });
        // As text: the generator's state has 128 bits, JSON values as serde_json holds them 64.
        let rng = serde_json::to_string(&self.rng)
            .map_err(|error| TrainerError::State(format!("value `rng`: {error}")))?;
        Ok(State {
            tensors: copies.collect(),
            values: Map::from_iter([
                ("rng".to_owned(), json!(rng)),
                ("optimizer_steps".to_owned(), json!(self.optimizer.steps)),
            ]),
            replay: Vec::new(),
        })
    }

    /// Goes on from a state, and copies to the tensors of `more`: all of it, or nothing changes.
    ///
    /// # Errors
    /// As [`Algorithm::load_state`](super::Algorithm::load_state).
    pub(super) fn load_state(
        &mut self,
        state: &State,
        more: &[(&str, &Tensor)],
    ) -> Result<(), TrainerError> {
        let rng: String = state.value("rng")?;
        let rng = serde_json::from_str(&rng)
            .map_err(|error| TrainerError::State(format!("value `rng`: {error}")))?;
        let optimizer_steps = state.value("optimizer_steps")?;
        let weights = self.net.params().named();
        let tensors = weights.chain(self.optimizer.state());
        state.copy_to(tensors.chain(more.iter().copied()))?;
        self.rng = rng;
        self.optimizer.steps = optimizer_steps;
        Ok(())
    }
}
