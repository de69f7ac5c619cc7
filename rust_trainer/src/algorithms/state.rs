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

#[cfg(test)]
mod tests {
    use super::*;

    fn state(tensors: &[(&str, &[f32])]) -> State {
        let tensors = tensors
            .iter()
            .map(|(name, values)| ((*name).to_owned(), Tensor::from_slice(values)));
        State {
            tensors: tensors.collect(),
            ..State::default()
        }
    }

    #[test]
    fn a_state_that_does_not_fit_changes_nothing() {
        let (first, second) = (
            Tensor::from_slice(&[1_f32]),
            Tensor::from_slice(&[2_f32, 3.0]),
        );
        let targets = || [("first", &first), ("second", &second)];
        let bad: [(&str, &[f32]); 4] = [
            ("`second` is missing", &[]),
            ("shape [1]", &[7.0]),
            ("not finite", &[7.0, f32::NAN]),
            ("not finite", &[f32::INFINITY, 7.0]),
        ];
        for (problem, second) in bad {
            let tensors = [("first", [7.0].as_slice()), ("second", second)];
            let given = if second.is_empty() { 1 } else { 2 };
            let message = state(&tensors[..given]).copy_to(targets()).unwrap_err();
            let message = message.to_string();
            assert!(message.contains(problem), "{message}");
        }
        assert_eq!(Vec::<f32>::try_from(&first).unwrap(), [1.0]);
        let good = state(&[("second", &[5.0, 6.0]), ("first", &[4.0])]);
        good.copy_to(targets()).unwrap();
        assert_eq!(Vec::<f32>::try_from(&first).unwrap(), [4.0]);
        assert_eq!(Vec::<f32>::try_from(&second).unwrap(), [5.0, 6.0]);
    }
}
