//! Everything that DQN's future depends on, as plain data, and back.

use std::ops::Range;

use serde_json::json;
use tch::{Device, Kind, Tensor};

use super::{Dqn, Progress, divided, new_priorities, new_replay, of_all};
use crate::{
    algorithms::State,
    data::Priorities,
    error::TrainerError,
    ranks::Ranks,
    tensors::{obs_tensor, to_vec},
};

/// What the gradient steps since the last update say.
const TERMS: &str = "terms_of_update";
const OBS_IN_HAND: &str = "obs_in_hand";
const PRIORITIES: &str = "replay.priorities";
const LARGEST_PRIORITY: &str = "replay.largest_priority";

impl Dqn {
    /// What [`Algorithm::state`](crate::algorithms::Algorithm::state) returns; the replay memory is that of all
    /// ranks at rank 0, and none elsewhere.
    pub(super) fn to_state(&self) -> Result<State, TrainerError> {
        let mut state = self.learned()?;
        let ranks = &self.learner.ranks;
        state.replay = divided::gathered(ranks, &self.replay.state(), self.num_envs)?;
        if let Some(priorities) = self
            .priorities
            .as_ref()
            .filter(|_| !state.replay.is_empty())
        {
            let (leaves, largest) = priorities.state();
            let leaves = Tensor::from_slice(leaves);
            state.replay.push((PRIORITIES.to_owned(), leaves));
            state
                .values
                .insert(LARGEST_PRIORITY.to_owned(), json!(largest));
        }
        Ok(state)
    }

    /// The same without the replay memory.
    pub(super) fn learned(&self) -> Result<State, TrainerError> {
        let target = self.target_tensors();
        let mut state = self.learner.state(&borrowed(&target))?;
        let progress = serde_json::to_value(self.progress)
            .map_err(|error| TrainerError::State(format!("value `progress`: {error}")))?;
        state.values.insert("progress".to_owned(), progress);
        let ranks = &self.learner.ranks;
        if !self.terms.is_empty() {
            let terms = Tensor::stack(&self.terms, 0).to_device(Device::Cpu);
            let mut sums = of_samples(&terms).contiguous();
            ranks.sum(&mut sums)?;
            of_samples(&terms).copy_(&sums);
            state.tensors.push((TERMS.to_owned(), terms));
        }
        if !self.replay.in_hand().is_empty() {
            let obs = obs_tensor(self.replay.in_hand(), self.num_envs, &self.obs_spec)?;
            let obs = ranks.rows_at_first(&obs, 0)?;
            state.tensors.push((OBS_IN_HAND.to_owned(), obs));
        }
        Ok(state)
    }

    /// What [`Algorithm::load_state`](crate::algorithms::Algorithm::load_state) does; rank 0 has the replay memory
    /// of all. Without one each begins an empty one with the observations in hand.
    pub(super) fn take_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let ranks = self.learner.ranks.clone();
        let mut progress: Progress = state.value("progress")?;
        let mut replay = new_replay(&self.settings, &self.obs_spec, self.num_envs, &ranks)?;
        let mut priorities = new_priorities(&self.settings, &replay, &ranks);
        let held = divided::handed_out(&ranks, &state.replay, &replay, self.num_envs)?;
        if held.is_empty() {
            // Gradient steps that a stop broke off have nothing to be taken on.
            progress.steps_to_learn %= self.settings.train_frequency;
        }
        let in_hand = state.tensors.iter().find(|(name, _)| name == OBS_IN_HAND);
        if let Some((_, obs)) = in_hand {
            let of_rank = self.num_envs * self.obs_spec.num_bytes();
            let obs = bytes(obs, of_rank * ranks.count())?;
            let obs = obs[ranks.share(obs.len())].to_vec();
            if held.is_empty() {
                replay.restart(obs)?;
            } else {
                replay.load(&held, obs, self.num_actions)?;
                if let Some(priorities) = &mut priorities {
                    let held = of_all(&ranks, &replay.held());
                    load_priorities(priorities, held, state, &ranks)?;
                }
            }
        }
        let target = self.target_tensors();
        self.learner.load_state(state, &borrowed(&target))?;
        (self.replay, self.priorities, self.progress) = (replay, priorities, progress);
        self.actions.clear();
        let terms = state.tensors.iter().find(|(name, _)| name == TERMS);
        let terms = terms.map(|(_, terms)| terms.copy().to_device(self.target.params.device()));
        if let Some(terms) = terms.as_ref().filter(|_| !ranks.is_first()) {
            let _ = of_samples(terms).zero_(); // they are sums over the ranks
        }
        self.terms = terms.map_or_else(Vec::new, |terms| terms.unbind(0));
        self.is_reset = false;
        Ok(())
    }

    /// The weights of the target network with their names in a state.
    fn target_tensors(&self) -> Vec<(String, Tensor)> {
        let named = self.target.params.named();
        let named = named.map(|(name, tensor)| (format!("target.{name}"), tensor.shallow_clone()));
        named.collect()
    }
}

fn borrowed(tensors: &[(String, Tensor)]) -> Vec<(&str, &Tensor)> {
    let named = tensors.iter();
    named
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect()
}

/// Of the terms of gradient steps, `[steps, terms]`, those of which each rank has its share: all but the last,
/// the gradient's norm.
fn of_samples(terms: &Tensor) -> Tensor {
    terms.narrow(1, 0, terms.size()[1] - 1)
}

/// Takes the priorities that rank 0 has; the transitions `held` must all have theirs.
fn load_priorities(
    priorities: &mut Priorities,
    mut held: Range<u64>,
    state: &State,
    ranks: &Ranks,
) -> Result<(), TrainerError> {
    let largest = state.value(LARGEST_PRIORITY)?;
    let leaves = state.replay.iter().find(|(name, _)| name == PRIORITIES);
    if leaves.is_none() && ranks.is_first() {
        let problem = format!("tensor `{PRIORITIES}` is missing");
        return Err(TrainerError::State(problem));
    }
    let leaves = leaves.map(|(_, leaves)| to_vec::<f64>(&leaves.to_kind(Kind::Double)));
    let bytes = leaves.iter().flatten().flat_map(|leaf| leaf.to_ne_bytes());
    let bytes = ranks.of_first(&bytes.collect::<Vec<u8>>())?;
    let leaves = bytes.as_chunks().0.iter();
    let leaves: Vec<f64> = leaves.map(|bytes| f64::from_ne_bytes(*bytes)).collect();
    let capacity = leaves.len().max(1) as u64;
    let is_held = held.all(|number| {
        let leaf = leaves.get((number % capacity) as usize);
        leaf.is_some_and(|leaf| *leaf > 0.0)
    });
    if !is_held {
        let problem = "priorities: not those of this replay memory".to_owned();
        return Err(TrainerError::State(problem));
    }
    priorities.load(&leaves, largest)
}

/// The bytes of a tensor of `length` bytes.
fn bytes(tensor: &Tensor, length: usize) -> Result<Vec<u8>, TrainerError> {
    let tensor = tensor.contiguous();
    let found = tensor.numel() * tensor.kind().elt_size_in_bytes();
    if found != length {
        return Err(TrainerError::State(format!(
            "tensor `{OBS_IN_HAND}` has {found} bytes, the environments give {length}"
        )));
    }
    let mut bytes = vec![0; length];
    tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
    Ok(bytes)
}
