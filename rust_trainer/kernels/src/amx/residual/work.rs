//! The memory that a stage's passes work in.

use super::{
    cell_passes::Plan,
    cells::Cells,
    room::Room,
    stage::{Entry, Stage},
    turns,
};
use crate::{amx::blocks::BLOCK, tile::Scratch};

/// Where the gradients of a stage are added up: of packed weights and of a cell's biases.
pub struct Gradients(pub [[Scratch<f32>; 2]; 5]);

impl Gradients {
    /// Zeros.
    pub fn new(stage: &Stage) -> Self {
        let zeros = |[weights, _]: [usize; 2], outs: usize| {
            [Scratch::zeros(weights), Scratch::zeros(32 * outs)]
        };
        let (weights, outs) = stage.entry.room();
        let branch = || zeros([stage.branch.weights(); 2], stage.branch.outs);
        Self([zeros(weights, outs), branch(), branch(), branch(), branch()])
    }
}

/// Memory to work in, and the steps of a pass over so many images.
pub struct Work {
    pub images: usize,
    pub room: Room,
    /// Three rows of the first convolution's outputs in the forward pass, in the backward pass the gradient of all.
    pub entered: Scratch<u16>,
    /// What goes past the branches, or the gradient of it.
    pub x: Scratch<u16>,
    /// The gradient between the two convolutions of each branch.
    pub inner: [Scratch<u16>; 2],
    pub entry: Option<Plan>,
    pub branch: Plan,
}

impl Work {
    /// Of a pass over blocks of so many images.
    pub fn new(stage: &Stage, images: usize, is_backward: bool) -> Self {
        let Stage {
            entry,
            pool,
            branch,
        } = stage;
        let entry_row = entry.row();
        let rows = match entry {
            Entry::Bytes(_) if is_backward => 1,
            Entry::Cells(_) if is_backward => pool.height,
            _ => 3,
        };
        let plan = |cells: &Cells| {
            if is_backward {
                Plan::of_inputs(cells)
            } else {
                Plan::forward(cells, images)
            }
        };
        let turned = entry_row[1].max(branch.width);
        let inner = || Scratch::if_needed(is_backward, branch.image() * images);
        Self {
            images,
            room: Room {
                sums: turns::room(),
                rows: std::array::from_fn(|number| {
                    let is_needed = is_backward || (number == 0 && entry.is_of_bytes());
                    let width = if number == 0 {
                        entry_row[0]
                    } else {
                        branch.width
                    };
                    Scratch::if_needed(is_needed, 3 * width * images * 32)
                }),
                turned: Scratch::if_needed(is_backward, turned * BLOCK),
            },
            entered: Scratch::new(rows * pool.row() * images),
            x: Scratch::new(branch.image() * images),
            inner: [inner(), inner()],
            entry: entry.plan(plan),
            branch: plan(branch),
        }
    }
}
