//! A replay memory as plain tensors, and back.

use std::collections::HashMap;

use tch::{Kind, Tensor};

use super::{End, Replay};
use crate::{error::TrainerError, tensors::to_vec};

impl Replay {
    /// Everything that is held, as named tensors, but for the observations in hand; the frames are a
    /// view of the memory. Nothing before the first observations.
    #[must_use]
    pub fn state(&self) -> Vec<(String, Tensor)> {
        if self.in_hand.is_empty() {
            return Vec::new();
        }
        let frames = self.room(self.steps);
        let places = frames.size()[0] as usize;
        let ends: Vec<u8> = self.ends[..places].iter().map(|end| *end as u8).collect();
        let (older_places, older) = joined(&self.older);
        let (last_places, last) = joined(&self.last);
        let tensors = [
            ("steps", Tensor::from_slice(&[self.steps as i64])),
            ("frames", frames),
            ("actions", Tensor::from_slice(&self.actions[..places])),
            ("rewards", Tensor::from_slice(&self.rewards[..places])),
            ("ends", Tensor::from_slice(&ends)),
            ("older_places", Tensor::from_slice(&older_places)),
            ("older", Tensor::from_slice(&older)),
            ("last_places", Tensor::from_slice(&last_places)),
            ("last", Tensor::from_slice(&last)),
        ];
        let named = tensors.into_iter();
        named
            .map(|(name, tensor)| (format!("replay.{name}"), tensor))
            .collect()
    }

    /// The memory of the frames that are there when so many steps are over, `[places, ...]`. Who has them to
    /// [load](Replay::load) in pieces writes them here first, and gives this for them.
    pub fn room(&self, steps: u64) -> Tensor {
        let places = self.filled_rows(steps) * self.num_envs;
        self.frames.narrow(0, 0, places as i64)
    }

    /// Goes on from what [`Replay::state`] gave, with the observations in hand, in a memory of the same
    /// size for as many environments with `num_actions` actions each.
    ///
    /// # Errors
    /// [`TrainerError::State`] for anything else; nothing changes then.
    pub fn load(
        &mut self,
        tensors: &[(String, Tensor)],
        in_hand: Vec<u8>,
        num_actions: i64,
    ) -> Result<(), TrainerError> {
        let find = |name: &str, kind: Kind| {
            let name = format!("replay.{name}");
            let found = tensors.iter().find(|(of, _)| *of == name);
            let found = found.filter(|(_, tensor)| tensor.kind() == kind);
            found.map(|(_, tensor)| tensor).ok_or_else(|| unfit(&name))
        };
        let steps = to_vec::<i64>(find("steps", Kind::Int64)?);
        let &[steps] = steps.as_slice() else {
            return Err(unfit("steps"));
        };
        let steps = u64::try_from(steps).map_err(|_| unfit("steps"))?;
        let rows = self.filled_rows(steps);
        let places = rows * self.num_envs;
        let frames = find("frames", self.frames.kind())?;
        let mut target = self.room(steps);
        let actions = to_vec::<i64>(find("actions", Kind::Int64)?);
        let rewards = to_vec::<f32>(find("rewards", Kind::Float)?);
        let ends = to_vec::<u8>(find("ends", Kind::Uint8)?);
        let is_action = |action: &i64| (0..num_actions).contains(action);
        if frames.size() != target.size()
            || [actions.len(), rewards.len(), ends.len()] != [places; 3]
            || in_hand.len() != self.num_envs * self.spec.num_bytes()
            || !actions.iter().all(is_action)
            || !rewards.iter().all(|reward| reward.is_finite())
        {
            return Err(unfit("transitions"));
        }
        let ends: Option<Vec<End>> = ends.into_iter().map(End::from_byte).collect();
        let ends = ends.ok_or_else(|| unfit("ends"))?;
        let parted = |name: &str, length: usize| {
            let indices = to_vec::<i64>(find(&format!("{name}_places"), Kind::Int64)?);
            let bytes = to_vec::<u8>(find(name, Kind::Uint8)?);
            let fits = |place: &i64| (0..places as i64).contains(place);
            if bytes.len() != indices.len() * length || !indices.iter().all(fits) {
                return Err(unfit(name));
            }
            let parts = bytes.chunks_exact(length.max(1)).map(Box::from);
            let indices = indices.into_iter().map(|place| place as usize);
            Ok(indices.zip(parts).collect::<HashMap<usize, Box<[u8]>>>())
        };
        let length = self.spec.num_bytes();
        let older = parted("older", length - length / self.stack)?;
        let last = parted("last", length)?;
        // The first step of all goes on from nothing, and a truncated episode has a last observation.
        let is_first_there = self.stack == 1
            || rows == self.rows
            || (0..self.num_envs).all(|env| older.contains_key(&env));
        let mut cut = (0..places).filter(|&place| ends[place] == End::Truncated);
        if !is_first_there || !cut.all(|place| last.contains_key(&place)) {
            return Err(unfit("stacks"));
        }
        if frames.data_ptr() != target.data_ptr() {
            target.copy_(frames);
        }
        self.steps = steps;
        self.actions[..places].copy_from_slice(&actions);
        self.rewards[..places].copy_from_slice(&rewards);
        self.ends[..places].copy_from_slice(&ends);
        (self.older, self.last, self.in_hand) = (older, last, in_hand);
        Ok(())
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

/// The entries one after another, by place.
fn joined(entries: &HashMap<usize, Box<[u8]>>) -> (Vec<i64>, Vec<u8>) {
    let mut places: Vec<usize> = entries.keys().copied().collect();
    places.sort_unstable();
    let bytes = places.iter().flat_map(|place| &entries[place]).copied();
    let bytes = bytes.collect();
    (
        places.into_iter().map(|place| place as i64).collect(),
        bytes,
    )
}

fn unfit(name: &str) -> TrainerError {
    TrainerError::State(format!("replay memory: `{name}` does not fit this run"))
}
