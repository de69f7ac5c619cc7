//! Weights, images and gradients in the orders in which the kernels read them.

use super::{Conv, numbers::Numbers, tile::Scratch, vectors::Vectors};

/// What the numbers of bytes are divided by.
pub(super) const LARGEST_BYTE: f32 = 255.0;

/// The weights of a tile of outputs from `first` on, of `[outputs, channels, kernel, kernel]`, as
/// `[kernel · kernel · channels][COLUMNS]` in units of `N`, to `to`.
#[inline(always)]
pub(super) unsafe fn outputs_last<N: Numbers>(
    conv: &Conv,
    weight: *const f32,
    first: usize,
    to: *mut u32,
) {
    let (terms, places) = (conv.terms(), conv.kernel * conv.kernel);
    let (lanes, columns) = (N::Set::LANES, N::Set::COLUMNS);
    // SAFETY: `terms` is a multiple of 32 and `first` one of 32 outputs, so that all vectors lie within.
    unsafe {
        let mut exact = Scratch::<f32>::new(if N::PER_UNIT == 1 { 0 } else { terms * columns });
        let rows_to = if N::PER_UNIT == 1 {
            to.cast()
        } else {
            exact.start()
        };
        for half in [0, lanes] {
            let (mut channel, mut place) = (0, 0);
            for term in (0..terms).step_by(lanes) {
                let mut block = N::Set::square();
                for (output, row) in block.as_mut().iter_mut().enumerate() {
                    *row = N::Set::load(weight.add((first + half + output) * terms + term));
                    if conv.of_bytes {
                        *row = N::Set::divide(*row, LARGEST_BYTE);
                    }
                }
                for row in N::Set::transposed(block) {
                    let line = place * conv.channels + channel;
                    N::Set::store(rows_to.add(line * columns + half), row);
                    place += 1;
                    if place == places {
                        (channel, place) = (channel + 1, 0);
                    }
                }
            }
        }
        if N::PER_UNIT == 2 {
            for vector in 0..terms / 2 * 2 {
                let (unit, half) = (vector / 2, vector % 2 * lanes);
                let row = rows_to.add(2 * unit * columns + half);
                let rows = [N::Set::load(row), N::Set::load(row.add(columns))];
                N::Set::store(to.add(vector * lanes).cast(), N::columns(rows));
            }
        }
    }
}

/// A tile of columns from `first` on of `weight` `[outputs][terms]`, as `[outputs / PER_UNIT][COLUMNS]`
/// units, to `to`.
#[inline(always)]
pub(super) unsafe fn outputs_first<N: Numbers>(
    conv: &Conv,
    weight: *const f32,
    first: usize,
    to: *mut u32,
) {
    let terms = conv.terms();
    for unit in 0..conv.outputs / N::PER_UNIT {
        for half in [0, N::Set::LANES] {
            // SAFETY: `first` is one of 32 of the `terms`.
            unsafe {
                let row = weight.add(unit * N::PER_UNIT * terms + first + half);
                let next = row.add((N::PER_UNIT - 1) * terms);
                let units = N::columns([N::Set::load(row), N::Set::load(next)]);
                N::Set::store(to.add(unit * N::Set::COLUMNS + half).cast(), units);
            }
        }
    }
}

/// `[outputs][channels][places]`, as weights lie, as `[outputs][places][channels]`, or back.
pub(super) unsafe fn reordered(
    outputs: usize,
    (rows, columns): (usize, usize),
    from: *const f32,
    to: *mut f32,
) {
    for output in 0..outputs {
        let start = output * rows * columns;
        for column in 0..columns {
            for row in 0..rows {
                // SAFETY: both hold `outputs · rows · columns` numbers.
                unsafe {
                    *to.add(start + column * rows + row) =
                        *from.add(start + row * columns + column);
                }
            }
        }
    }
}

/// An image of bytes as numbers from 0 to 255, which both types hold exactly.
#[inline(always)]
pub(super) unsafe fn of_bytes<N: Numbers>(bytes: *const u8, count: usize, to: *mut N::Stored) {
    for start in (0..count).step_by(N::Set::COLUMNS) {
        // SAFETY: `count` is a multiple of 32.
        unsafe {
            let bytes = bytes.add(start);
            let second = N::Set::of_bytes(bytes.add(N::Set::LANES));
            N::store_two(to.add(start), [N::Set::of_bytes(bytes), second]);
        }
    }
}

/// `[rows][columns]` as `[columns][rows]`, of which there are at least a vector of each. What is left over behind
/// whole squares is turned with what is before it.
#[inline(always)]
pub(super) unsafe fn turned<N: Numbers>(
    from: *const N::Stored,
    (rows, columns): (usize, usize),
    to: *mut N::Stored,
) {
    let side = N::Set::LANES;
    for row in (0..rows).step_by(side) {
        let row = row.min(rows - side);
        for column in (0..columns).step_by(side) {
            let column = column.min(columns - side);
            // SAFETY: a square lies within, and the processor is as `N` asks.
            unsafe {
                let from = from.add(row * columns + column);
                let to = to.add(column * rows + row);
                let mut square = N::Set::square();
                for (row, numbers) in square.as_mut().iter_mut().enumerate() {
                    *numbers = N::load(from.add(row * columns));
                }
                for (column, numbers) in N::Set::transposed(square).into_iter().enumerate() {
                    N::store(to.add(column * rows), numbers);
                }
            }
        }
    }
}
