//! What a checkpoint keeps of an algorithm.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tch::{Device, Tensor, no_grad_guard};

use crate::{
    error::TrainerError,
    tensors::{bytes_of, is_finite},
};

/// Everything that learning changes, as plain data.
#[derive(Debug, Default)]
pub struct State {
    /// Weights, the optimizer's moments, observations, by name; copies.
    pub tensors: Vec<(String, Tensor)>,
    /// Random numbers, counters, schedules.
    pub values: Map<String, Value>,
    /// What a replay memory holds, by name; views of it, for it may take gigabytes. Empty in the state of
    /// an algorithm that has none, or where the file with it is lost: it then learns on when it has
    /// filled its memory anew.
    pub replay: Vec<(String, Tensor)>,
}

impl State {
    /// The name of the observations for which no action is chosen yet.
    pub(super) const OBS_IN_HAND: &str = "obs_in_hand";

    /// What playing takes of a network with these parameters.
    pub(super) fn of_network<'a>(params: impl Iterator<Item = (&'a str, &'a Tensor)>) -> Self {
        Self {
            tensors: copies(params),
            ..Self::default()
        }
    }

    /// A value by name.
    pub fn value<T: DeserializeOwned>(&self, name: &str) -> Result<T, TrainerError> {
        let value = self.values.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value).map_err(TrainerError::value(name))
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&Tensor> {
        let found = self.tensors.iter().find(|(saved, _)| saved == name);
        found.map(|(_, tensor)| tensor)
    }

    /// The bytes of the observations in hand, if there are any.
    ///
    /// # Errors
    /// [`TrainerError::State`] for other than `length` bytes.
    pub(super) fn obs_in_hand(&self, length: usize) -> Result<Option<Vec<u8>>, TrainerError> {
        let Some(obs) = self.tensor(Self::OBS_IN_HAND) else {
            return Ok(None);
        };
        let obs = bytes_of(obs)?;
        if obs.len() == length {
            return Ok(Some(obs));
        }
        Err(TrainerError::State(format!(
            "tensor `{}` has {} bytes, the environments give {length}",
            Self::OBS_IN_HAND,
            obs.len()
        )))
    }

    /// Copies the tensors to those of the same names in `targets`; all of them, or none.
    ///
    /// # Errors
    /// [`TrainerError::State`] for one that is missing, of another shape or type, or not finite.
    pub fn copy_to<'a>(
        &self,
        targets: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    ) -> Result<(), TrainerError> {
        let mut checked = Vec::new();
        for (name, target) in targets {
            let Some(source) = self.tensor(name) else {
                return Err(TrainerError::State(format!("tensor `{name}` is missing")));
            };
            let problem = if source.size() != target.size() {
                let (found, needed) = (source.size(), target.size());
                format!("has shape {found:?}, the network needs {needed:?}")
            } else if source.kind() != target.kind() {
                let (found, needed) = (source.kind(), target.kind());
                format!("has numbers of type {found:?}, needed are {needed:?}")
            } else if !is_finite(source) {
                "has numbers that are not finite".to_owned()
            } else {
                checked.push((source, target.shallow_clone()));
                continue;
            };
            let problem = format!("tensor `{name}` {problem}");
            return Err(TrainerError::State(problem));
        }
        let _guard = no_grad_guard();
        for (source, mut target) in checked {
            target.copy_(source);
        }
        Ok(())
    }
}

/// Copies of tensors on the CPU.
pub(super) fn copies<'a>(
    tensors: impl Iterator<Item = (&'a str, &'a Tensor)>,
) -> Vec<(String, Tensor)> {
    let copy = |(name, tensor): (&str, &Tensor)| {
        let copy = tensor.detach().to_device(Device::Cpu).copy();
        (name.to_owned(), copy)
    };
    tensors.map(copy).collect()
}
