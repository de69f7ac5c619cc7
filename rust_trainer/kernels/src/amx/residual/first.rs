//! The first convolution of 3 by 3 with padding, over bytes of four channels.
//!
//! A cell of its outputs is two pixels of 16 channels, which see four pixels of a row: 16 bytes. A block of inputs has
//! those of two rows. A row of outputs sees three, and so two blocks: the one that begins with the row above, and the one
//! that begins with the row below. The first row and the last one see two rows, which are one block.

use super::{
    cells::{ordered, sum_up},
    room::Room,
    turns::{self, Turns},
};
use crate::{
    amx::{
        blocks::{self, BLOCK, BYTES, Bytes},
        tiles::{Factors, Step, Sums, Tiles},
    },
    tile::Scratch,
};

/// What the two rows of a block are to a row of outputs.
#[derive(Clone, Copy)]
enum Rows {
    AboveAndSame,
    /// The second row is not seen.
    Below,
    SameAndBelow,
}

/// Kinds of weights of each kind of cell.
const KINDS: usize = 3;

/// The extents.
#[derive(Debug)]
pub struct First {
    height: usize,
    /// Cells in a row of outputs, two at least.
    pub width: usize,
    /// For each number of the packed blocks, `[first cell, inner ones, last cell][rows][outputs][bytes]`, the weight's
    /// place in `[16, 4, 3, 3]`.
    order: Vec<u32>,
}

impl First {
    /// Numbers of a pixel, in and out.
    pub const CHANNELS: usize = 4;
    pub const OUTPUTS: usize = 16;
    /// Lengths of weight and bias.
    pub const LENGTHS: [usize; 2] = [Self::OUTPUTS * Self::CHANNELS * 9, Self::OUTPUTS];
    /// Numbers of the packed weights.
    pub const WEIGHTS: usize = 3 * KINDS * BLOCK;

    /// For so many rows of pixels, a multiple of 4.
    pub fn new(height: usize, width: usize) -> Self {
        let weight = |at: usize| {
            let (block, output, byte) = (at / BLOCK, at / 32 % 32, at % 32);
            let (cell, rows) = (block / KINDS, block % KINDS);
            let row = match (rows, byte / 16) {
                (0, half) => half,
                (1, 0) => 2,
                (1, _) => return u32::MAX,
                (_, half) => half + 1,
            };
            // The first cell's bytes begin with its own, others' with the pixel before, the last one's two before.
            let column = (byte % 16 / Self::CHANNELS + 1).wrapping_sub(cell + output / 16);
            if column >= 3 {
                return u32::MAX;
            }
            let place = output % 16 * Self::CHANNELS + byte % Self::CHANNELS;
            (place * 9 + row * 3 + column) as u32
        };
        Self {
            height,
            width: width / 2,
            order: (0..Self::WEIGHTS).map(weight).collect(),
        }
    }

    /// Packs weights, which are divided by 255; the backward pass reads none.
    pub unsafe fn pack<T: Tiles>(&self, weight: &[f32], forward: *mut u16) {
        let ordered = ordered(&self.order, weight);
        let mut unread = Scratch::new(BLOCK);
        for at in (0..Self::WEIGHTS).step_by(BLOCK) {
            let from = ordered[at..].as_ptr();
            blocks::pack::<T>(from, 32, 255.0, forward.add(at), unread.start());
        }
    }

    /// Puts the gradients of blocks and of the outputs of cells in PyTorch's order.
    pub unsafe fn unpack(&self, [weights, bias]: [*const f32; 2], of: &mut [&mut [f32]]) {
        sum_up(&self.order, (weights, 255.0), of[0]);
        for (output, of) in of[1].iter_mut().enumerate() {
            *of = *bias.add(output) + *bias.add(Self::OUTPUTS + output);
        }
    }

    /// The blocks that a row of outputs sees: the row that each begins with, and which weights they are multiplied by.
    fn seen(&self, row: usize) -> Vec<(usize, Rows)> {
        match row {
            0 => vec![(0, Rows::SameAndBelow)],
            row if row + 1 == self.height => vec![(row - 1, Rows::AboveAndSame)],
            row => vec![(row - 1, Rows::AboveAndSame), (row + 1, Rows::Below)],
        }
    }

    /// Steps of a row, if a row of so many blocks of inputs is so many bytes.
    fn steps(&self, row: usize, bytes: usize) -> Vec<Step> {
        let seen = self.seen(row).into_iter();
        seen.map(|(first, rows)| Step {
            a: (first % 3 * bytes) as u32,
            b: (rows as usize * BYTES) as u32,
        })
        .collect()
    }

    /// Which cells a column is one of.
    fn cell(&self, column: usize) -> usize {
        usize::from(column > 0) + usize::from(column + 1 == self.width)
    }

    /// Reads what a row of outputs sees and the one before it did not, block by block.
    fn read(&self, row: usize, mut read: impl FnMut(Bytes, usize)) {
        let line = 2 * self.width * Self::CHANNELS;
        let first = if row == 0 { 0 } else { row + 1 };
        for seen in first..(row + 2).min(self.height) {
            for column in 0..self.width {
                let pixel = (2 * column).saturating_sub(1).min(2 * self.width - 4);
                let half = |row: usize| row.min(self.height - 1) * line + pixel * Self::CHANNELS;
                let bytes = Bytes {
                    halves: [half(seen), half(seen + 1)],
                    ahead: 2 * line,
                };
                read(bytes, seen % 3 * self.width + column);
            }
        }
    }

    /// The sums of a row of outputs, whose rows are called for in turn; `done` gets those of each cell of the row.
    pub unsafe fn forward_row<T: Tiles>(
        &self,
        tiles: &mut T,
        (room, images): (&mut Room, &[*const u8]),
        (packed, bias): (*const u16, &[f32]),
        row: usize,
        done: impl FnMut(*const f32, usize),
    ) {
        let count = images.len();
        let kept = room.rows[0].start();
        self.read(row, |bytes, block| {
            blocks::bytes_to_rows::<T>(images, bytes, kept.wrapping_add(block * count * 32));
        });
        let steps = self.steps(row, self.width * count * 64);
        let mut turns = Turns::new(&mut room.sums, done);
        for (column, together) in turns::of_row(self.width, count) {
            let factors = Factors {
                a: kept.add(column * count * 32),
                a_second: turns::second_tile(count, together),
                b: packed.add(self.cell(column) * KINDS * BLOCK),
            };
            tiles.product(Sums::bias(bias, 0), turns.sums(), factors, &steps);
            turns.made((column, together));
        }
        turns.end();
    }

    /// What a row of the gradient of 32 images' outputs adds to those of packed weights and of a cell's biases; rows are
    /// called for in turn.
    pub unsafe fn add_row<T: Tiles>(
        &self,
        tiles: &mut T,
        (room, images): (&mut Room, &[*const u8]),
        (row, of_row): (usize, *const u16),
        (to, of_bias): (*mut f32, *mut f32),
    ) {
        let (pairs, turned) = (room.rows[0].start(), room.turned.start());
        self.read(row, |bytes, block| {
            blocks::bytes_to_pairs::<T>(images, bytes, pairs.wrapping_add(block * BLOCK));
        });
        for column in 0..self.width {
            let at = column * BLOCK;
            blocks::turn_rows::<T>(of_row.add(at), turned.add(at), of_bias);
        }
        let step = |number: usize| Step {
            a: (number * BYTES) as u32,
            b: (number * BYTES) as u32,
        };
        let steps: Vec<_> = (0..self.width).map(step).collect();
        let cells = [0..1, 1..self.width - 1, self.width - 1..self.width];
        for (cell, columns) in cells.into_iter().enumerate().filter(|(_, c)| !c.is_empty()) {
            for (first, rows) in self.seen(row) {
                let sums = Sums::block(to.add((cell * KINDS + rows as usize) * BLOCK));
                let seen = first % 3 * self.width + columns.start;
                let factors = Factors {
                    a: turned.add(columns.start * BLOCK),
                    a_second: BYTES / 2,
                    b: pairs.add(seen * BLOCK),
                };
                tiles.product(sums, sums, factors, &steps[..columns.len()]);
            }
        }
    }
}
