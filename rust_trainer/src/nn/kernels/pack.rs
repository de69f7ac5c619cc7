//! Weights, images and gradients in the orders in which the kernels read them.

use std::arch::x86_64::*;

use super::{
    Conv,
    numbers::Numbers,
    tile::{COLUMNS, Scratch},
};

/// What the numbers of bytes are divided by.
pub(super) const LARGEST_BYTE: f32 = 255.0;

/// The weights of outputs `first` to `first + 31`, of `[outputs, channels, kernel, kernel]`, as
/// `[kernel · kernel · channels][32]` in units of `N`, to `to`.
#[inline(always)]
pub(super) unsafe fn outputs_last<N: Numbers>(
    conv: &Conv,
    weight: *const f32,
    first: usize,
    to: *mut u32,
) {
    let (terms, places) = (conv.terms(), conv.kernel * conv.kernel);
    // SAFETY: `terms` is a multiple of 32 and `first` one of 32 outputs, so that all vectors lie within.
    unsafe {
        let mut exact = Scratch::<f32>::new(if N::PER_UNIT == 1 { 0 } else { terms * COLUMNS });
        let rows_to = if N::PER_UNIT == 1 {
            to.cast()
        } else {
            exact.start()
        };
        let divisor = _mm512_set1_ps(LARGEST_BYTE);
        for half in [0, 16] {
            let (mut channel, mut place) = (0, 0);
            for term in (0..terms).step_by(16) {
                let mut block = [_mm512_setzero_ps(); 16];
                for (output, row) in block.iter_mut().enumerate() {
                    *row = _mm512_loadu_ps(weight.add((first + half + output) * terms + term));
                    if conv.of_bytes {
                        *row = _mm512_div_ps(*row, divisor);
                    }
                }
                for row in transposed(block) {
                    let line = place * conv.channels + channel;
                    _mm512_storeu_ps(rows_to.add(line * COLUMNS + half), row);
                    place += 1;
                    if place == places {
                        (channel, place) = (channel + 1, 0);
                    }
                }
            }
        }
        if N::PER_UNIT == 2 {
            for vector in 0..terms / 2 * COLUMNS / 16 {
                let (unit, half) = (vector / 2, vector % 2 * 16);
                let row = rows_to.add(2 * unit * COLUMNS + half);
                let rows = [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(COLUMNS))];
                _mm512_storeu_si512(to.add(vector * 16).cast(), N::columns(rows));
            }
        }
    }
}

/// Columns `first` to `first + 31` of `weight` `[outputs][terms]`, as `[outputs / PER_UNIT][32]` units, to
/// `to`.
#[inline(always)]
pub(super) unsafe fn outputs_first<N: Numbers>(
    conv: &Conv,
    weight: *const f32,
    first: usize,
    to: *mut u32,
) {
    let terms = conv.terms();
    for unit in 0..conv.outputs / N::PER_UNIT {
        for half in [0, 16] {
            // SAFETY: `first` is one of 32 of the `terms`.
            unsafe {
                let row = weight.add(unit * N::PER_UNIT * terms + first + half);
                let next = row.add((N::PER_UNIT - 1) * terms);
                let units = N::columns([_mm512_loadu_ps(row), _mm512_loadu_ps(next)]);
                _mm512_storeu_si512(to.add(unit * COLUMNS + half).cast(), units);
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
    for start in (0..count).step_by(32) {
        // SAFETY: `count` is a multiple of 32.
        unsafe {
            let bytes = _mm256_loadu_si256(bytes.add(start).cast());
            let (low, high) = (
                _mm256_castsi256_si128(bytes),
                _mm256_extracti128_si256::<1>(bytes),
            );
            let first = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(low));
            let second = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(high));
            N::store_two(to.add(start), [first, second]);
        }
    }
}

/// Side of the squares that [`turned`] turns.
pub(super) const SIDE: usize = 16;

/// `[rows][columns]` as `[columns][rows]`, of which there are at least 16 each. What is left over behind
/// whole squares is turned with what is before it.
#[inline(always)]
pub(super) unsafe fn turned<N: Numbers>(
    from: *const N::Stored,
    (rows, columns): (usize, usize),
    to: *mut N::Stored,
) {
    for row in (0..rows).step_by(SIDE) {
        let row = row.min(rows - SIDE);
        for column in (0..columns).step_by(SIDE) {
            let column = column.min(columns - SIDE);
            // SAFETY: a square lies within, and the processor is as `N` asks.
            unsafe {
                let from = from.add(row * columns + column);
                let to = to.add(column * rows + row);
                let mut square = [_mm512_setzero_ps(); SIDE];
                for (row, numbers) in square.iter_mut().enumerate() {
                    *numbers = N::load(from.add(row * columns));
                }
                for (column, numbers) in transposed(square).into_iter().enumerate() {
                    N::store(to.add(column * rows), numbers);
                }
            }
        }
    }
}

/// 16 rows of 16 numbers as 16 columns.
#[inline(always)]
unsafe fn transposed(rows: [__m512; 16]) -> [__m512; 16] {
    // SAFETY: the processor has AVX-512.
    unsafe {
        let double = |x| _mm512_castps_pd(x);
        let low = |a, b| _mm512_castpd_ps(_mm512_unpacklo_pd(double(a), double(b)));
        let high = |a, b| _mm512_castpd_ps(_mm512_unpackhi_pd(double(a), double(b)));
        let mut fours = rows;
        for four in fours.as_chunks_mut::<4>().0 {
            let [a, b, c, d] = *four;
            let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
            let (ab_high, cd_high) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
            *four = [
                low(ab, cd),
                high(ab, cd),
                low(ab_high, cd_high),
                high(ab_high, cd_high),
            ];
        }
        // Now lane `l` of vector `4 · g + c` holds rows `4 · g` to `4 · g + 3` of column `4 · l + c`.
        let mut columns = rows;
        for column in 0..4 {
            let (a, b) = (fours[column], fours[4 + column]);
            let (c, d) = (fours[8 + column], fours[12 + column]);
            let (even, odd) = (
                _mm512_shuffle_f32x4::<0x88>(a, b),
                _mm512_shuffle_f32x4::<0xdd>(a, b),
            );
            let (even_2, odd_2) = (
                _mm512_shuffle_f32x4::<0x88>(c, d),
                _mm512_shuffle_f32x4::<0xdd>(c, d),
            );
            columns[column] = _mm512_shuffle_f32x4::<0x88>(even, even_2);
            columns[4 + column] = _mm512_shuffle_f32x4::<0x88>(odd, odd_2);
            columns[8 + column] = _mm512_shuffle_f32x4::<0xdd>(even, even_2);
            columns[12 + column] = _mm512_shuffle_f32x4::<0xdd>(odd, odd_2);
        }
        columns
    }
}
