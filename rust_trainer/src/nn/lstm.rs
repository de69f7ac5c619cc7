//! A layer that remembers, long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of
//! Gers et al. 2000), and what it carries from one observation of an episode to the next.

use tch::Tensor;

use super::params::ParamsBuilder;

/// `torch.nn.LSTM` with one layer: the same weights by the same names, gates in the order i, f, g, o.
///
/// `i, f, o = σ(W x + b + U h + d)`, `g = tanh(…)`; `c ← f · c + i · g`, `h ← o · tanh(c)`, and `h` is the
/// output.
#[derive(Debug)]
pub struct Lstm {
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
}

impl Lstm {
    /// Weights `<name>.weight_ih`, `[4 · size, inputs]`, and `<name>.weight_hh`, `[4 · size, size]`,
    /// and biases `<name>.bias_ih` and `<name>.bias_hh`; orthogonal and zeros, or all uniform up to
    /// 1/√`size`.
    pub fn new(params: &mut ParamsBuilder<'_>, name: &str, inputs: i64, size: i64) -> Self {
        let gates = 4 * size;
        Self {
            weight_ih: params.weight(&format!("{name}.weight_ih"), &[gates, inputs], size, 1.0),
            weight_hh: params.weight(&format!("{name}.weight_hh"), &[gates, size], size, 1.0),
            bias_ih: params.bias(&format!("{name}.bias_ih"), gates, size),
            bias_hh: params.bias(&format!("{name}.bias_hh"), gates, size),
        }
    }

    /// Numbers in the output, and in each half of the state.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.weight_hh.size()[1]
    }

    /// The state in which every episode starts, for `count` sequences.
    pub fn zero_state(&self, count: usize) -> Tensor {
        let options = (self.weight_hh.kind(), self.weight_hh.device());
        Tensor::zeros([2, count as i64, self.size()], options)
    }

    /// `[steps, sequences, inputs]` → outputs `[steps, sequences, size]` and the state behind the last step.
    ///
    /// `state`, `[2, sequences, size]`, is h and c before the first step. Where an episode starts,
    /// `episode_starts`, `[steps · sequences]`, step-major, it is set to zero first.
    ///
    /// The steps from one start of any episode to the next are one call of libtorch: on a CPU that is three
    /// times as fast as a cell for each step, and on CUDA it is cuDNN's.
    pub fn forward(
        &self,
        input: &Tensor,
        state: &Tensor,
        episode_starts: &[bool],
    ) -> (Tensor, Tensor) {
        let kind = input.kind();
        let weights = [
            &self.weight_ih,
            &self.weight_hh,
            &self.bias_ih,
            &self.bias_hh,
        ]
        .map(|weight| weight.to_kind(kind));
        let starts: Vec<&[bool]> = episode_starts
            .chunks_exact(input.size()[1] as usize)
            .collect();
        let mut state = state.to_kind(kind);
        let mut outputs = Vec::new();
        let mut step = 0;
        while step < starts.len() {
            let behind = &starts[step + 1..];
            let length = 1 + behind.iter().take_while(|row| !row.contains(&true)).count();
            state = zeroed_where(&state, starts[step]);
            let steps = input.narrow(0, step as i64, length as i64);
            // As [layers, sequences, size] each.
            let state_before = [state.narrow(0, 0, 1), state.narrow(0, 1, 1)];
            let (output, hidden, cell) =
                steps.lstm(&state_before, &weights, true, 1, 0.0, true, false, false);
            state = Tensor::cat(&[hidden, cell], 0);
            outputs.push(output);
            step += length;
        }
        (Tensor::cat(&outputs, 0), state)
    }
}

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

    /// One of the same size that holds these numbers; `None` for other than so many.
    pub(crate) fn with_numbers(&self, numbers: &[f32]) -> Option<Self> {
        match &self.0 {
            None => numbers.is_empty().then(Self::default),
            Some(state) if state.numel() == numbers.len() => {
                let numbers = Tensor::from_slice(numbers).view_as(state);
                Some(Self(Some(numbers.to_device(state.device()))))
            }
            Some(_) => None,
        }
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

/// `state`, `[2, sequences, size]`, with zeros for the sequences that `flags` names.
fn zeroed_where(state: &Tensor, flags: &[bool]) -> Tensor {
    let rows = flags.iter().enumerate().filter(|(_, flag)| **flag);
    let rows: Vec<i64> = rows.map(|(row, _)| row as i64).collect();
    if rows.is_empty() {
        return state.shallow_clone();
    }
    let rows = Tensor::from_slice(&rows).to_device(state.device());
    state.index_fill(1, &rows, 0.0)
}
