//! A rollout: what `num_envs` environments did in `num_steps` steps.

use std::ops::Range;

use tch::{Device, Kind, Tensor};
use vec_env::{ActionBatch, ObsSlot, ObsSpec, StepBatch};

use super::{Batch, Observations, Samples, advantage::gae, truncation::truncated_rows};
use crate::{error::TrainerError, nn::Memory, policy::Choice};

/// Observations, actions, rewards and ends of a rollout, step by step; then the next one.
///
/// Its observations lie in `num_steps + 1` rows that are used in turn: the row behind the last step is
/// the first of the next rollout and need not move. With groups of environments each has a row of its own
/// in every step, and samples are numbered as without: by the step, then by the environment.
#[derive(Debug)]
pub struct Rollout {
    observations: Observations,
    num_steps: usize,
    num_envs: usize,
    num_groups: usize,
    /// What the network remembered when it saw the first observation.
    memory: Memory,
    /// The row of the first observation.
    first_row: usize,
    /// Steps for which actions are chosen, those of each group counted by themselves.
    chosen: usize,
    /// Those of them that are over.
    received: usize,
    /// Actions of each of them as they were drawn, `[envs of a group]` or `[envs of a group, dims]`.
    pub actions: Vec<ActionBatch>,
    /// log π(action | observation) when it was taken; this and what follows are
    /// `[num_steps · num_envs]`, step-major.
    pub log_probs: Vec<f32>,
    /// V(observation) when the action was taken.
    pub values: Vec<f32>,
    /// Rewards to learn from; a truncated episode's last has γV(last observation) added.
    pub rewards: Vec<f32>,
    /// Whether the episode ended in this step.
    pub dones: Vec<bool>,
    /// Whether nobody was there to learn from: see [`StepBatch::absent`].
    absent: Vec<bool>,
}

impl Rollout {
    /// Room for `num_steps` steps of `num_envs` environments in `num_groups` groups, which take turns in everything,
    /// for a network that begins with `memory`.
    pub fn new(
        spec: &ObsSpec,
        num_steps: usize,
        (num_envs, num_groups): (usize, usize),
        memory: Memory,
        device: Device,
    ) -> Result<Self, TrainerError> {
        let (num_rows, of_group) = ((num_steps + 1) * num_groups, num_envs / num_groups);
        Ok(Self {
            observations: Observations::new(spec, (num_rows, of_group), num_groups, device)?,
            num_steps,
            num_envs,
            num_groups,
            memory,
            first_row: 0,
            chosen: 0,
            received: 0,
            actions: Vec::new(),
            log_probs: Vec::new(),
            values: Vec::new(),
            rewards: Vec::new(),
            dones: Vec::new(),
            absent: Vec::new(),
        })
    }

    /// Sends observations to a CUDA device beside its work from now on.
    pub fn stream(&mut self) -> Result<(), TrainerError> {
        self.observations.stream()
    }

    /// Where the next observations are written: those of a group that follow the actions chosen last, or
    /// the first, of all groups.
    pub fn next_obs(&mut self) -> ObsSlot {
        if self.chosen == 0 {
            return self.observations.lend_rows(self.rows_of(0));
        }
        let row = self.row_of(self.chosen - 1 + self.num_groups);
        self.observations.lend(row)
    }

    /// A copy of the newest observations of the group whose turn it is to act, `[envs of a group, ...]`.
    pub fn obs_in_turn(&mut self) -> Tensor {
        self.observations.row(self.row_of(self.chosen))
    }

    /// The last observation of each episode that `step`, to be taken next, cut off, `[1, ...]`, by its row, where the
    /// step behind it restarts the episode: what it wrote.
    pub(crate) fn truncated(&mut self, step: &StepBatch) -> Vec<(usize, Tensor)> {
        let rows: Vec<_> = truncated_rows(step).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let row = self.row_of(self.received + self.num_groups);
        let written = self.observations.row(row);
        let of_row = |row| (row, written.narrow(0, row as i64, 1));
        rows.into_iter().map(of_row).collect()
    }

    /// A copy of the observations written last where no step is in flight, `[num_envs, ...]`.
    pub fn newest_obs(&mut self) -> Tensor {
        let rows = self.rows_of(self.received / self.num_groups);
        let observations = &mut self.observations;
        one_of(rows.map(|row| observations.row(row)).collect())
    }

    /// The newest observations of the step that all groups have done, on the host, for a checkpoint;
    /// `[num_envs, ...]`.
    pub fn obs_in_hand(&self) -> Tensor {
        let rows = self.rows_of(self.received / self.num_groups);
        one_of(rows.map(|row| self.observations.host_row(row)).collect())
    }

    /// Writes the newest observations as [`Rollout::obs_in_hand`] gave them; the rollout is empty.
    pub fn set_obs_in_hand(&mut self, obs: &Tensor) -> Result<(), TrainerError> {
        let bytes = obs.f_contiguous()?.f_view_dtype(Kind::Uint8)?;
        let mut slot = self.next_obs();
        let numel = slot.len();
        Ok(bytes.f_copy_data_u8(&mut slot, numel)?)
    }

    /// Takes the actions chosen for the observations of the group in turn.
    ///
    /// # Panics
    /// If the rollout is full, or actions have been chosen for the group already.
    pub fn add_choice(&mut self, choice: Choice) {
        assert!(!self.is_full(), "a full rollout must be learned from first");
        assert!(self.can_act(), "the step of the last actions is missing");
        self.chosen += 1;
        self.actions.push(choice.actions);
        self.log_probs.extend(&choice.log_probs);
        self.values.extend(&choice.values);
    }

    /// Takes what the step of the oldest actions in flight gave, an entry for each environment of the group.
    ///
    /// # Panics
    /// If no actions have been chosen.
    pub fn add_step(&mut self, rewards: &[f32], dones: impl IntoIterator<Item = bool>) {
        assert!(self.received < self.chosen, "a step without actions");
        self.received += 1;
        self.rewards.extend(rewards);
        self.dones.extend(dones);
    }

    /// Leaves the rows of the step taken last that are `absent` out of what is learned from.
    pub(crate) fn leave_out(&mut self, absent: &[bool]) {
        let of_step = self.dones.len() - absent.len();
        self.absent.resize(of_step, false);
        self.absent.extend(absent);
    }

    /// The sequences to learn from, of `count`.
    pub(crate) fn sequences(&self, count: usize) -> Vec<i64> {
        let is_there = |sequence: &i64| self.absent.get(*sequence as usize) != Some(&true);
        (0..count as i64).filter(is_there).collect()
    }

    /// Whether there is room for the actions of another step, and its group's observations are there.
    pub(crate) fn can_act(&self) -> bool {
        let has_room = self.chosen < self.num_steps * self.num_groups;
        has_room && self.chosen < self.received + self.num_groups
    }

    /// Whether nothing has happened in it yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chosen == 0
    }

    /// The group that acts next, and the one whose step comes next.
    #[must_use]
    pub fn turns(&self) -> (usize, usize) {
        (
            self.chosen % self.num_groups,
            self.received % self.num_groups,
        )
    }

    /// Whether all steps are there; [`Rollout::newest_obs`] are then those behind the last.
    pub(crate) fn is_full(&self) -> bool {
        self.received == self.num_steps * self.num_groups
    }

    /// Number of groups of environments.
    pub(crate) fn num_groups(&self) -> usize {
        self.num_groups
    }

    /// Number of environments, of all groups.
    #[must_use]
    pub fn num_envs(&self) -> usize {
        self.num_envs
    }

    /// Number of environments in a group.
    pub(crate) fn envs_per_group(&self) -> usize {
        self.observations.num_envs()
    }

    /// Number of samples in a full rollout.
    pub(crate) fn num_samples(&self) -> usize {
        self.num_steps * self.num_envs
    }

    /// The generalized advantages of a full rollout, `[num_steps · num_envs]`: see [`gae`].
    #[must_use]
    pub fn gae(&self, last_values: &[f32], gamma: f64, lambda: f64) -> Vec<f32> {
        let (rewards, values, dones) = (&self.rewards, &self.values, &self.dones);
        gae(rewards, values, dones, last_values, gamma, lambda)
    }

    /// Everything but the observations, as tensors where the network runs.
    #[must_use]
    pub fn samples(&self, advantages: &[f32]) -> Samples {
        let device = self.observations.device();
        let floats = |values: &[f32]| Tensor::from_slice(values).to_device(device);
        let (values, advantages) = (floats(&self.values), floats(advantages));
        let num_envs = self.envs_per_group();
        let steps = self.actions.iter();
        let actions: Vec<Tensor> = steps.map(|step| action_tensor(step, num_envs)).collect();
        Samples {
            actions: Tensor::cat(&actions, 0).to_device(device),
            log_probs: floats(&self.log_probs),
            returns: &advantages + &values,
            values,
            advantages,
        }
    }

    /// Number of sequences that a minibatch takes whole: the samples, each by itself; for a network with a
    /// memory, all steps of each environment.
    pub(crate) fn num_sequences(&self) -> usize {
        match self.memory.state() {
            None => self.num_samples(),
            Some(_) => self.num_envs,
        }
    }

    /// The samples of these `sequences` of a full rollout. On the CPU their observations are views, which must not be read
    /// once the rollout is filled anew.
    pub fn batch(&mut self, sequences: &[i64]) -> Batch {
        let mut batch = Batch {
            indices: sequences.to_vec(),
            ..Batch::default()
        };
        if self.memory.state().is_some() {
            let num_envs = self.num_envs as i64;
            let steps = 0..self.num_steps as i64;
            let of_step = |step| sequences.iter().map(move |env| step * num_envs + env);
            batch.indices = steps.flat_map(of_step).collect();
            batch.memory = self.memory.select(sequences);
            // An episode starts in the step after an end; whether in the first, its memory says.
            let starts =
                |index: &i64| *index >= num_envs && self.dones[(index - num_envs) as usize];
            batch.episode_starts = batch.indices.iter().map(starts).collect();
        }
        let of_group = self.envs_per_group();
        let places = batch.indices.iter().map(|index| {
            let (step, env) = (*index as usize / of_group, *index as usize % of_group);
            (self.row_of(step) * of_group + env) as i64
        });
        let places: Vec<i64> = places.collect();
        batch.obs = self.observations.observed(places);
        batch
    }

    /// Sends what [`Rollout::batch_at`] reads where the network runs.
    pub(crate) fn prepare(&mut self) {
        for step in 0..self.num_steps * self.num_groups {
            self.observations.make_readable(self.row_of(step));
        }
    }

    /// Where the observation of each sample lies, for [`Rollout::batch_at`].
    pub(crate) fn places(&self) -> Vec<i64> {
        let of_group = self.envs_per_group();
        let steps = 0..self.num_steps * self.num_groups;
        let firsts = steps.map(|step| self.row_of(step) * of_group);
        let places = firsts.flat_map(|first| first..first + of_group);
        places.map(|place| place as i64).collect()
    }

    /// [`Rollout::batch`] without a memory, of the samples that lie at these `places`, which lie where the
    /// network runs.
    pub(crate) fn batch_at(&self, places: &Tensor) -> Batch {
        Batch {
            obs: (&self.observations.at(places)).into(),
            ..Batch::default()
        }
    }

    /// Begins the next rollout with the observations behind this one's last step, and with what the
    /// network remembers before it sees them.
    pub fn restart(&mut self, memory: Memory) {
        self.memory = memory;
        self.first_row = self.row_of(self.received / self.num_groups * self.num_groups);
        (self.chosen, self.received) = (0, 0);
        self.actions.clear();
        self.log_probs.clear();
        self.values.clear();
        self.rewards.clear();
        self.dones.clear();
        self.absent.clear();
    }

    /// The row of a step, those of each group counted by themselves.
    fn row_of(&self, step: usize) -> usize {
        (self.first_row + step) % ((self.num_steps + 1) * self.num_groups)
    }

    fn rows_of(&self, step: usize) -> Range<usize> {
        let first = self.row_of(step * self.num_groups);
        first..first + self.num_groups
    }
}

/// Several tensors one after another; one alone as it is.
fn one_of(mut tensors: Vec<Tensor>) -> Tensor {
    match tensors.len() {
        1 => tensors.remove(0),
        _ => Tensor::cat(&tensors, 0),
    }
}

/// Actions of `num_envs` environments: discrete ones int64 `[num_envs]`, continuous ones float32
/// `[num_envs, dims]`.
fn action_tensor(actions: &ActionBatch, num_envs: usize) -> Tensor {
    match actions {
        ActionBatch::Discrete(actions) => Tensor::from_slice(actions),
        ActionBatch::Continuous(actions) => Tensor::from_slice(actions).view([num_envs as i64, -1]),
    }
}

#[cfg(test)]
mod tests;
