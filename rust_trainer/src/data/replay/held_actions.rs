//! The actions in the ring of a replay memory.

use tch::{Kind, Tensor};
use vec_env::{ActionBatch, ActionSpace};

use crate::tensors::to_vec;

/// An action of one space for each place of a ring.
#[derive(Debug)]
pub(super) struct HeldActions {
    space: ActionSpace,
    /// Place by place, [`HeldActions::width`] numbers each.
    numbers: ActionBatch,
}

impl HeldActions {
    pub fn new(space: &ActionSpace, places: usize) -> Self {
        let numbers = match space {
            ActionSpace::Box { low, .. } => ActionBatch::Continuous(vec![0.0; places * low.len()]),
            _ => ActionBatch::Discrete(vec![0; places]),
        };
        Self {
            space: space.clone(),
            numbers,
        }
    }

    /// Bytes of an action in such a ring.
    pub fn num_bytes(space: &ActionSpace) -> usize {
        match space {
            ActionSpace::Box { low, .. } => low.len() * size_of::<f32>(),
            _ => size_of::<i64>(),
        }
    }

    /// The type that they have in tensors.
    pub fn kind(space: &ActionSpace) -> Kind {
        match space {
            ActionSpace::Box { .. } => Kind::Float,
            _ => Kind::Int64,
        }
    }

    /// Numbers of an action.
    fn width(&self) -> usize {
        match &self.space {
            ActionSpace::Box { low, .. } => low.len(),
            _ => 1,
        }
    }

    /// Writes actions of the space to the places from `first` on.
    pub fn write(&mut self, first: usize, actions: &ActionBatch) {
        let start = first * self.width();
        match (&mut self.numbers, actions) {
            (ActionBatch::Discrete(held), ActionBatch::Discrete(new)) => {
                held[start..][..new.len()].copy_from_slice(new);
            }
            (ActionBatch::Continuous(held), ActionBatch::Continuous(new)) => {
                held[start..][..new.len()].copy_from_slice(new);
            }
            _ => unreachable!("actions are of the memory's space"),
        }
    }

    /// Those of some places: int64 `[places]`, or float32 `[places, width]`.
    pub fn gather(&self, places: &[usize]) -> Tensor {
        match &self.numbers {
            ActionBatch::Discrete(held) => {
                let actions = places.iter().map(|&place| held[place]);
                Tensor::from_slice(&actions.collect::<Vec<i64>>())
            }
            ActionBatch::Continuous(held) => {
                let width = self.width();
                let rows = places.iter().map(|&place| &held[place * width..][..width]);
                let numbers = rows.flatten().copied().collect::<Vec<f32>>();
                Tensor::from_slice(&numbers).view([-1, width as i64])
            }
        }
    }

    /// Those of the first `places` likewise.
    pub fn first(&self, places: usize) -> Tensor {
        let width = self.width();
        match &self.numbers {
            ActionBatch::Discrete(held) => Tensor::from_slice(&held[..places]),
            ActionBatch::Continuous(held) => {
                Tensor::from_slice(&held[..places * width]).view([-1, width as i64])
            }
        }
    }

    /// What [`HeldActions::first`] gave of so many places; nothing where it is not of this space.
    pub fn read(&self, actions: &Tensor, places: usize) -> Option<ActionBatch> {
        let has_shape = actions.size() == self.first(places).size();
        if !has_shape || actions.kind() != Self::kind(&self.space) {
            return None;
        }
        match &self.space {
            ActionSpace::Box { low, high, .. } => {
                let numbers = to_vec::<f32>(&actions.reshape(-1));
                let mut bounds = low.iter().zip(high).cycle();
                let mut bounded = numbers.iter().zip(&mut bounds);
                let is_within = bounded.all(|(number, (low, high))| (low..=high).contains(&number));
                is_within.then_some(ActionBatch::Continuous(numbers))
            }
            space => {
                let numbers = to_vec::<i64>(actions);
                let is_action = |action: &i64| (0..space.num_actions()).contains(action);
                let are_actions = numbers.iter().all(is_action);
                are_actions.then_some(ActionBatch::Discrete(numbers))
            }
        }
    }
}
