//! The forward pass of a fully connected layer for a few rows, such as those of acting.
//!
//! The weights are read once and from where they lie: they are most of the work, and to put them in order
//! takes longer than to multiply them. Terms are added in the lanes of a vector, and those in the end.

use std::array::from_fn;

use crate::{
    convolution::Convolution,
    tile::{Scratch, through_units, with_rows},
    vectors::{Numbers, Vectors},
};

/// Outputs of a tile, whose rows are a third of the most sums.
const OUTPUTS: usize = 3;

/// As [`Kernels::forward`](crate::Kernels::forward), of a convolution of 1×1 of one image: `x` `[width][channels]` →
/// `y` `[width][outputs]`.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn forward<N: Numbers>(
    conv: &Convolution,
    x: *const N::Stored,
    weight: *const f32,
    bias: *const f32,
    y: *mut N::Stored,
) {
    let lanes = N::Set::LANES;
    let rows_of_tile = 2 * N::Set::MOST_ROWS / OUTPUTS;
    let mut sums = Scratch::<f32>::new(conv.width * conv.outputs);
    for first in (0..conv.outputs).step_by(OUTPUTS) {
        for first_row in (0..conv.width).step_by(rows_of_tile) {
            let place = (first_row, first);
            with_rows!(N, rows_of_tile, M => tile::<N, M>(conv, x, weight, place, sums.start()));
        }
    }
    for place in (0..conv.width * conv.outputs).step_by(lanes) {
        let bias = N::Set::load(bias.add(place % conv.outputs));
        let sum = N::Set::add(N::Set::load(sums.start().add(place)), bias);
        N::store(y.add(place), through_units::<N>(conv, sum));
    }
}

/// The products of `M` rows and 3 outputs. Those that are not there are the last one once more.
#[inline(always)]
unsafe fn tile<N: Numbers, const M: usize>(
    conv: &Convolution,
    x: *const N::Stored,
    weight: *const f32,
    (first_row, first): (usize, usize),
    to: *mut f32,
) {
    let (rows, terms) = (conv.width, conv.channels);
    let output = |output: usize| (first + output).min(conv.outputs - 1);
    let x: [*const N::Stored; M] = from_fn(|row| x.add((first_row + row).min(rows - 1) * terms));
    let weight: [*const f32; OUTPUTS] = from_fn(|number| weight.add(output(number) * terms));
    let mut lanes = [[N::Set::zero(); OUTPUTS]; M];
    for term in (0..terms).step_by(N::Set::LANES * N::PER_UNIT) {
        let mut units = [N::Set::zero(); OUTPUTS];
        for (units, weight) in units.iter_mut().zip(weight) {
            *units = N::row(weight.add(term));
        }
        for (lanes, x) in lanes.iter_mut().zip(x) {
            let x = N::Set::load(x.add(term).cast());
            for (lanes, units) in lanes.iter_mut().zip(units) {
                *lanes = N::multiply_add(x, units, *lanes);
            }
        }
    }
    for (row, lanes) in (first_row..rows).zip(lanes) {
        for (number, lanes) in lanes.into_iter().enumerate() {
            let to = to.add(row * conv.outputs + output(number));
            *to = N::Set::sum_of_lanes(lanes);
        }
    }
}
