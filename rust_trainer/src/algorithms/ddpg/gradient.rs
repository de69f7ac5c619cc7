//! A gradient step of the critics, and where it is time one of the policy.

use rand::RngExt;
use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64;
use tch::{Kind, Reduction, Tensor, no_grad_guard};

use super::Ddpg;
use crate::{
    algorithms::learner::{Loss, Part},
    data::Transitions,
    error::TrainerError,
    nn::{Actor, Critics},
    parallel::{self, Shared},
};

/// Transitions of a batch, and the noise on the target policy's actions, `[batch, dims]`.
struct Sample {
    transitions: Transitions,
    noise: Option<Tensor>,
}

impl Ddpg {
    /// Draws a batch, in as many parts as it is computed in.
    fn draw(&self, rng: &mut Pcg64) -> Result<Vec<Part<Sample>>, TrainerError> {
        let (count, held) = (self.settings.batch_size, self.replay.held());
        let numbers: Vec<u64> = (0..count).map(|_| rng.random_range(held.clone())).collect();
        let noise = self.is_twin.then(|| self.smoothing(rng));
        let device = self.critics.device();
        let num_parts = self.critics.num_parts(count);
        let mut start = 0;
        let parts = parallel::split(&numbers, num_parts).map(|numbers| {
            let length = numbers.len() as i64;
            let noise = noise.as_ref().map(|noise| noise.narrow(0, start, length));
            start += length;
            let sample = Sample {
                transitions: self.replay.get(numbers)?.to_device(device),
                noise,
            };
            Ok((numbers.len() as f64 / count as f64, sample))
        });
        parts.collect()
    }

    /// Noise on the target policy's actions of a batch, `[batch, dims]`: normal, cut off at `noise_clip`.
    fn smoothing(&self, rng: &mut Pcg64) -> Tensor {
        let scale = self.target_policy.scale();
        let count = self.settings.batch_size * scale.numel();
        let (noise, clip) = (self.settings.policy_noise, self.settings.noise_clip);
        let drawn = (0..count).map(|_| {
            let normal: f64 = StandardNormal.sample(&mut *rng);
            (normal * noise).clamp(-clip, clip) as f32
        });
        let drawn = Tensor::from_slice(&drawn.collect::<Vec<f32>>());
        drawn
            .view([-1, scale.numel() as i64])
            .to_device(scale.device())
            * scale
    }

    /// One gradient step of the critics. Where that fails before the optimizer moves the weights, nothing has changed,
    /// nor has anything been drawn.
    pub(super) fn gradient_step(&mut self) -> Result<(), TrainerError> {
        let mut rng = self.critics.rng.clone();
        let parts = self.draw(&mut rng)?;
        let of_policy =
            |(share, sample): &Part<Sample>| (*share, sample.transitions.obs.shallow_clone());
        let obs: Vec<Part<Tensor>> = parts.iter().map(of_policy).collect();
        let (policy, critics) = (
            Shared::new(&self.target_policy),
            Shared::new(&self.target_critics),
        );
        let loss = |net: &Critics, sample: Sample| {
            let targets = target(policy.get(), critics.get(), &sample);
            let batch = &sample.transitions;
            let values = net.forward(&batch.obs, &batch.actions);
            let error = |values: &Tensor| values.mse_loss(&targets, Reduction::Mean);
            let losses: Vec<Tensor> = values.iter().map(error).collect();
            let total = Tensor::stack(&losses, 0).sum(Kind::Float);
            let mut terms: Vec<Tensor> =
                values.iter().map(|of_it| of_it.mean(Kind::Float)).collect();
            terms.extend(losses.iter().map(Tensor::shallow_clone));
            if losses.len() > 1 {
                terms.push(&total / losses.len() as f64);
            }
            Loss {
                total,
                terms,
                more: (),
            }
        };
        let rate = self.settings.learning_rate;
        let (terms, _) = self.critics.descend(parts, loss, f64::INFINITY, rate)?;
        self.critics.rng = rng;
        self.terms.push(terms);
        let gradient_steps = self.progress.gradient_steps + 1;
        if gradient_steps.is_multiple_of(self.settings.policy_frequency) {
            self.policy_step(obs)?;
        }
        self.progress.gradient_steps = gradient_steps;
        self.progress.steps_to_learn -= self.settings.train_frequency;
        Ok(())
    }

    /// One gradient step of the policy, towards what the first critic finds best, and the targets' way to both.
    fn policy_step(&mut self, obs: Vec<Part<Tensor>>) -> Result<(), TrainerError> {
        let critics = Shared::new(&self.critics.net);
        let loss = |policy: &Actor, obs: Tensor| {
            let total = -critics
                .get()
                .first(&obs, &policy.forward(&obs))
                .mean(Kind::Float);
            Loss {
                terms: vec![total.shallow_clone()],
                total,
                more: (),
            }
        };
        let rate = self.settings.learning_rate;
        let (terms, _) = self.policy.descend(obs, loss, f64::INFINITY, rate)?;
        self.policy_terms.push(terms);
        let tau = self.settings.tau;
        self.target_policy
            .params
            .approach(&self.policy.net.params, tau);
        self.target_critics
            .params
            .approach(&self.critics.net.params, tau);
        Ok(())
    }
}

/// What the critics are to say: the rewards, and what the least of the target critics says of the target policy's
/// actions after them, `[batch]`.
fn target(policy: &Actor, critics: &Critics, sample: &Sample) -> Tensor {
    let _guard = no_grad_guard();
    let batch = &sample.transitions;
    let mut actions = policy.forward(&batch.next_obs);
    if let Some(noise) = &sample.noise {
        actions = policy.bounded(&(actions + noise));
    }
    let values = critics.forward(&batch.next_obs, &actions).into_iter();
    let least = values.reduce(|one, other| one.minimum(&other));
    let least = least.unwrap_or_else(|| unreachable!("there is a critic"));
    &batch.returns + &batch.discounts * least
}
