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

/// What keeps the logits of discrete actions small, as in Lowe et al.'s program.
const LOGIT_WEIGHT: f64 = 1e-3;

/// Transitions of a batch, a row for each agent, and noise, `[rows, width]`.
struct Sample {
    transitions: Transitions,
    /// The actions as critics read them.
    actions: Tensor,
    /// On the target policy's actions.
    noise: Option<Tensor>,
    /// By which the policy draws discrete actions.
    of_policy: Option<Tensor>,
}

/// Observations, actions as critics read them, and the noise by which discrete ones are drawn.
type ForPolicy = ([Tensor; 2], Option<Tensor>);

impl Ddpg {
    /// Draws a batch, in as many parts as it is computed in.
    fn draw(&self, rng: &mut Pcg64) -> Result<Vec<Part<Sample>>, TrainerError> {
        let (count, held) = (self.settings.batch_size, self.replay.held());
        let agents = self.num_agents as u64;
        let held = held.start / agents..held.end / agents;
        let numbers: Vec<u64> = (0..count).map(|_| rng.random_range(held.clone())).collect();
        let (noise, of_policy) = match self.target_policy.scale() {
            Some(scale) => (self.is_twin.then(|| self.smoothing(scale, rng)), None),
            None => (Some(self.gumbel(rng)), Some(self.gumbel(rng))),
        };
        let device = self.critics.device();
        let num_parts = self.critics.num_parts(count);
        let mut start = 0;
        let parts = parallel::split(&numbers, num_parts).map(|numbers| {
            let rows = numbers
                .iter()
                .flat_map(|first| first * agents..(first + 1) * agents);
            let rows: Vec<u64> = rows.collect();
            let length = rows.len() as i64;
            let own = |noise: &Option<Tensor>| {
                let noise = noise.as_ref();
                noise.map(|noise| noise.narrow(0, start, length))
            };
            let (noise, of_policy) = (own(&noise), own(&of_policy));
            start += length;
            let transitions = self.replay.get(&rows)?.to_device(device);
            let sample = Sample {
                actions: self.target_policy.as_read(&transitions.actions),
                transitions,
                noise,
                of_policy,
            };
            Ok((numbers.len() as f64 / count as f64, sample))
        });
        parts.collect()
    }

    /// Noise on the target policy's actions of a batch, `[rows, dims]`: normal, cut off at `noise_clip`.
    fn smoothing(&self, scale: &Tensor, rng: &mut Pcg64) -> Tensor {
        let (noise, clip) = (self.settings.policy_noise, self.settings.noise_clip);
        self.noise(rng, |rng| {
            let normal: f64 = StandardNormal.sample(rng);
            (normal * noise).clamp(-clip, clip)
        }) * scale
    }

    /// Gumbel noise for a batch, `[rows, n]`: the largest of logits with it is a draw from their softmax.
    fn gumbel(&self, rng: &mut Pcg64) -> Tensor {
        self.noise(rng, |rng| {
            let uniform: f64 = rng.random();
            -(-uniform.max(f64::MIN_POSITIVE).ln()).ln()
        })
    }

    /// Numbers for the actions of all agents in a batch, `[rows, width]`.
    fn noise(&self, rng: &mut Pcg64, mut draw: impl FnMut(&mut Pcg64) -> f64) -> Tensor {
        let width = self.target_policy.width();
        let count = self.settings.batch_size * self.num_agents * width;
        let drawn: Vec<f32> = (0..count).map(|_| draw(rng) as f32).collect();
        let drawn = Tensor::from_slice(&drawn).view([-1, width as i64]);
        drawn.to_device(self.critics.device())
    }

    /// One gradient step of the critics. Where that fails before the optimizer moves the weights, nothing has changed,
    /// nor has anything been drawn.
    pub(super) fn gradient_step(&mut self) -> Result<(), TrainerError> {
        let mut rng = self.critics.rng.clone();
        let parts = self.draw(&mut rng)?;
        let of_policy = |(share, sample): &Part<Sample>| {
            let noise = sample.of_policy.as_ref().map(Tensor::shallow_clone);
            let read = [&sample.transitions.obs, &sample.actions].map(Tensor::shallow_clone);
            (*share, (read, noise))
        };
        let for_policy = parts.iter().map(of_policy).collect();
        let num_agents = self.num_agents as f64;
        let (policy, critics) = (
            Shared::new(&self.target_policy),
            Shared::new(&self.target_critics),
        );
        let loss = |net: &Critics, sample: Sample| {
            let targets = target(policy.get(), critics.get(), &sample);
            let batch = &sample.transitions;
            let values = net.forward(&batch.obs, &sample.actions);
            let error = |values: &Tensor| values.mse_loss(&targets, Reduction::Mean);
            let losses: Vec<Tensor> = values.iter().map(error).collect();
            // The mean is over the rows of all agents, each of which has a loss of its own.
            let total = Tensor::stack(&losses, 0).sum(Kind::Float) * num_agents;
            let mut terms: Vec<Tensor> =
                values.iter().map(|of_it| of_it.mean(Kind::Float)).collect();
            terms.extend(losses.iter().map(Tensor::shallow_clone));
            if losses.len() > 1 {
                terms.push(&total / (losses.len() as f64 * num_agents));
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
            self.policy_step(for_policy)?;
        }
        self.progress.gradient_steps = gradient_steps;
        self.progress.steps_to_learn -= self.settings.train_frequency;
        Ok(())
    }

    /// One gradient step of the policy, towards what the first critic finds best, and the targets' way to both.
    fn policy_step(&mut self, parts: Vec<Part<ForPolicy>>) -> Result<(), TrainerError> {
        let (critics, num_agents) = (Shared::new(&self.critics.net), self.num_agents as f64);
        let loss = |policy: &Actor, ([obs, actions], noise): ForPolicy| {
            let said = policy.forward(&obs);
            let own = Actor::done(&said, noise.as_ref());
            let mut total = -critics.get().of_own(&obs, &actions, &own);
            if noise.is_some() {
                total += said.square().mean(Kind::Float) * (LOGIT_WEIGHT * num_agents);
            }
            Loss {
                terms: vec![total.shallow_clone()],
                total,
                more: (),
            }
        };
        let rate = self.settings.learning_rate;
        let (terms, _) = self.policy.descend(parts, loss, f64::INFINITY, rate)?;
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
    let said = policy.forward(&batch.next_obs);
    let actions = match (&sample.noise, policy.scale()) {
        (Some(noise), Some(_)) => policy.bounded(&(said + noise)),
        (noise, _) => Actor::done(&said, noise.as_ref()),
    };
    let values = critics.forward(&batch.next_obs, &actions).into_iter();
    let least = values.reduce(|one, other| one.minimum(&other));
    let least = least.unwrap_or_else(|| unreachable!("there is a critic"));
    &batch.returns + &batch.discounts * least
}
