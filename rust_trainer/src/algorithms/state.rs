//! What a checkpoint keeps of an algorithm.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tch::{Kind, Tensor, no_grad_guard};

use crate::error::TrainerError;

/// Everything that learning changes, as plain data.
#[derive(Debug, Default)]
pub struct State {
    /// Weights and the optimizer's moments, by name; copies.
    pub tensors: Vec<(String, Tensor)>,
    /// Random numbers, counters, schedules.
    pub values: Map<String, Value>,
}

impl State {
    /// A value by name.
    ///
    /// # Errors
    /// [`TrainerError::State`] if it is missing or of another type.
    pub fn value<T: DeserializeOwned>(&self, name: &str) -> Result<T, TrainerError> {
        let value = self.values.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value)
            .map_err(|error| TrainerError::State(format!("value `{name}`: {error}")))
    }

    /// Copies the tensors to those of the same names in `targets`; all of them, or none.
    ///
    /// # Errors
    /// [`TrainerError::State`] for one that is missing, of another shape, or not finite.
    pub fn copy_to<'a>(
        &self,
        targets: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    ) -> Result<(), TrainerError> {
        let mut checked = Vec::new();
        for (name, target) in targets {
            let source = self.tensors.iter().find(|(saved, _)| saved == name);
            let Some((_, source)) = source else {
                return Err(TrainerError::State(format!("tensor `{name}` is missing")));
            };
            if source.size() != target.size() {
                return Err(TrainerError::State(format!(
                    "tensor `{name}` has shape {:?}, the network needs {:?}",
                    source.size(),
                    target.size()
                )));
            }
            if source.isfinite().all().int64_value(&[]) == 0 {
                let problem = format!("tensor `{name}` has numbers that are not finite");
                return Err(TrainerError::State(problem));
            }
            checked.push((source, target.shallow_clone()));
        }
        let _guard = no_grad_guard();
        for (source, mut target) in checked {
            target.copy_(&source.to_kind(Kind::Float));
        }
        Ok(())
    }
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
            values: Map::new(),
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
