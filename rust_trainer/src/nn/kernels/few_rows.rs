//! The forward pass of a fully connected layer for a few rows, such as those of acting.
//!
//! The weights are read once and from where they lie: they are most of the work, and to put them in order
//! takes longer than to multiply them. Terms are added in 16 lanes, and those in the end.

use std::arch::x86_64::*;

use super::{Conv, numbers::Numbers, tile::Scratch};

/// Up to how many rows this is the faster one.
pub(super) const MOST: usize = 16;

/// Rows and outputs of a tile.
const ROWS: usize = 8;
const OUTPUTS: usize = 3;

/// As [`forward`](super::forward::forward), of a convolution of 1×1 of one image: `x` `[width][channels]` →
/// `y` `[width][outputs]`.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn forward<N: Numbers>(
    conv: &Conv,
    x: *const N::Stored,
    weight: *const f32,
    bias: *const f32,
    y: *mut N::Stored,
) {
    let (rows, terms) = (conv.width, conv.channels);
    let mut sums = Scratch::<f32>::new(rows * conv.outputs);
    // SAFETY: as this function asks; rows and outputs that are not there are the last one once more.
    unsafe {
        for first_row in (0..rows).step_by(ROWS) {
            let x: [*const N::Stored; ROWS] =
                std::array::from_fn(|row| x.add((first_row + row).min(rows - 1) * terms));
            for first in (0..conv.outputs).step_by(OUTPUTS) {
                let output = |output: usize| (first + output).min(conv.outputs - 1);
                let weight: [*const f32; OUTPUTS] =
                    std::array::from_fn(|number| weight.add(output(number) * terms));
                let mut lanes = [[_mm512_setzero_ps(); OUTPUTS]; ROWS];
                for term in (0..terms).step_by(16 * N::PER_UNIT) {
                    let mut units = [_mm512_setzero_si512(); OUTPUTS];
                    for (units, weight) in units.iter_mut().zip(weight) {
                        *units = N::row(weight.add(term));
                    }
                    for (lanes, x) in lanes.iter_mut().zip(x) {
                        let x = _mm512_loadu_si512(x.add(term).cast());
                        for (lanes, units) in lanes.iter_mut().zip(units) {
                            *lanes = N::multiply_add(x, units, *lanes);
                        }
                    }
                }
                for (row, lanes) in (first_row..rows).zip(lanes) {
                    for (number, lanes) in lanes.into_iter().enumerate() {
                        let to = sums.start().add(row * conv.outputs + output(number));
                        *to = _mm512_reduce_add_ps(lanes);
                    }
                }
            }
        }
        for place in (0..rows * conv.outputs).step_by(16) {
            let bias = _mm512_loadu_ps(bias.add(place % conv.outputs));
            let sum = _mm512_add_ps(_mm512_loadu_ps(sums.start().add(place)), bias);
            N::store(y.add(place), conv.through_units(sum));
        }
    }
}
