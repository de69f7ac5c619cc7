//! Policies: what is done about an observation, apart from the network that says so.
//!
//! Actions are drawn on the host, by a generator of ours. A [`Choice`] holds them as they were drawn;
//! what is sent to the environments lies within the bounds of a `Box` of actions. The log-probability is
//! that of the action as drawn: the bounds are the environment's, and the policy's gradient knows nothing
//! of them (as in Baselines, Stable-Baselines3 and `CleanRL`).

mod deterministic;
mod epsilon_greedy;
mod outlook;
mod random;

pub use deterministic::{explored, uniform};
pub use epsilon_greedy::{
    EpsilonGreedy, epsilon_greedy, epsilon_greedy_recorded, skip_epsilon_greedy,
};
pub use outlook::{Estimates, Outlook};
use rand::RngExt;
use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64;
pub use random::RandomPolicy;
use tch::{Device, Kind, Tensor, no_grad_guard};
use vec_env::{ActionBatch, ActionSpace};

use crate::{
    cuda::Recording,
    distributions::{categorical, gaussian},
    nn::{Memory, Network, Output, PolicyValueNet},
    normalize::ObsNormalizer,
    parallel::Threads,
    tensors::to_vec,
};

/// Something that plays.
pub trait Policy: Send {
    /// Where the network runs, and where it wants observations.
    fn device(&self) -> Device;

    /// What it remembers where `num_envs` environments start their episodes; nothing, if it has no memory.
    fn new_memory(&self, _num_envs: usize) -> Memory {
        Memory::default()
    }

    /// The statistics by which it normalizes observations, if it does.
    fn obs_normalizer(&self) -> Option<&ObsNormalizer> {
        None
    }

    /// The same, for what has been seen since.
    fn obs_normalizer_mut(&mut self) -> Option<&mut ObsNormalizer> {
        None
    }

    /// Chooses actions for `obs`, `[num_envs, ...]` in the environment's own type: drawn by `rng`, or
    /// with `greedy` the most probable, which for a Gaussian is the mean. They lie in the action space.
    ///
    /// `memory` is of the observations before and comes to hold this one; [`Memory::forget`] where an
    /// episode ended.
    fn act(&self, obs: &Tensor, memory: &mut Memory, rng: &mut Pcg64, greedy: bool) -> ActionBatch;

    /// What it makes of the first of `obs`, behind what `memory` holds, before it chooses.
    fn outlook(&self, obs: &Tensor, memory: &Memory) -> Outlook;
}

impl Policy for PolicyValueNet {
    fn device(&self) -> Device {
        self.params.device()
    }

    fn new_memory(&self, num_envs: usize) -> Memory {
        self.new_memory(num_envs)
    }

    fn obs_normalizer(&self) -> Option<&ObsNormalizer> {
        self.obs_normalizer.as_ref()
    }

    fn obs_normalizer_mut(&mut self) -> Option<&mut ObsNormalizer> {
        self.obs_normalizer.as_mut()
    }

    fn act(&self, obs: &Tensor, memory: &mut Memory, rng: &mut Pcg64, greedy: bool) -> ActionBatch {
        let obs = self.normalized(obs);
        let actions = choose(self, &obs, memory, rng, greedy, Threads::ONE).actions;
        self.action_space().clipped(&actions)
    }

    fn outlook(&self, obs: &Tensor, memory: &Memory) -> Outlook {
        let _guard = no_grad_guard();
        let Output { policy, value } = self.step(&self.normalized(obs), memory).0;
        let mut numbers = to_vec::<f32>(&policy.numbers().get(0));
        let estimates = match self.action_space() {
            ActionSpace::Box { .. } => {
                numbers.truncate(numbers.len() / 2);
                Estimates::Means(numbers)
            }
            _ => Estimates::Probabilities(numbers.into_iter().map(f32::exp).collect()),
        };
        Outlook {
            value: Some(value.double_value(&[0]) as f32),
            estimates,
        }
    }
}

/// Actions of a policy, and what the network thought of them; one each for every environment.
#[derive(Debug)]
pub struct Choice {
    /// The actions as drawn; continuous ones may lie outside the environment's bounds.
    pub actions: ActionBatch,
    /// Their log-probabilities.
    pub log_probs: Vec<f32>,
    /// The values of the observations.
    pub values: Vec<f32>,
}

impl Choice {
    /// Of rows of a discrete action, its log-probability, and the value of the observation.
    fn of(rows: impl Iterator<Item = (i64, f32, f32)>) -> Self {
        let (actions, log_probs, values): (Vec<_>, Vec<_>, Vec<_>) = rows.collect();
        Self {
            actions: ActionBatch::Discrete(actions),
            log_probs,
            values,
        }
    }
}

/// Chooses actions for normalized `obs` as [`Policy::act`], but as they are drawn; one transfer from the
/// device for all numbers. A network without a memory computes them in parts, among `threads`.
pub fn choose(
    net: &PolicyValueNet,
    obs: &Tensor,
    memory: &mut Memory,
    rng: &mut Pcg64,
    greedy: bool,
    threads: Threads,
) -> Choice {
    let said =
        |Output { policy, value }: Output| Tensor::cat(&[policy.numbers(), value.unsqueeze(1)], 1);
    let table = if memory.state().is_none() {
        net.forward_in_parts(obs, threads, |net, obs| said(net.forward(obs)))
    } else {
        let _guard = no_grad_guard();
        let (output, after) = net.step(obs, memory);
        *memory = after;
        said(output)
    };
    let width = table.size()[1] as usize - 1;
    let table = to_vec::<f32>(&table);
    let mut choice = Choice {
        actions: match net.action_space() {
            ActionSpace::Box { .. } => ActionBatch::Continuous(Vec::new()),
            _ => ActionBatch::Discrete(Vec::new()),
        },
        log_probs: Vec::new(),
        values: Vec::new(),
    };
    for row in table.chunks_exact(width + 1) {
        let (numbers, value) = (&row[..width], row[width]);
        let log_prob = match &mut choice.actions {
            ActionBatch::Discrete(actions) => categorical::draw(numbers, rng, greedy, actions),
            ActionBatch::Continuous(actions) => gaussian::draw(numbers, rng, greedy, actions),
        };
        choice.log_probs.push(log_prob);
        choice.values.push(value);
    }
    choice
}

/// [`choose`] for a network without a memory and with discrete actions, drawn where it runs in work that can be
/// recorded: to the host come the choices alone. The random numbers are the host's, one after another as elsewhere:
/// every device draws the same actions, and a checkpoint holds what is to come.
pub fn choose_recorded(
    recording: &mut Recording,
    net: &PolicyValueNet,
    obs: &Tensor,
    rng: &mut Pcg64,
) -> Choice {
    let num_envs = obs.size()[0];
    let uniforms: Vec<f64> = (0..num_envs).map(|_| rng.random()).collect();
    let uniforms = Tensor::from_slice(&uniforms).to_device(obs.device());
    let made = recording.call(&[obs, &uniforms], |inputs| {
        let _guard = no_grad_guard();
        let Output { policy, value } = net.forward(inputs[0]);
        let (actions, log_probs) = categorical::draw_all(&policy.numbers(), inputs[1]);
        let columns = [actions.to_kind(Kind::Float), log_probs, value];
        vec![Tensor::stack(&columns, 1)]
    });
    let rows = to_vec::<f32>(&made[0]);
    Choice::of(
        rows.chunks_exact(3)
            .map(|row| (row[0] as i64, row[1], row[2])),
    )
}

/// Draws what [`choose`] draws for one environment with these `actions`, and leaves it.
pub fn skip(actions: &ActionSpace, rng: &mut Pcg64) {
    match actions {
        ActionSpace::Discrete { .. } => {
            let _: f64 = rng.random();
        }
        ActionSpace::Box { low, .. } => {
            for _ in low {
                let _: f64 = StandardNormal.sample(rng);
            }
        }
        ActionSpace::MultiDiscrete { .. } => {} // never learned in
    }
}

/// The values of normalized `obs`, `[num_envs, ...]`, behind what `memory` holds.
#[must_use]
pub fn values(net: &PolicyValueNet, obs: &Tensor, memory: &Memory) -> Vec<f32> {
    let _guard = no_grad_guard();
    to_vec(&net.step(obs, memory).0.value)
}
