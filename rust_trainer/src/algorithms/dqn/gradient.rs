//! A gradient step of DQN: a batch drawn out of the transitions of all ranks, its loss, and what it says of
//! the priorities.

use rand::RngExt;
use rand_pcg::Pcg64;
use tch::{Kind, Tensor, no_grad_guard};

use super::{Dqn, fractions::Fractions, loss, target};
use crate::{
    algorithms::learner::{Loss, Part},
    data::Transitions,
    error::TrainerError,
    parallel::{self, Shared},
    policy::EpsilonGreedy,
    tensors::to_vec,
};

/// Transitions of a batch, with what was drawn for them.
struct Sample {
    transitions: Transitions,
    /// The weights of their losses, `[batch]`; none where all count alike.
    weights: Option<Tensor>,
    /// Of implicit quantiles.
    fractions: Option<Fractions>,
}

/// A batch drawn out of the transitions of all ranks.
struct DrawnBatch {
    /// Their numbers, `step · environments of all ranks + environment`.
    numbers: Vec<u64>,
    /// The weights of their losses, none where all count alike.
    weights: Option<Vec<f32>>,
    /// Of implicit quantiles.
    fractions: Option<Fractions>,
}

impl Dqn {
    /// Draws a batch, the same at all ranks.
    fn draw(&self, rng: &mut Pcg64) -> DrawnBatch {
        let (count, held) = (self.settings.batch_size, self.held());
        let fractions = |rng| Fractions::of_batch(self.target.returns, &self.settings, rng);
        let Some(priorities) = &self.priorities else {
            let numbers = (0..count).map(|_| rng.random_range(held.clone()));
            return DrawnBatch {
                numbers: numbers.collect(),
                weights: None,
                fractions: fractions(rng),
            };
        };
        let leaves = priorities.sample(count, rng);
        let weights = priorities.weights(&leaves, (held.end - held.start) as usize, self.beta());
        let capacity = self.capacity();
        // Leaves are numbers modulo the capacity; those held are as many at most.
        let behind = |&leaf: &usize| (leaf as u64 + capacity - held.start % capacity) % capacity;
        let numbers = leaves.iter().map(|leaf| held.start + behind(leaf));
        DrawnBatch {
            numbers: numbers.collect(),
            weights: Some(weights),
            fractions: fractions(rng),
        }
    }

    /// What of a batch this rank holds: its places there, and the transitions with the weights of their losses, in
    /// as many parts as they are computed in.
    fn own(&self, drawn: &DrawnBatch) -> Result<(Vec<usize>, Vec<Part<Sample>>), TrainerError> {
        let (ranks, device) = (&self.learner.ranks, self.learner.device());
        let batch = drawn.numbers.iter().enumerate();
        let own = batch.filter_map(|(place, &number)| {
            let own = ranks.own_index(number as i64, self.num_envs)?;
            Some((place, own as u64))
        });
        let (places, numbers): (Vec<usize>, Vec<u64>) = own.unzip();
        let fractions = |places: &[usize]| {
            let drawn = drawn.fractions.as_ref();
            drawn.map(|drawn| drawn.of_places(places, device))
        };
        if places.is_empty() {
            // One that holds none takes part with a transition that counts for nothing.
            let any = self.replay.get(&[self.replay.held().start])?;
            let sample = Sample {
                transitions: any.to_device(device),
                weights: None,
                fractions: fractions(&[0]),
            };
            return Ok((places, vec![(0.0, sample)]));
        }
        let count = self.learner.num_parts(numbers.len());
        let parts = parallel::split(&numbers, count).zip(parallel::split(&places, count));
        let parts = parts.map(|(numbers, places)| {
            let weights = drawn.weights.as_ref().map(|weights| {
                let own: Vec<f32> = places.iter().map(|&place| weights[place]).collect();
                Tensor::from_slice(&own).to_device(device)
            });
            let share = numbers.len() as f64 / drawn.numbers.len() as f64;
            let sample = Sample {
                transitions: self.replay.get(numbers)?.to_device(device),
                weights,
                fractions: fractions(places),
            };
            Ok((share, sample))
        });
        let parts = parts.collect::<Result<_, TrainerError>>()?;
        Ok((places, parts))
    }

    /// One gradient step on a batch of transitions. Where it fails before the optimizer moves the weights,
    /// nothing has changed, nor has anything been drawn.
    pub(super) fn gradient_step(&mut self) -> Result<(), TrainerError> {
        let mut rng = self.learner.rng.clone();
        let drawn = self.draw(&mut rng);
        let (places, parts) = self.own(&drawn)?;
        let net = &self.learner.net.net;
        let noise = net.draw_noise(&mut rng);
        let target_noise = self.target.draw_noise(&mut rng);
        let (noise, target_noise) = (Shared::new(&noise), Shared::new(&target_noise));
        let (returns, target_net) = (self.target.returns, Shared::new(&self.target));
        let settings = &self.settings;

        let loss = |net: &EpsilonGreedy, sample: Sample| {
            let (net, noise) = (&net.net, noise.get().as_ref());
            let (batch, fractions) = (sample.transitions, sample.fractions.as_ref());
            let targets = {
                let _guard = no_grad_guard();
                let (target_net, target_noise) = (target_net.get(), target_noise.get().as_ref());
                let next_obs = &batch.next_obs;
                let features = target_net.features(next_obs);
                let of_target = |at| target_net.of_features(&features, target_noise, at);
                let after = of_target(fractions.map(|of| &of.target));
                // Chosen with the noise of the loss, as in Kaixhin's Rainbow; Fortunato et al. draw another.
                let judged = match fractions.map(|of| &of.judged) {
                    at if settings.double_q => net.forward(next_obs, noise, at),
                    None => after.shallow_clone(),
                    at => of_target(at),
                };
                let best = returns.mean(&judged).argmax(1, false);
                let after = of_actions(&after, &best);
                target(returns, &after, &batch.returns, &batch.discounts)
            };
            let learned = fractions.map(|of| &of.learned);
            let outputs = net.forward(&batch.obs, noise, learned);
            let outputs = of_actions(&outputs, &batch.actions);
            let (losses, errors) = loss(returns, settings.huber, &outputs, &targets, learned);
            let losses = match &sample.weights {
                Some(weights) => losses * weights,
                None => losses,
            };
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
                return Err(TrainerError::Diverged("the error"));
            }
            priorities.set((number % capacity) as usize, f64::from(error));
        }
        Ok(())
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
