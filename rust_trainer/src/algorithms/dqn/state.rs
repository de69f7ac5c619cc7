//! Everything that DQN's future depends on, as plain data, and back.

use std::ops::Range;

use serde_json::json;
use tch::{Device, Kind, Tensor};

use super::{Dqn, new_priorities, new_replay, of_all, replay_of_ranks};
use crate::{
    algorithms::{in_hand::InHand, progress::Progress, state::State},
    data::{Priorities, Replay, ReplayState},
    error::TrainerError,
    ranks::Ranks,
    tensors::{obs_kind, obs_tensor, to_vec},
};

/// What the gradient steps since the last update say.
const TERMS: &str = "terms_of_update";
const PRIORITIES: &str = "replay.priorities";
const LARGEST_PRIORITY: &str = "replay.largest_priority";

impl Dqn {
    /// What [`Algorithm::state`](crate::algorithms::Algorithm::state) returns; the replay memory is that of all
    /// ranks at rank 0, and none elsewhere.
    pub(super) fn to_state(&self) -> Result<State, TrainerError> {
        let mut state = self.without_replay()?;
        let Some(own) = self.replay.state() else {
            return Ok(state);
        };
        let Some(whole) = replay_of_ranks::gathered(&self.learner.ranks, own, self.num_envs)?
        else {
            return Ok(state);
        };
        state.replay = whole.named();
        if let Some(priorities) = &self.priorities {
            let (leaves, largest) = priorities.state();
            let leaves = (PRIORITIES.to_owned(), Tensor::from_slice(leaves));
            state.replay.push(leaves);
            let largest = (LARGEST_PRIORITY.to_owned(), json!(largest));
            state.values.extend([largest]);
        }
        Ok(state)
    }

    /// The same without the replay memory.
    fn without_replay(&self) -> Result<State, TrainerError> {
        let mut state = self.learner.state(&self.target_tensors())?;
        let progress = json!(self.progress);
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
            state.tensors.push((State::OBS_IN_HAND.to_owned(), obs));
        }
        Ok(state)
    }

    /// What [`Algorithm::load_state`](crate::algorithms::Algorithm::load_state) does; rank 0 has the replay memory
    /// of all. Without one each begins an empty one with the observations in hand.
    pub(super) fn take_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let new = |dqn: &Self| {
            let (spaces, ranks) = ((&dqn.obs_spec, &dqn.action_space), &dqn.learner.ranks);
            new_replay(&dqn.settings, spaces, dqn.num_envs, ranks)
        };
        Replay::filled_of(
            self,
            |dqn| &mut dqn.replay,
            new,
            |dqn| dqn.take_into_empty(state),
        )
    }

    /// The same where the replay memory is empty, which a failure leaves in part.
    fn take_into_empty(&mut self, state: &State) -> Result<(), TrainerError> {
        let ranks = self.learner.ranks.clone();
        let mut progress: Progress = state.value("progress")?;
        let targets = self.target_tensors();
        let replay = &mut self.replay;
        let mut priorities = new_priorities(&self.settings, replay, &ranks);
        let whole = match state.replay.as_slice() {
            [] => None,
            named => Some(ReplayState::of_named(
                named,
                obs_kind(&self.obs_spec),
                &self.action_space,
            )?),
        };
        let held = replay_of_ranks::handed_out(&ranks, whole, replay, self.num_envs)?;
        if held.is_none() {
            // Gradient steps that a stop broke off have nothing to be taken on.
            progress.steps_to_learn %= self.settings.train_frequency;
        }
        let length = self.num_envs * self.obs_spec.num_bytes() * ranks.count();
        if let Some(obs) = state.obs_in_hand(length)? {
            let obs = obs[ranks.share(length)].to_vec();
            if let Some(held) = &held {
                replay.load(held, obs)?;
                if let Some(priorities) = &mut priorities {
                    let held = of_all(&ranks, &replay.held());
                    load_priorities(priorities, held, state, &ranks)?;
                }
            } else {
                replay.restart(obs)?;
            }
        }
        self.learner.load_state(state, &targets)?;
        (self.priorities, self.progress) = (priorities, progress);
        self.in_hand = InHand::new(self.num_envs * self.obs_spec.num_bytes());
        self.terms.clear();
        if let Some(terms) = state.tensor(TERMS) {
            let terms = terms.copy().to_device(self.learner.device());
            if !ranks.is_first() {
                let _ = of_samples(&terms).zero_(); // they are sums over the ranks
            }
            self.terms = terms.unbind(0);
        }
        Ok(())
    }

    /// The weights of the target network with their names in a state.
    fn target_tensors(&self) -> Vec<(String, Tensor)> {
        let named = self.target.params.named();
        let named = named.map(|(name, tensor)| (format!("target.{name}"), tensor.shallow_clone()));
        named.collect()
    }
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
