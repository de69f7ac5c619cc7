//! Weights, images and gradients in the orders in which the kernels read them.

use crate::{
    convolution::{Convolution, Pixels},
    tile::Scratch,
    vectors::{Numbers, Vectors},
};

/// What the numbers of bytes are divided by.
pub const LARGEST_BYTE: f32 = 255.0;

/// The weights of a tile of outputs from `first` on, of `[outputs, channels, kernel, kernel]`, as
/// `[kernel · kernel · channels][COLUMNS]` in units of `N`, to `to`.
#[inline(always)]
pub unsafe fn outputs_last<N: Numbers>(
    conv: &Convolution,
    of_bytes: bool,
    weight: *const f32,
    first: usize,
    to: *mut u32,
) {
    let (terms, places) = (conv.terms(), conv.kernel * conv.kernel);
    let (lanes, columns) = (N::Set::LANES, N::Set::COLUMNS);
    let mut exact = Scratch::<f32>::if_needed(N::PER_UNIT > 1, terms * columns);
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
                if of_bytes {
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

/// A tile of columns from `first` on of `weight` `[outputs][terms]`, as `[outputs / PER_UNIT][COLUMNS]`
/// units, to `to`.
#[inline(always)]
pub unsafe fn outputs_first<N: Numbers>(
    conv: &Convolution,
    weight: *const f32,
    first: usize,
    to: *mut u32,
) {
    let terms = conv.terms();
    for unit in 0..conv.outputs / N::PER_UNIT {
        for half in [0, N::Set::LANES] {
            let row = weight.add(unit * N::PER_UNIT * terms + first + half);
            let next = row.add((N::PER_UNIT - 1) * terms);
            let units = N::columns([N::Set::load(row), N::Set::load(next)]);
            N::Set::store(to.add(unit * N::Set::COLUMNS + half).cast(), units);
        }
    }
}

/// `[outputs][channels][places]`, as weights lie, as `[outputs][places][channels]`, or back.
pub unsafe fn reordered(
    outputs: usize,
    (rows, columns): (usize, usize),
    from: *const f32,
    to: *mut f32,
) {
    for output in 0..outputs {
        let start = output * rows * columns;
        for column in 0..columns {
            for row in 0..rows {
                *to.add(start + column * rows + row) = *from.add(start + row * columns + column);
            }
        }
    }
}

/// An image as numbers of the type that it is multiplied in: where it lies, or, of bytes, in `numbers`, from 0 to
/// 255, which all types hold exactly.
#[inline(always)]
pub unsafe fn image<N: Numbers>(
    conv: &Convolution,
    x: Pixels<'_, N::Stored>,
    image: usize,
    numbers: &mut Scratch<N::Stored>,
) -> *const N::Stored {
    let start = image * conv.image();
    let bytes = match x {
        Pixels::Numbers(x) => return x.as_ptr().add(start),
        Pixels::Bytes(x) => x.as_ptr().add(start),
    };
    let to = numbers.start();
    for place in (0..conv.image()).step_by(N::Set::COLUMNS) {
        let bytes = bytes.add(place);
        let second = N::Set::of_bytes(bytes.add(N::Set::LANES));
        N::store_two(to.add(place), [N::Set::of_bytes(bytes), second]);
    }
    to
}

/// `[rows][columns]` as `[columns][rows]`. What is left over behind whole squares is turned with what is before it;
/// what has no whole one, number by number.
#[inline(always)]
pub unsafe fn turned<N: Numbers>(
    from: *const N::Stored,
    (rows, columns): (usize, usize),
    to: *mut N::Stored,
) {
    let side = N::Set::LANES;
    if rows.min(columns) < side {
        for place in 0..rows * columns {
            *to.add(place % columns * rows + place / columns) = *from.add(place);
        }
        return;
    }
    for row in (0..rows).step_by(side) {
        let row = row.min(rows - side);
        for column in (0..columns).step_by(side) {
            let column = column.min(columns - side);
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
