//! What a recurrent network carries from one observation of an episode to the next.

use tch::Tensor;

use super::lstm::zeroed_where;

/// What a network remembers of the episode that each environment is in; nothing, if it is not recurrent.
///
/// It is before the first observation that the network has not seen yet: [`Memory::forget`] where an
/// episode ended, for the next observation is another one's first.
#[derive(Debug, Default)]
pub struct Memory(Option<Tensor>);

impl Memory {
    /// The axis of a state on which the environments lie.
    pub(crate) const ENVS: i64 = 1;

    /// Of `state`, float32 `[2, num_envs, size]`: h and c of an LSTM.
    pub(super) fn of_lstm(state: Tensor) -> Self {
        Self(Some(state))
    }

    /// Hidden and cell state of an LSTM, float32 `[2, num_envs, size]`.
    #[must_use]
    pub fn state(&self) -> Option<&Tensor> {
        self.0.as_ref()
    }

    /// The tensors to save, by name.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|state| ("lstm_state", state))
    }

    /// Forgets the episodes of the environments that `ended` flags, `[num_envs]`.
    pub fn forget(&mut self, ended: &[bool]) {
        self.0 = self.0.as_ref().map(|state| zeroed_where(state, ended));
    }

    /// What is remembered of `groups` of environments, as of all of them together.
    #[must_use]
    pub fn joined(groups: &[Self]) -> Self {
        let states: Option<Vec<&Tensor>> = groups.iter().map(Self::state).collect();
        Self(states.map(|states| match states.as_slice() {
            [state] => state.shallow_clone(),
            states => Tensor::cat(states, 1),
        }))
    }

    /// What is remembered of each of `count` groups, equally many environments one after another.
    #[must_use]
    pub fn split(&self, count: usize) -> Vec<Self> {
        match &self.0 {
            None => (0..count).map(|_| Self(None)).collect(),
            Some(state) => {
                let parts = state.chunk(count as i64, 1).into_iter();
                parts.map(|part| Self(Some(part))).collect()
            }
        }
    }

    /// What is remembered of the environments at `indices`.
    #[must_use]
    pub fn select(&self, indices: &[i64]) -> Self {
        Self(self.0.as_ref().map(|state| {
            let indices = Tensor::from_slice(indices).to_device(state.device());
            state.index_select(1, &indices)
        }))
    }
}

/// Shares the numbers: no method writes to them.
impl Clone for Memory {
    fn clone(&self) -> Self {
        Self(self.0.as_ref().map(Tensor::shallow_clone))
    }
}
