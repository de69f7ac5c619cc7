//! Forward and backward pass of a convolution over cells, of a block of images.

use super::{
    cells::{Cells, Edge},
    turns::{self, Turns},
};
use crate::{
    amx::{
        blocks::{self, BLOCK, BYTES, For},
        tiles::{Factors, Step, Sums, Tiles},
    },
    tile::Scratch,
};

/// What is multiplied in the forward pass: inputs of so many images, packed weights, and the biases of a cell's outputs.
#[derive(Clone, Copy)]
pub struct Forward<'a> {
    pub x: *const u16,
    pub images: usize,
    pub packed: *const u16,
    pub bias: &'a [f32],
}

/// The steps of each kind of row.
pub struct Plan([Vec<Vec<Step>>; 4]);

impl Plan {
    pub fn forward(cells: &Cells, images: usize) -> Self {
        Self(Edge::ALL.map(|edge| cells.forward_steps(images, edge)))
    }

    pub fn of_inputs(cells: &Cells) -> Self {
        Self(Edge::ALL.map(|edge| cells.input_steps(edge)))
    }

    /// Those of a row of so many, and the first row that is seen.
    fn of(&self, row: usize, rows: usize) -> (&[Vec<Step>], usize) {
        let edge = Edge::of(row, rows);
        (&self.0[edge.number()], row - usize::from(edge.is_above))
    }
}

impl Cells {
    /// The sums of a row of outputs; `done` gets those of each block of the row, and is to find the blocks of these rows
    /// in the cache.
    pub unsafe fn forward_row<T: Tiles>(
        &self,
        tiles: &mut T,
        (plan, sums): (&Plan, &mut Scratch<f32>),
        from: Forward<'_>,
        (row, wanted): (usize, &[*mut u16]),
        mut done: impl FnMut(*const f32, usize),
    ) {
        let (steps, first) = plan.of(row, self.height);
        let a = from.x.add(first * self.width * from.images * 32);
        let columns = turns::of_row(self.width, from.images);
        for out in 0..self.outs {
            let done = |sums: *const f32, column: usize| done(sums, column * self.outs + out);
            let mut turns = Turns::new(sums, done);
            let b = from.packed.add(self.first(out) * BLOCK);
            for &(column, count) in &columns {
                let a_second = turns::second_tile(from.images, count);
                let factors = Factors { a, a_second, b };
                let steps = &steps[column * self.outs + out];
                for wanted in wanted {
                    let at = (column * self.outs + out) * from.images * 32;
                    let lines = count * from.images;
                    blocks::fetch::<T>(For::Writing, wanted.wrapping_add(at), lines);
                }
                tiles.product(Sums::bias(from.bias, out), turns.sums(), factors, steps);
                turns.made((column, count));
            }
            turns.end();
        }
    }

    /// What a row of the gradient of 32 images' outputs adds to the gradients of packed weights and of a cell's biases;
    /// rows are called for in turn.
    pub unsafe fn add_row<T: Tiles>(
        &self,
        tiles: &mut T,
        (pairs, turned): (&mut Scratch<u16>, &mut Scratch<u16>),
        [x, of_y]: [*const u16; 2],
        row: usize,
        (to, of_bias): (*mut f32, *mut f32),
    ) {
        let row_of = |row: usize| row % 3 * self.width * BLOCK;
        let new = if row == 0 { 0..2 } else { row + 1..row + 2 };
        for row in new.filter(|row| *row < self.height) {
            for column in 0..self.width {
                let to = pairs.start().add(row_of(row) + column * BLOCK);
                blocks::to_pairs::<T>(x.add((row * self.width + column) * BLOCK), to);
            }
        }
        let of_row = of_y.add(row * self.width * self.outs * BLOCK);
        for number in 0..self.width * self.outs {
            let to = turned.start().add(number * BLOCK);
            let of_bias = of_bias.add(number % self.outs * 32);
            blocks::turn_rows::<T>(of_row.add(number * BLOCK), to, of_bias);
        }
        let step = |number: usize| Step {
            a: (number * self.outs * BYTES) as u32,
            b: (number * BYTES) as u32,
        };
        let steps: Vec<_> = (0..self.width).map(step).collect();
        for (number, (out, &[below, beside])) in self.places().enumerate() {
            let seen_row = (row + below).checked_sub(1);
            // Columns of outputs that see a cell there.
            let first = usize::from(beside == 0);
            let count = self.width - usize::from(beside != 1);
            let Some(seen_row) = seen_row.filter(|row| *row < self.height && count > 0) else {
                continue;
            };
            let sums = Sums::block(to.add(number * BLOCK));
            let seen = row_of(seen_row) + (first + beside - 1) * BLOCK;
            let factors = Factors {
                a: turned.start().add((first * self.outs + out) * BLOCK),
                a_second: BYTES / 2,
                b: pairs.start().add(seen),
            };
            tiles.product(sums, sums, factors, &steps[..count]);
        }
    }

    /// The sums of a row of the gradient of 32 images' inputs; `done` gets those of each cell of the row, and is to find
    /// the cells of these rows in the cache.
    pub unsafe fn of_row<T: Tiles>(
        &self,
        tiles: &mut T,
        (plan, sums): (&Plan, &mut Scratch<f32>),
        [of_y, packed]: [*const u16; 2],
        (row, wanted): (usize, &[*mut u16]),
        done: impl FnMut(*const f32, usize),
    ) {
        let mut turns = Turns::new(sums, done);
        let (steps, first) = plan.of(row, self.height);
        let factors = Factors {
            a: of_y.add(first * self.width * self.outs * BLOCK),
            a_second: BYTES / 2,
            b: packed,
        };
        for (column, steps) in steps.iter().enumerate() {
            for wanted in wanted {
                blocks::fetch::<T>(For::Writing, wanted.wrapping_add(column * BLOCK), 32);
            }
            tiles.product(Sums::ZERO, turns.sums(), factors, steps);
            turns.made((column, 1));
        }
        turns.end();
    }
}
