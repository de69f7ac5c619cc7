//! Replay memory: the last transitions of several environments, with every frame held once.
//!
//! Environments show stacks of frames, `[stack, height, width]`, of which all but the newest were seen
//! before. Held is the newest alone; a stack is rebuilt from those of the steps before, byte for byte.
//! Whatever a recipe does where an episode begins (zeros, the first frame repeated) or does not (a
//! stack that goes on across a lost life), is seen by comparison: where the older frames of an
//! observation are not the newer ones of that before it, they are held beside. Pictures in three colours are held whole.

mod held_actions;
mod state;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use tch::{Device, Tensor};
use vec_env::{ActionBatch, ActionSpace, ObsSpec, StepBatch};

pub(crate) use state::unfit;
pub use state::{Entries, ReplayState};

use held_actions::HeldActions;

use super::truncated_obs;
use crate::{
    error::TrainerError,
    tensors::{obs_kind, obs_shape, obs_tensor},
};

/// A ring of the last steps of `num_envs` environments, which step together.
///
/// A transition is named by its number `step · num_envs + env`, counted from the first; the numbers of
/// those that are held move on with every step.
#[derive(Debug)]
pub struct Replay {
    spec: ObsSpec,
    num_envs: usize,
    num_steps: usize,
    n_step: usize,
    gamma: f64,
    /// Frames in an observation; 1 where observations are held whole.
    stack: usize,
    /// Steps in the ring: those that can be sampled, the others of the newest one's n, the one in hand,
    /// and those that hold the older frames of the oldest.
    rows: usize,
    /// Steps that are over. Row `steps % rows` holds the observations in hand.
    steps: u64,
    /// The newest frame of each observation, `[rows · num_envs, ...]`. Its pages are the machine's only
    /// when they are written to.
    frames: Tensor,
    /// Of each place of the ring, as all that follows.
    actions: HeldActions,
    /// `[rows · num_envs]`, as the ends.
    rewards: Vec<f32>,
    ends: Vec<End>,
    /// The older frames of observations that do not go on from the one before, by place in the ring.
    older: HashMap<usize, Box<[u8]>>,
    /// The last observations of truncated episodes, by the place of their last transition.
    last: HashMap<usize, Box<[u8]>>,
    /// The observations in hand, whole; empty before the first.
    in_hand: Vec<u8>,
}

/// Whether an episode ended with a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum End {
    /// It goes on.
    #[default]
    None = 0,
    /// Nothing comes after it.
    Terminated = 1,
    /// A limit cut it off, behind its last observation.
    Truncated = 2,
}

impl Replay {
    /// Room for at least `capacity` transitions of `n_step` steps with the discount `gamma`.
    pub fn new(
        (spec, actions): (&ObsSpec, &ActionSpace),
        num_envs: usize,
        capacity: usize,
        n_step: usize,
        gamma: f64,
    ) -> Result<Self, TrainerError> {
        let (stack, num_steps) = (stack_of(spec), capacity.div_ceil(num_envs));
        let rows = num_rows(spec, num_steps, n_step);
        let places = rows * num_envs;
        let frame = obs_shape(&[places], &frame_of(spec));
        Ok(Self {
            spec: spec.clone(),
            num_envs,
            num_steps,
            n_step,
            gamma,
            stack,
            rows,
            steps: 0,
            // Not zeros: writing them would take all the memory at once.
            frames: Tensor::f_empty(frame, (obs_kind(spec), Device::Cpu))?,
            actions: HeldActions::new(actions, places),
            rewards: vec![0.0; places],
            ends: vec![End::None; places],
            older: HashMap::new(),
            last: HashMap::new(),
            in_hand: Vec::new(),
        })
    }

    /// Transitions that each of `num_ranks` ranks with `num_envs` environments holds: those of as many steps as make
    /// the `capacity` of all.
    pub(crate) fn capacity_of_rank(capacity: usize, num_envs: usize, num_ranks: usize) -> usize {
        capacity.div_ceil(num_envs * num_ranks) * num_envs
    }

    /// Bytes that a replay memory takes when it is full, but for the starts of episodes.
    #[must_use]
    pub fn num_bytes(
        (spec, actions): (&ObsSpec, &ActionSpace),
        num_envs: usize,
        capacity: usize,
        n_step: usize,
    ) -> usize {
        let places = num_rows(spec, capacity.div_ceil(num_envs), n_step).saturating_mul(num_envs);
        let beside = HeldActions::num_bytes(actions) + size_of::<f32>() + size_of::<End>();
        places.saturating_mul(frame_of(spec).num_bytes() + beside)
    }

    /// Takes observations of new episodes, `[num_envs, ...]`: the first ones, or those after a reset.
    /// What was under way is cut off there, behind the observations in hand.
    pub fn restart(&mut self, obs: Vec<u8>) -> Result<(), TrainerError> {
        if let Some(before) = self.steps.checked_sub(1) {
            for env in 0..self.num_envs {
                let place = self.place(before, env);
                if self.ends[place] == End::None {
                    self.ends[place] = End::Truncated;
                    self.last.insert(place, self.obs_in_hand(env).into());
                }
            }
        }
        self.in_hand.clear();
        self.take(obs)
    }

    /// Takes a step: the actions chosen for the observations in hand, what they gave, and the
    /// observations `[num_envs, ...]` that follow.
    ///
    /// # Errors
    /// [`TrainerError::NoFinalObs`] for an episode that was cut off without its last observation; for agents
    /// who are absent; bytes of another length.
    pub fn push(
        &mut self,
        actions: &ActionBatch,
        step: &StepBatch,
        obs: Vec<u8>,
    ) -> Result<(), TrainerError> {
        if !step.absent.is_empty() {
            return Err(TrainerError::ends_apart());
        }
        let truncated = truncated_obs(step)?;
        self.actions.write(self.place(self.steps, 0), actions);
        for env in 0..self.num_envs {
            let place = self.place(self.steps, env);
            self.rewards[place] = step.reward[env];
            self.ends[place] = if step.terminated[env] {
                End::Terminated
            } else {
                End::None
            };
        }
        for (env, last) in truncated {
            vec_env::EnvError::check_length(last, self.spec.num_bytes())?;
            let place = self.place(self.steps, env);
            self.ends[place] = End::Truncated;
            self.last.insert(place, last.into());
        }
        self.steps += 1;
        self.take(obs)
    }

    /// Writes the observations that are now in hand.
    fn take(&mut self, obs: Vec<u8>) -> Result<(), TrainerError> {
        let row_bytes = self.spec.num_bytes();
        let tensor = obs_tensor(&obs, self.num_envs, &self.spec)?;
        let frame_bytes = row_bytes / self.stack;
        for env in 0..self.num_envs {
            let place = self.place(self.steps, env);
            self.older.remove(&place);
            self.last.remove(&place);
            self.ends[place] = End::None;
            let older = &obs[env * row_bytes..][..row_bytes - frame_bytes];
            let goes_on =
                !self.in_hand.is_empty() && self.obs_in_hand(env)[frame_bytes..] == *older;
            if !goes_on && !older.is_empty() {
                self.older.insert(place, older.into());
            }
        }
        let newest = if self.stack == 1 {
            tensor.view_as(&self.frames.narrow(0, 0, self.num_envs as i64))
        } else {
            tensor.select(1, self.stack as i64 - 1)
        };
        let first = self.place(self.steps, 0) as i64;
        let mut row = self.frames.narrow(0, first, self.num_envs as i64);
        row.copy_(&newest);
        self.in_hand = obs;
        Ok(())
    }

    /// The observations in hand, for which no action is taken yet: bytes of `[num_envs, ...]`.
    pub(crate) fn in_hand(&self) -> &[u8] {
        &self.in_hand
    }

    /// The transitions that can be sampled: those whose n steps are over.
    #[must_use]
    pub fn held(&self) -> std::ops::Range<u64> {
        let end = (self.steps + 1).saturating_sub(self.n_step as u64);
        let start = end.saturating_sub(self.num_steps as u64);
        start * self.num_envs as u64..end * self.num_envs as u64
    }

    /// How many can be sampled at most: the capacity, rounded up to whole steps of all environments.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.num_steps * self.num_envs
    }

    /// The transitions of these numbers.
    ///
    /// # Panics
    /// If one of them cannot be sampled.
    pub fn get(&self, numbers: &[u64]) -> Result<Transitions, TrainerError> {
        let held = self.held();
        let (mut places, mut returns, mut discounts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut obs, mut next_obs) = (Vec::new(), Vec::new());
        for &number in numbers {
            assert!(held.contains(&number), "transition {number} of {held:?}");
            let num_envs = self.num_envs as u64;
            let (first, env) = (number / num_envs, (number % num_envs) as usize);
            places.push(self.place(first, env));
            obs.push(ObsPlace::At(first, env));
            let (mut sum, mut discount, mut step) = (0.0, 1.0, first);
            let after = loop {
                let place = self.place(step, env);
                sum += discount * f64::from(self.rewards[place]);
                discount *= self.gamma;
                step += 1;
                match self.ends[place] {
                    End::None if step - first < self.n_step as u64 => {}
                    End::None => break ObsPlace::At(step, env),
                    End::Terminated => {
                        discount = 0.0;
                        break ObsPlace::At(step, env);
                    }
                    End::Truncated => break ObsPlace::Last(place),
                }
            };
            returns.push(sum as f32);
            discounts.push(discount as f32);
            next_obs.push(after);
        }
        Ok(Transitions {
            obs: self.gather(&obs)?,
            actions: self.actions.gather(&places),
            returns: Tensor::from_slice(&returns),
            discounts: Tensor::from_slice(&discounts),
            next_obs: self.gather(&next_obs)?,
        })
    }

    /// The observations at these places, `[len, ...]`: the frames of the ring in one go, and then what
    /// is held beside over them.
    fn gather(&self, sources: &[ObsPlace]) -> Result<Tensor, TrainerError> {
        let mut places = Vec::with_capacity(sources.len() * self.stack);
        let mut beside = Vec::new();
        let frame_bytes = self.spec.num_bytes() / self.stack;
        for (index, source) in sources.iter().enumerate() {
            let first = index * self.stack;
            match *source {
                ObsPlace::Last(place) => {
                    places.extend(std::iter::repeat_n(0, self.stack));
                    beside.push((first, &*self.last[&place]));
                }
                ObsPlace::At(step, env) => {
                    // How many steps ago its older frames began to be those of the ring.
                    let since = (0..self.stack as u64 - 1)
                        .find(|back| self.older.contains_key(&self.place(step - back, env)));
                    if let Some(since) = since {
                        let older = &self.older[&self.place(step - since, env)];
                        beside.push((first, &older[since as usize * frame_bytes..]));
                    }
                    let back = since.unwrap_or(self.stack as u64 - 1);
                    let missing = self.stack - 1 - back as usize;
                    places.extend(std::iter::repeat_n(0, missing));
                    let steps = step - back..=step;
                    places.extend(steps.map(|step| self.place(step, env) as i64));
                }
            }
        }
        let gathered = self
            .frames
            .f_index_select(0, &Tensor::from_slice(&places))?;
        for (first, bytes) in beside {
            let count = bytes.len() / frame_bytes;
            let frames = obs_tensor(bytes, count, &frame_of(&self.spec))?;
            let mut target = gathered.narrow(0, first as i64, count as i64);
            target.copy_(&frames);
        }
        Ok(gathered.f_view(obs_shape(&[sources.len()], &self.spec).as_slice())?)
    }

    /// Where in the ring a step of an environment stands.
    fn place(&self, step: u64, env: usize) -> usize {
        (step % self.rows as u64) as usize * self.num_envs + env
    }

    fn obs_in_hand(&self, env: usize) -> &[u8] {
        let length = self.spec.num_bytes();
        &self.in_hand[env * length..][..length]
    }
}

/// Transitions to learn from, on the host.
#[derive(Debug)]
pub struct Transitions {
    /// The observations, `[batch, ...]`.
    pub obs: Tensor,
    /// The actions taken: int64 `[batch]`, continuous ones float32 `[batch, dims]`.
    pub actions: Tensor,
    /// Discounted sums of the rewards of n steps, or of those up to the episode's end, float32 `[batch]`.
    pub returns: Tensor,
    /// What the value of `next_obs` counts for: γ to the power of the steps taken, 0 where the episode
    /// terminated; float32 `[batch]`.
    pub discounts: Tensor,
    /// The observations after these steps, a truncated episode's last; of no meaning where the episode
    /// terminated. `[batch, ...]`.
    pub next_obs: Tensor,
}

impl Transitions {
    /// The same on a device.
    pub(crate) fn to_device(&self, device: Device) -> Self {
        Self {
            obs: self.obs.to_device(device),
            actions: self.actions.to_device(device),
            returns: self.returns.to_device(device),
            discounts: self.discounts.to_device(device),
            next_obs: self.next_obs.to_device(device),
        }
    }
}

/// Where an observation comes from.
enum ObsPlace {
    /// That of an environment before a step.
    At(u64, usize),
    /// The last of the episode that was truncated at this place.
    Last(usize),
}

/// Whether observations are stacks of frames. Three channels are taken for colours, none of which was seen before.
fn is_stack(spec: &ObsSpec) -> bool {
    spec.is_image() && spec.shape[0] != 3
}

/// Frames that observations are stacks of; 1 for those that are none.
fn stack_of(spec: &ObsSpec) -> usize {
    if is_stack(spec) { spec.shape[0] } else { 1 }
}

/// What one frame is like.
fn frame_of(spec: &ObsSpec) -> ObsSpec {
    let mut frame = spec.clone();
    if is_stack(spec) {
        frame.shape.remove(0);
    }
    frame
}

fn num_rows(spec: &ObsSpec, num_steps: usize, n_step: usize) -> usize {
    num_steps + n_step + stack_of(spec) - 1
}
