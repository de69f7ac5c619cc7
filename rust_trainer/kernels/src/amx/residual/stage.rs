//! A stage of a block of images: convolution, max-pooling, two residual branches.

use super::{
    cell_passes::{Forward, Plan, Room},
    cells::Cells,
    first::First,
    pool::Pool,
};
use crate::{
    amx::{
        blocks::{self, BLOCK},
        conv_passes::Input,
        tiles::Tiles,
    },
    tile::Scratch,
};

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

/// Weights and biases of a stage's convolutions in turn; biases are those of a cell.
#[derive(Clone, Copy)]
pub struct Params<'a> {
    pub packed: [[*mut u16; 2]; 5],
    pub biases: &'a [Vec<f32>],
}

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
    images: usize,
    room: Room,
    /// Three rows of the first convolution's outputs in the forward pass, in the backward pass the gradient of all.
    rows: Scratch<u16>,
    /// What goes past the branches, or the gradient of it.
    pub x: Scratch<u16>,
    /// The gradient between the two convolutions of a branch.
    inner: Scratch<u16>,
    entry: Option<Plan>,
    branch: Plan,
}

impl Entry {
    /// Blocks of a row of inputs and of outputs.
    fn row(&self) -> [usize; 2] {
        match self {
            Self::Bytes(first) => [first.width; 2],
            Self::Cells(cells) => [cells.width, cells.width * cells.outs],
        }
    }

    fn plan(&self, plan: impl FnOnce(&Cells) -> Plan) -> Option<Plan> {
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

impl Work {
    /// Of a pass over blocks of so many images.
    pub fn new(stage: &Stage, images: usize, is_backward: bool) -> Self {
        let Stage {
            entry,
            pool,
            branch,
        } = stage;
        let [entry_row, branch_row] = [entry.row(), [branch.width; 2]];
        let rows = match entry {
            Entry::Bytes(_) if is_backward => 1,
            Entry::Cells(_) if is_backward => pool.height,
            _ => 3,
        };
        let plan = |cells: &Cells| match is_backward {
            true => Plan::of_inputs(cells),
            false => Plan::forward(cells, images),
        };
        Self {
            images,
            room: Room::new([0, 1].map(|side| entry_row[side].max(branch_row[side]))),
            rows: Scratch::new(rows * pool.row() * images),
            x: Scratch::new(branch.image() * images),
            inner: Scratch::if_needed(is_backward, branch.image() * images),
            entry: entry.plan(plan),
            branch: plan(branch),
        }
    }
}

impl Stage {
    /// The forward pass; the last stage's outputs are rectified.
    pub unsafe fn forward<T: Tiles>(
        &self,
        tiles: &mut T,
        work: &mut Work,
        (input, is_last): (Input<'_>, bool),
        params: Params<'_>,
        kept: Kept,
    ) {
        self.enter(tiles, work, input, params, kept);
        let (block, x) = (32 * work.images, work.x.start());
        let [_, inner, second, _, out] = kept.made;
        // Where each branch's sum goes, as it is and rectified.
        let ends = if is_last { [x, out] } else { [out, out] };
        let branches = [(inner, [x, second]), (kept.made[3], ends)];
        for (branch, (inner, to)) in branches.into_iter().enumerate() {
            for half in 0..2 {
                let number = 2 * branch + half;
                let from = Forward {
                    x: kept.made[number],
                    images: work.images,
                    packed: params.packed[number + 1][0],
                    bias: &params.biases[number + 1],
                };
                for row in 0..self.branch.height {
                    let first = row * self.branch.width * block;
                    let steps = (&work.branch, &mut work.room.sums);
                    let [x, inner] = [x, inner].map(|start| start.add(first));
                    let to = to.map(|to| to.add(first));
                    let wanted = if half == 0 {
                        &[inner][..]
                    } else {
                        &[x, to[0], to[1]]
                    };
                    let row = (row, wanted);
                    self.branch
                        .forward_row(tiles, steps, from, row, |sums, cell| {
                            let at = cell * block;
                            if half == 0 {
                                blocks::finish::<T>(sums, work.images, 0.0, inner.add(at), 32);
                            } else {
                                let to = to.map(|to| to.add(at));
                                blocks::join::<T>(sums, x.add(at), work.images, to);
                            }
                        });
                }
            }
        }
    }

    /// Convolution and max-pooling, of which only as many rows are there at once as the latter sees.
    unsafe fn enter<T: Tiles>(
        &self,
        tiles: &mut T,
        work: &mut Work,
        input: Input<'_>,
        params: Params<'_>,
        kept: Kept,
    ) {
        let (images, block) = (work.images, 32 * work.images);
        let (packed, bias) = (params.packed[0][0].cast_const(), &*params.biases[0]);
        let start = work.rows.start();
        let kept_row = |row: usize| start.wrapping_add(row % 3 * self.pool.row() * images);
        for row in 0..self.pool.height {
            let to = kept_row(row);
            let done = |sums: *const f32, at: usize| {
                let to = to.wrapping_add(at * block);
                blocks::finish::<T>(sums, images, f32::NEG_INFINITY, to, 32);
                blocks::to_keys::<T>(to, images);
            };
            match (&self.entry, &work.entry, input) {
                (Entry::Bytes(first), _, Input::Bytes(pointers)) => {
                    first.forward_row(tiles, (&mut work.room, pointers), (packed, bias), row, done);
                }
                (Entry::Cells(cells), Some(plan), Input::Blocks(x, _)) => {
                    let from = Forward {
                        x,
                        images,
                        packed,
                        bias,
                    };
                    let steps = (plan, &mut work.room.sums);
                    cells.forward_row(tiles, steps, from, (row, &[]), done);
                }
                _ => unreachable!("the first stage reads bytes, and no other"),
            }
            if let Some(pooled) = self.pool.complete(row) {
                let from = (|row| kept_row(row).cast_const(), images);
                let to = [work.x.start(), kept.made[0]];
                self.pool.forward_row::<T>(pooled, from, to, kept.chosen);
            }
        }
    }

    /// The backward pass of 32 images, from the gradient `of` what leaves the stage, which is overwritten, to that of the
    /// inputs, if these are no bytes.
    pub unsafe fn backward<T: Tiles>(
        &self,
        tiles: &mut T,
        work: &mut Work,
        (input, [of_input, of]): (Input<'_>, [*mut u16; 2]),
        params: Params<'_>,
        (kept, to): (Kept, &mut Gradients),
    ) {
        let inner = work.inner.start();
        for number in [3, 2, 1, 0] {
            let (x, is_second) = (kept.made[number], number % 2 == 1);
            let of_y = if is_second { of } else { inner };
            let [of_weights, of_bias] = &mut to.0[number + 1];
            let sums = (of_weights.start(), of_bias.start());
            let pair = [x.cast_const(), of_y];
            self.branch.of_weights(tiles, &mut work.room, pair, sums);
            let packed = params.packed[number + 1][1];
            let steps = (&work.branch, &mut work.room.sums);
            let wanted = [x, if is_second { inner } else { of }];
            let from = [of_y, packed.cast_const()];
            self.branch
                .of_inputs(tiles, steps, from, &wanted, |sums, cell| {
                    let at = cell * BLOCK;
                    if is_second {
                        blocks::pass::<T>(sums, x.add(at), inner.add(at));
                    } else {
                        blocks::pass_onto::<T>(sums, x.add(at), of.add(at));
                    }
                });
        }
        self.leave(tiles, work, (input, [of_input, of]), (params, kept, to));
    }

    /// Through max-pooling and the first convolution.
    unsafe fn leave<T: Tiles>(
        &self,
        tiles: &mut T,
        work: &mut Work,
        (input, [of_input, of]): (Input<'_>, [*mut u16; 2]),
        (params, kept, to): (Params<'_>, Kept, &mut Gradients),
    ) {
        let [of_weights, of_bias] = &mut to.0[0];
        let sums = (of_weights.start(), of_bias.start());
        let (of_y, row_length) = (work.rows.start(), self.pool.row() * 32);
        match (&self.entry, &work.entry, input) {
            (Entry::Bytes(first), _, Input::Bytes(pointers)) => {
                for row in 0..self.pool.height {
                    self.pool.backward_row::<T>(
                        row,
                        (of.cast_const(), kept.chosen.cast_const()),
                        of_y,
                    );
                    let room = (&mut work.room, pointers);
                    first.add_row(tiles, room, (row, of_y.cast_const()), sums);
                }
            }
            (Entry::Cells(cells), Some(plan), Input::Blocks(x, _)) => {
                for row in 0..self.pool.height {
                    let to = of_y.add(row * row_length);
                    self.pool.backward_row::<T>(
                        row,
                        (of.cast_const(), kept.chosen.cast_const()),
                        to,
                    );
                }
                cells.of_weights(tiles, &mut work.room, [x, of_y], sums);
                let steps = (plan, &mut work.room.sums);
                let from = [of_y.cast_const(), params.packed[0][1]];
                cells.of_inputs(tiles, steps, from, &[of_input], |sums, cell| {
                    let to = of_input.add(cell * BLOCK);
                    blocks::finish::<T>(sums, 32, f32::NEG_INFINITY, to, 32);
                });
            }
            _ => unreachable!("the first stage reads bytes, and no other"),
        }
    }
}
