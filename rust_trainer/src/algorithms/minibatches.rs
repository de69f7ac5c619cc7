//! Learning from a full rollout in passes over its samples: in parts among threads on the CPU, in work that can be
//! recorded where the network runs on a device.

use rand::seq::SliceRandom;
use tch::Tensor;

use super::{
    learner::{Learner, Loss, Part},
    schedule::UpdateSettings,
};
use crate::{
    data::{Batch, Rollout, Samples, explained_variance, moments},
    error::TrainerError,
    nn::Network,
    optimizer::clip_grad_norm,
    parallel,
};

/// What is learned from a rollout: this rank's samples, and of those of all ranks, float32
/// `[num_steps · envs of all ranks]`, step-major, what is computed over all. On the device of the network.
pub(super) struct RolloutSamples {
    own: Samples,
    all_advantages: Tensor,
    all_values: Tensor,
    /// Those that are learned from, int64, if not all are.
    learned_from: Option<Tensor>,
}

impl RolloutSamples {
    /// Explained variance of the value function: see [`explained_variance`].
    pub fn explained_variance(&self) -> f64 {
        let there = |numbers: &Tensor| match &self.learned_from {
            Some(indices) => numbers.index_select(0, indices),
            None => numbers.shallow_clone(),
        };
        let (advantages, values) = (there(&self.all_advantages), there(&self.all_values));
        explained_variance(&(advantages + &values), &values)
    }
}

/// What gradient steps on a device read, sent once.
struct OnDevice {
    /// The sequences of all passes, int64 `[passes · sequences]`.
    order: Tensor,
    /// Where the observation of each sample lies, int64 `[samples]`.
    places: Tensor,
    /// Of the optimizer's steps, float32 `[passes · minibatches, 3]`.
    coefficients: Tensor,
}

impl<N: Network> Learner<N> {
    /// The samples of a full rollout, of all ranks.
    pub(super) fn gather(
        &self,
        rollout: &Rollout,
        advantages: &[f32],
    ) -> Result<RolloutSamples, TrainerError> {
        let own = rollout.samples(advantages);
        let num_envs = rollout.envs_per_group() as i64;
        let all = |numbers: &Tensor| -> Result<Tensor, TrainerError> {
            let by_step = numbers.view([-1, num_envs]);
            Ok(self.ranks.all_rows(&by_step, 1)?.reshape([-1]))
        };
        let num_sequences = rollout.num_sequences() * self.ranks.count();
        let there = rollout.sequences(num_sequences);
        let learned_from = (there.len() < num_sequences).then(|| {
            Tensor::from_slice(&self.places_among_all(rollout, &there)).to_device(self.device())
        });
        Ok(RolloutSamples {
            all_advantages: all(&own.advantages)?,
            all_values: all(&own.values)?,
            own,
            learned_from,
        })
    }

    /// Where the samples of `sequences` lie among those of all ranks.
    fn places_among_all(&self, rollout: &Rollout, sequences: &[i64]) -> Vec<i64> {
        let length = rollout.num_samples() / rollout.num_sequences();
        let num_envs = (rollout.num_envs() * self.ranks.count()) as i64;
        let firsts = (0..length as i64).map(|step| step * num_envs);
        firsts
            .flat_map(|first| sequences.iter().map(move |index| first + index))
            .collect()
    }

    /// Learns from a rollout: a gradient step on the mean of a `loss` over the samples of each minibatch, those of
    /// all ranks. Returns the means of its terms and behind them the gradient's norm before clipping, one axis for
    /// each step; `None` where `should_stop`, asked before each step, said yes.
    pub(super) fn learn_from(
        &mut self,
        rollout: &mut Rollout,
        samples: &RolloutSamples,
        settings: &UpdateSettings,
        learning_rate: f64,
        should_stop: &mut dyn FnMut() -> bool,
        loss: impl Fn(&N, &Batch, &Samples) -> Loss + Sync,
    ) -> Result<Option<Vec<Tensor>>, TrainerError> {
        // Sequences are numbered over all ranks, and drawn by all alike.
        let mut pass = rollout.sequences(rollout.num_sequences() * self.ranks.count());
        let num_sequences = pass.len();
        // Of agents whose episodes end apart there may be fewer samples than the settings were checked with.
        let length = rollout.num_samples() / rollout.num_sequences();
        let settings = &UpdateSettings {
            norm_adv: settings.norm_adv && num_sequences * length > 1,
            ..*settings
        };
        let least = if settings.norm_adv { 2 } else { 1 };
        let most = num_sequences.min(num_sequences * length / least).max(1);
        let num_minibatches = settings.minibatches.min(most);
        let mut order = Vec::with_capacity(settings.epochs * num_sequences);
        for _ in 0..settings.epochs {
            if settings.is_shuffled {
                pass.shuffle(&mut self.rng);
            }
            order.extend(&pass);
        }
        let num_steps = settings.epochs * num_minibatches;
        let on_device = self.steps.is_some().then(|| {
            rollout.prepare();
            let device = self.device();
            let coefficients = self.optimizer.coefficients(learning_rate, num_steps);
            let coefficients = Tensor::from_slice(&coefficients).view([-1, 3]);
            OnDevice {
                order: Tensor::from_slice(&order).to_device(device),
                places: Tensor::from_slice(&rollout.places()).to_device(device),
                coefficients: coefficients.to_device(device),
            }
        });
        let (mut terms, mut start) = (Vec::with_capacity(num_steps), 0);
        let minibatches = order.chunks_exact(num_sequences);
        let minibatches = minibatches.flat_map(|pass| parallel::split(pass, num_minibatches));
        for (step, sequences) in minibatches.enumerate() {
            if should_stop() {
                return Ok(None);
            }
            let length = sequences.len() as i64;
            terms.push(if let Some(all) = &on_device {
                let indices = all.order.narrow(0, start, length);
                let coefficients = all.coefficients.get(step as i64);
                let which = [&indices, &all.places, &coefficients];
                self.step_on_device(rollout, &samples.own, which, settings, &loss)
            } else {
                let parts = self.parts(rollout, samples, sequences, settings.norm_adv);
                let loss =
                    |net: &N, (batch, samples): (Batch, Samples)| loss(net, &batch, &samples);
                self.descend(parts, loss, settings.max_grad_norm, learning_rate)?
                    .0
            });
            start += length;
        }
        Ok(Some(terms))
    }

    /// The samples of this rank among these `sequences` of a full rollout, in as many parts as they are
    /// computed in; with `norm_adv` their advantages are normalized over all parts of all ranks together.
    fn parts(
        &self,
        rollout: &mut Rollout,
        samples: &RolloutSamples,
        sequences: &[i64],
        norm_adv: bool,
    ) -> Vec<Part<(Batch, Samples)>> {
        let length = rollout.num_samples() / rollout.num_sequences();
        let mut own = self.ranks.own(sequences, rollout.envs_per_group());
        // One that has none takes part with a sample that counts for nothing.
        let weight = if own.is_empty() { 0.0 } else { 1.0 };
        own.resize(own.len().max(1), 0);
        let count = self.num_parts(own.len() * length).min(own.len());
        let parts = parallel::split(&own, count);
        let batches: Vec<Batch> = parts.map(|part| rollout.batch(part)).collect();
        let moments = norm_adv.then(|| {
            let indices: Vec<i64> = if self.ranks.is_alone() {
                let indices = batches.iter().flat_map(|batch| &batch.indices);
                indices.copied().collect()
            } else {
                self.places_among_all(rollout, sequences)
            };
            let indices = Tensor::from_slice(&indices).to_device(self.device());
            moments(&samples.all_advantages.index_select(0, &indices))
        });
        let num_samples = (sequences.len() * length) as f64;
        let parts = batches.into_iter().map(|batch| {
            let share = weight * batch.indices.len() as f64 / num_samples;
            let mut samples = samples.own.select(&batch.indices);
            if let Some(moments) = &moments {
                samples = samples.normalized_by(moments);
            }
            (share, (batch, samples))
        });
        parts.collect()
    }

    /// A gradient step for a network without a memory, in work that can be recorded: nothing of it waits for the
    /// host. Whether all numbers are finite is seen after the update.
    fn step_on_device(
        &mut self,
        rollout: &Rollout,
        samples: &Samples,
        [indices, places, coefficients]: [&Tensor; 3],
        settings: &UpdateSettings,
        loss: impl Fn(&N, &Batch, &Samples) -> Loss,
    ) -> Tensor {
        let Self {
            net,
            optimizer,
            steps,
            ..
        } = self;
        let mut inputs = vec![indices, places, coefficients];
        inputs.extend(samples.tensors());
        let mut step = |inputs: &[&Tensor]| {
            let pick = |tensor: &Tensor| tensor.index_select(0, inputs[0]);
            let mut samples = Samples::of([3, 4, 5, 6, 7].map(|input| pick(inputs[input])));
            if settings.norm_adv {
                samples = samples.normalized();
            }
            let Loss { total, terms, .. } =
                loss(net, &rollout.batch_at(&pick(inputs[1])), &samples);
            let mut gradient = net.params().gradient(&total);
            let norm = clip_grad_norm(&mut gradient, settings.max_grad_norm);
            optimizer.step_by(net.params_mut().flat_mut(), &gradient, inputs[2]);
            let terms = Tensor::stack(&terms, 0).detach();
            vec![Tensor::cat(&[terms, norm.unsqueeze(0)], 0)]
        };
        let mut made = match steps {
            Some(recording) => recording.call(&inputs, step),
            None => step(&inputs),
        };
        optimizer.count_step();
        made.pop().unwrap_or_default()
    }
}
