//! Forward and backward pass of a stage, over a block of images.
//!
//! Rows are made as soon as there are those that they see, which are in the caches then.

use super::{
    cell_passes::Forward,
    room::Room,
    stage::{Entry, Kept, Params, Stage},
    work::{Gradients, Work},
};
use crate::amx::{
    blocks::{self, BLOCK},
    conv_passes::Input,
    tiles::Tiles,
};

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
        let (images, block) = (work.images, 32 * work.images);
        let (packed, bias) = (params.packed[0][0].cast_const(), &*params.biases[0]);
        let entered = work.entered.start();
        let entered_row = |row: usize| entered.wrapping_add(row % 3 * self.pool.row() * images);
        for row in 0..self.pool.height {
            let to = entered_row(row);
            let done = |sums: *const f32, at: usize| {
                let to = to.wrapping_add(at * block);
                blocks::finish::<T>(sums, images, f32::NEG_INFINITY, to, 32);
                blocks::to_keys::<T>(to, images);
            };
            match (&self.entry, &work.entry, input) {
                (Entry::Bytes(first), _, Input::Bytes(pointers)) => {
                    let room = (&mut work.room, pointers);
                    first.forward_row(tiles, room, (packed, bias), row, done);
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
                let from = (|row| entered_row(row).cast_const(), images);
                let to = [work.x.start(), kept.made[0]];
                self.pool.forward_row::<T>(pooled, from, to, kept.chosen);
                self.branch_rows(tiles, work, (pooled, is_last), params, kept);
            }
        }
        // What still lacks, a row more of each convolution.
        for row in 0..4 {
            let row = self.branch.height + row;
            self.branch_rows(tiles, work, (row, is_last), params, kept);
        }
    }

    /// The rows of the branches' convolutions that follow from a new row of what goes into them: of each a row less.
    unsafe fn branch_rows<T: Tiles>(
        &self,
        tiles: &mut T,
        work: &mut Work,
        (row, is_last): (usize, bool),
        params: Params<'_>,
        kept: Kept,
    ) {
        let (images, x) = (work.images, work.x.start());
        let block = 32 * images;
        let [_, inner, second, other_inner, out] = kept.made;
        // Where each branch's sums go, as they are and rectified.
        let ends = if is_last { [x, out] } else { [out, out] };
        let to = [[inner; 2], [x, second], [other_inner; 2], ends];
        for (number, to) in to.into_iter().enumerate() {
            let Some(row) = row.checked_sub(number + 1) else {
                continue;
            };
            if row >= self.branch.height {
                continue;
            }
            let from = Forward {
                x: kept.made[number],
                images,
                packed: params.packed[number + 1][0],
                bias: &params.biases[number + 1],
            };
            let first = row * self.branch.width * block;
            let steps = (&work.branch, &mut work.room.sums);
            let [x, to, rectified] = [x, to[0], to[1]].map(|start| start.add(first));
            let is_first = number % 2 == 0;
            let wanted = if is_first {
                &[to][..]
            } else {
                &[x, to, rectified]
            };
            let row = (row, wanted);
            self.branch
                .forward_row(tiles, steps, from, row, |sums, cell| {
                    let at = cell * block;
                    if is_first {
                        blocks::finish::<T>(sums, images, 0.0, to.add(at), 32);
                    } else {
                        let to = [to.add(at), rectified.add(at)];
                        blocks::join::<T>(sums, x.add(at), images, to);
                    }
                });
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
        for row in 0..self.branch.height + 3 {
            // The last convolution first, of each one before it a row less: it has read the rows that they change.
            for (behind, number) in [3, 2, 1, 0].into_iter().enumerate() {
                let row = row.checked_sub(behind);
                if let Some(row) = row.filter(|row| *row < self.branch.height) {
                    let place = (number, row);
                    self.branch_back(tiles, work, (place, of), params, (kept, to));
                }
            }
        }
        self.leave(tiles, work, (input, [of_input, of]), (params, kept, to));
    }

    /// A row of the backward pass of one of the branches' convolutions.
    unsafe fn branch_back<T: Tiles>(
        &self,
        tiles: &mut T,
        work: &mut Work,
        ((number, row), of): ((usize, usize), *mut u16),
        params: Params<'_>,
        (kept, to): (Kept, &mut Gradients),
    ) {
        let (is_second, first) = (number % 2 == 1, row * self.branch.width * BLOCK);
        let (x, inner) = (kept.made[number], work.inner[number / 2].start());
        let of_y = if is_second { of } else { inner };
        let [of_weights, of_bias] = &mut to.0[number + 1];
        let sums = (of_weights.start(), of_bias.start());
        let Room { rows, turned, .. } = &mut work.room;
        let room = (&mut rows[number + 1], turned);
        let pair = [x.cast_const(), of_y];
        self.branch.add_row(tiles, room, pair, row, sums);
        let steps = (&work.branch, &mut work.room.sums);
        let from = [of_y.cast_const(), params.packed[number + 1][1]];
        let to = if is_second { inner } else { of };
        let [x, to] = [x, to].map(|start| start.add(first));
        self.branch
            .of_row(tiles, steps, from, (row, &[x, to]), |sums, cell| {
                let at = cell * BLOCK;
                if is_second {
                    blocks::pass::<T>(sums, x.add(at), to.add(at));
                } else {
                    blocks::pass_onto::<T>(sums, x.add(at), to.add(at));
                }
            });
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
        let (of_y, row_length) = (work.entered.start(), self.pool.row() * 32);
        let (of, chosen) = (of.cast_const(), kept.chosen.cast_const());
        match (&self.entry, &work.entry, input) {
            (Entry::Bytes(first), _, Input::Bytes(pointers)) => {
                for row in 0..self.pool.height {
                    self.pool.backward_row::<T>(row, (of, chosen), of_y);
                    let room = (&mut work.room, pointers);
                    first.add_row(tiles, room, (row, of_y.cast_const()), sums);
                }
            }
            (Entry::Cells(cells), Some(plan), Input::Blocks(x, _)) => {
                // Each row of the inputs' gradient sees one more of the outputs'.
                for row in 0..=self.pool.height {
                    if row < self.pool.height {
                        let to = of_y.add(row * row_length);
                        self.pool.backward_row::<T>(row, (of, chosen), to);
                    }
                    let Some(row) = row.checked_sub(1) else {
                        continue;
                    };
                    let Room { rows, turned, .. } = &mut work.room;
                    let room = (&mut rows[0], turned);
                    cells.add_row(tiles, room, [x, of_y], row, sums);
                    let steps = (plan, &mut work.room.sums);
                    let from = [of_y.cast_const(), params.packed[0][1]];
                    let to = of_input.add(row * cells.width * BLOCK);
                    cells.of_row(tiles, steps, from, (row, &[to]), |sums, cell| {
                        let to = to.add(cell * BLOCK);
                        blocks::finish::<T>(sums, 32, f32::NEG_INFINITY, to, 32);
                    });
                }
            }
            _ => unreachable!("the first stage reads bytes, and no other"),
        }
    }
}
