//! Everything that DQN's future depends on, as plain data, and back.

use serde_json::json;
use tch::{Device, Tensor};

use super::{Dqn, Progress, new_priorities, new_replay};
use crate::{
    algorithms::State,
    data::{Priorities, Replay, obs_tensor},
    error::TrainerError,
    policy::to_vec,
};

/// What the gradient steps since the last update say.
const TERMS: &str = "terms_of_update";
const OBS_IN_HAND: &str = "obs_in_hand";
const PRIORITIES: &str = "replay.priorities";
const LARGEST_PRIORITY: &str = "replay.largest_priority";

impl Dqn {
    /// What [`Algorithm::state`](crate::algorithms::Algorithm::state) returns.
    pub(super) fn to_state(&self) -> Result<State, TrainerError> {
        let target = self.target_tensors();
        let mut state = self.learner.state(&borrowed(&target))?;
        let progress = serde_json::to_value(self.progress)
            .map_err(|error| TrainerError::State(format!("value `progress`: {error}")))?;
        state.values.insert("progress".to_owned(), progress);
        if !self.terms.is_empty() {
            let terms = Tensor::stack(&self.terms, 0).to_device(Device::Cpu);
            state.tensors.push((TERMS.to_owned(), terms));
        }
        state.replay = self.replay.state();
        if state.replay.is_empty() {
            return Ok(state); // nothing has been seen yet
        }
        let obs = obs_tensor(self.replay.in_hand(), self.num_envs, &self.obs_spec)?;
        state.tensors.push((OBS_IN_HAND.to_owned(), obs));
        if let Some(priorities) = &self.priorities {
            let (leaves, largest) = priorities.state();
            let leaves = Tensor::from_slice(leaves);
            state.replay.push((PRIORITIES.to_owned(), leaves));
            state
                .values
                .insert(LARGEST_PRIORITY.to_owned(), json!(largest));
        }
        Ok(state)
    }

    /// What [`Algorithm::load_state`](crate::algorithms::Algorithm::load_state) does. Without the replay
    /// memory it begins an empty one with the observations in hand.
    pub(super) fn take_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let mut progress: Progress = state.value("progress")?;
        let mut replay = new_replay(&self.settings, &self.obs_spec, self.num_envs)?;
        let mut priorities = new_priorities(&self.settings, &replay);
        if state.replay.is_empty() {
            // Gradient steps that a stop broke off have nothing to be taken on.
            progress.steps_to_learn %= self.settings.train_frequency;
        }
        let in_hand = state.tensors.iter().find(|(name, _)| name == OBS_IN_HAND);
        if let Some((_, obs)) = in_hand {
            let obs = bytes(obs, self.num_envs * self.obs_spec.num_bytes())?;
            if state.replay.is_empty() {
                replay.restart(obs)?;
            } else {
                replay.load(&state.replay, obs, self.num_actions)?;
                if let Some(priorities) = &mut priorities {
                    load_priorities(priorities, &replay, state)?;
                }
            }
        }
        let target = self.target_tensors();
        self.learner.load_state(state, &borrowed(&target))?;
        (self.replay, self.priorities, self.progress) = (replay, priorities, progress);
        self.actions.clear();
        let terms = state.tensors.iter().find(|(name, _)| name == TERMS);
        let terms = terms.map(|(_, terms)| terms.to_device(self.target.params.device()));
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

fn load_priorities(
    priorities: &mut Priorities,
    replay: &Replay,
    state: &State,
) -> Result<(), TrainerError> {
    let largest = state.value(LARGEST_PRIORITY)?;
    let leaves = state.replay.iter().find(|(name, _)| name == PRIORITIES);
    let Some((_, leaves)) = leaves else {
        return Err(TrainerError::State(format!(
            "tensor `{PRIORITIES}` is missing"
        )));
    };
    let leaves = to_vec::<f64>(&leaves.to_kind(tch::Kind::Double));
    let is_held = replay.held().all(|number| {
        let leaf = leaves.get((number % replay.capacity() as u64) as usize);
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
