//! A stage: convolution, max-pooling, two residual branches.

use super::{cell_passes::Plan, cells::Cells, first::First, pool::Pool};

/// The extents.
#[derive(Debug)]
pub struct Stage {
    pub entry: Entry,
    pub pool: Pool,
    /// Of each convolution of the branches.
    pub branch: Cells,
}

/// The convolution that a stage begins with.
#[derive(Debug)]
pub enum Entry {
    Bytes(First),
    Cells(Cells),
}

/// What a stage makes of a block of images.
#[derive(Clone, Copy)]
pub struct Kept {
    /// The rectified inputs of the four convolutions of the branches, and what leaves the stage.
    pub made: [*mut u16; 5],
    /// Where each maximum was found.
    pub chosen: *mut u8,
}

/// Weights and biases of a stage's convolutions in turn; biases are those of a cell, of which the backward pass needs none.
#[derive(Clone, Copy)]
pub struct Params<'a> {
    pub packed: [[*mut u16; 2]; 5],
    pub biases: &'a [Vec<f32>],
}

impl Entry {
    /// Blocks of a row of inputs and of outputs.
    pub fn row(&self) -> [usize; 2] {
        match self {
            Self::Bytes(first) => [first.width; 2],
            Self::Cells(cells) => [cells.width, cells.width * cells.outs],
        }
    }

    pub fn is_of_bytes(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }

    pub fn plan(&self, plan: impl FnOnce(&Cells) -> Plan) -> Option<Plan> {
        match self {
            Self::Bytes(_) => None,
            Self::Cells(cells) => Some(plan(cells)),
        }
    }

    /// Lengths of weight and bias.
    pub fn lengths(&self) -> [usize; 2] {
        match self {
            Self::Bytes(_) => First::LENGTHS,
            Self::Cells(cells) => cells.lengths(),
        }
    }

    /// Numbers of packed weights, for the forward pass and for the backward pass, and outputs of a cell.
    pub fn room(&self) -> ([usize; 2], usize) {
        match self {
            Self::Bytes(_) => ([First::WEIGHTS, 0], 1),
            Self::Cells(cells) => ([cells.weights(); 2], cells.outs),
        }
    }
}
