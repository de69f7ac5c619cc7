//! A replay memory as plain tensors, and back.

use std::{collections::HashMap, mem};

use tch::{Kind, Tensor};
use vec_env::ActionSpace;

use super::{End, HeldActions, Replay};
use crate::{error::TrainerError, tensors::to_vec};

/// What a replay memory holds but for the observations in hand. Its places are steps and environments,
/// step-major.
#[derive(Debug)]
pub struct ReplayState {
    /// Steps that are over.
    pub steps: u64,
    /// The newest frame of each observation, `[places, ...]`; a view of the memory.
    pub frames: Tensor,
    /// int64 `[places]`, continuous ones float32 `[places, dims]`.
    pub actions: Tensor,
    /// float32 `[places]`.
    pub rewards: Tensor,
    /// Whether the episode ended, and how; uint8 `[places]`.
    pub ends: Tensor,
    /// The older frames of observations that do not go on from the one before.
    pub older: Entries,
    /// The last observations of truncated episodes.
    pub last: Entries,
}

/// What is held at some places: equally many bytes each.
#[derive(Debug)]
pub struct Entries {
    /// Which places.
    pub places: Vec<i64>,
    /// Of one place after another.
    pub bytes: Vec<u8>,
}

impl ReplayState {
    /// Its tensors, by the names that they have in a checkpoint.
    #[must_use]
    pub fn named(&self) -> Vec<(String, Tensor)> {
        let tensors = [
            ("steps", Tensor::from_slice(&[self.steps as i64])),
            ("frames", self.frames.shallow_clone()),
            ("actions", self.actions.shallow_clone()),
            ("rewards", self.rewards.shallow_clone()),
            ("ends", self.ends.shallow_clone()),
            ("older_places", Tensor::from_slice(&self.older.places)),
            ("older", Tensor::from_slice(&self.older.bytes)),
            ("last_places", Tensor::from_slice(&self.last.places)),
            ("last", Tensor::from_slice(&self.last.bytes)),
        ];
        let named = tensors.into_iter();
        named
            .map(|(name, tensor)| (format!("replay.{name}"), tensor))
            .collect()
    }

    /// Of tensors by their names; frames have numbers of type `kind`, and actions are of `space`.
    pub fn of_named(
        tensors: &[(String, Tensor)],
        kind: Kind,
        space: &ActionSpace,
    ) -> Result<Self, TrainerError> {
        let find = |name: &str, kind: Kind| {
            let full = format!("replay.{name}");
            let mut found = tensors.iter().filter(|(of, _)| *of == full);
            let found = found.find(|(_, tensor)| tensor.kind() == kind);
            found
                .map(|(_, tensor)| tensor.shallow_clone())
                .ok_or_else(|| unfit(name))
        };
        let entries = |name: &str| -> Result<Entries, TrainerError> {
            Ok(Entries {
                places: to_vec(&find(&format!("{name}_places"), Kind::Int64)?),
                bytes: to_vec(&find(name, Kind::Uint8)?),
            })
        };
        let steps = match to_vec::<i64>(&find("steps", Kind::Int64)?)[..] {
            [steps] => u64::try_from(steps).ok(),
            _ => None,
        };
        Ok(Self {
            steps: steps.ok_or_else(|| unfit("steps"))?,
            frames: find("frames", kind)?,
            actions: find("actions", HeldActions::kind(space))?,
            rewards: find("rewards", Kind::Float)?,
            ends: find("ends", Kind::Uint8)?,
            older: entries("older")?,
            last: entries("last")?,
        })
    }
}

impl Entries {
    fn of(held: &HashMap<usize, Box<[u8]>>) -> Self {
        let mut places: Vec<usize> = held.keys().copied().collect();
        places.sort_unstable();
        let bytes = places.iter().flat_map(|place| &held[place]).copied();
        Self {
            bytes: bytes.collect(),
            places: places.into_iter().map(|place| place as i64).collect(),
        }
    }

    /// By place, `length` bytes each of places below `end`; `None` for anything else.
    fn by_place(&self, length: usize, end: usize) -> Option<HashMap<usize, Box<[u8]>>> {
        let fits = |place: &i64| (0..end as i64).contains(place);
        if self.bytes.len() != self.places.len() * length || !self.places.iter().all(fits) {
            return None;
        }
        let parts = self.bytes.chunks_exact(length.max(1)).map(Box::from);
        let places = self.places.iter().map(|place| *place as usize);
        Some(places.zip(parts).collect())
    }
}

impl Replay {
    /// Everything that is held but the observations in hand; nothing before the first observations.
    #[must_use]
    pub fn state(&self) -> Option<ReplayState> {
        if self.in_hand.is_empty() {
            return None;
        }
        let frames = self.room(self.steps);
        let places = frames.size()[0] as usize;
        let ends: Vec<u8> = self.ends[..places].iter().map(|end| *end as u8).collect();
        Some(ReplayState {
            steps: self.steps,
            frames,
            actions: self.actions.first(places),
            rewards: Tensor::from_slice(&self.rewards[..places]),
            ends: Tensor::from_slice(&ends),
            older: Entries::of(&self.older),
            last: Entries::of(&self.last),
        })
    }

    /// The memory of the frames that are there when so many steps are over, `[places, ...]`. Who has them to
    /// [load](Replay::load) in pieces writes them here first, and gives this for them.
    pub fn room(&self, steps: u64) -> Tensor {
        let places = self.filled_rows(steps) * self.num_envs;
        self.frames.narrow(0, 0, places as i64)
    }

    /// Goes on from what [`Replay::state`] gave, with the observations in hand, in a memory of the same
    /// size for as many environments with the same actions.
    ///
    /// # Errors
    /// [`TrainerError::State`] for anything else; nothing changes then.
    pub fn load(&mut self, state: &ReplayState, in_hand: Vec<u8>) -> Result<(), TrainerError> {
        let rows = self.filled_rows(state.steps);
        let places = rows * self.num_envs;
        let mut target = self.room(state.steps);
        let actions = self.actions.read(&state.actions, places);
        let rewards = to_vec::<f32>(&state.rewards);
        let ends = to_vec::<u8>(&state.ends);
        if state.frames.size() != target.size()
            || [rewards.len(), ends.len()] != [places; 2]
            || in_hand.len() != self.num_envs * self.spec.num_bytes()
            || !rewards.iter().all(|reward| reward.is_finite())
        {
            return Err(unfit("transitions"));
        }
        let actions = actions.ok_or_else(|| unfit("actions"))?;
        let ends: Option<Vec<End>> = ends.into_iter().map(End::from_byte).collect();
        let ends = ends.ok_or_else(|| unfit("ends"))?;
        let length = self.spec.num_bytes();
        let older = state.older.by_place(length - length / self.stack, places);
        let older = older.ok_or_else(|| unfit("older"))?;
        let last = state.last.by_place(length, places);
        let last = last.ok_or_else(|| unfit("last"))?;
        // The first step of all goes on from nothing, and a truncated episode has a last observation.
        let is_first_there = self.stack == 1
            || rows == self.rows
            || (0..self.num_envs).all(|env| older.contains_key(&env));
        let mut cut = (0..places).filter(|&place| ends[place] == End::Truncated);
        if !is_first_there || !cut.all(|place| last.contains_key(&place)) {
            return Err(unfit("stacks"));
        }
        if state.frames.data_ptr() != target.data_ptr() {
            target.copy_(&state.frames);
        }
        self.steps = state.steps;
        self.actions.write(0, &actions);
        self.rewards[..places].copy_from_slice(&rewards);
        self.ends[..places].copy_from_slice(&ends);
        (self.older, self.last, self.in_hand) = (older, last, in_hand);
        Ok(())
    }

    /// Lets `fill` fill the memory that `of` has, if that is empty, for there may be no room for another; else a `new`
    /// one in its place. Where `fill` fails, the memory is as it was.
    pub(crate) fn filled_of<A>(
        of: &mut A,
        memory: impl Fn(&mut A) -> &mut Self,
        new: impl Fn(&A) -> Result<Self, TrainerError>,
        fill: impl FnOnce(&mut A) -> Result<(), TrainerError>,
    ) -> Result<(), TrainerError> {
        let mut old = None;
        if !memory(of).in_hand.is_empty() {
            let new = new(of)?;
            old = Some(mem::replace(memory(of), new));
        }
        let filled = fill(of);
        if filled.is_err() {
            match old {
                Some(old) => *memory(of) = old,
                None => memory(of).clear(),
            }
        }
        filled
    }

    /// Forgets all that is held.
    fn clear(&mut self) {
        self.steps = 0;
        self.older.clear();
        self.last.clear();
        self.in_hand.clear();
    }

    /// Rows that are written to by the time that so many steps are over.
    fn filled_rows(&self, steps: u64) -> usize {
        steps.saturating_add(1).min(self.rows as u64) as usize
    }
}

impl End {
    fn from_byte(byte: u8) -> Option<Self> {
        let ends = [Self::None, Self::Terminated, Self::Truncated];
        ends.into_iter().find(|end| *end as u8 == byte)
    }
}

/// What is not of a replay memory like this run's.
pub(crate) fn unfit(name: &str) -> TrainerError {
    TrainerError::State(format!("replay memory: `{name}` does not fit this run"))
}
