//! The product at the heart of all kernels: a few rows by 32 columns of sums, held in registers.

use std::arch::x86_64::*;

use super::numbers::Numbers;

/// Columns of a tile: two vectors.
pub(super) const COLUMNS: usize = 32;

/// Most rows of a tile: 24 of the 32 registers hold sums.
pub(super) const MOST_ROWS: usize = 12;

/// `M` rows of sums.
pub(super) type Sums<const M: usize> = [[__m512; 2]; M];

/// Where a matrix lies: its first unit, and how many units further the next row and the next term are.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub start: *const u32,
    pub row: usize,
    pub term: usize,
}

/// Adds to `sums[row][column]` the products of `a[row][term]` and `b[term][column]`, in the order of the
/// terms. A row of `b` is 32 units, `b.term` from one to the next.
///
/// # Safety
/// The processor has what `N` needs; `a` and `b` are there.
#[inline(always)]
pub(super) unsafe fn add_products<N: Numbers, const M: usize>(
    sums: &mut Sums<M>,
    a: Factor,
    b: Factor,
    terms: usize,
) {
    // SAFETY: as this function asks.
    unsafe {
        let rows: [*const u32; M] = std::array::from_fn(|row| a.start.wrapping_add(row * a.row));
        let mut columns = b.start;
        for term in 0..terms {
            let first = _mm512_loadu_si512(columns.cast());
            let second = _mm512_loadu_si512(columns.add(16).cast());
            for (sums, row) in sums.iter_mut().zip(rows) {
                let a = _mm512_set1_epi32(row.add(term * a.term).read_unaligned().cast_signed());
                sums[0] = N::multiply_add(a, first, sums[0]);
                sums[1] = N::multiply_add(a, second, sums[1]);
            }
            columns = columns.wrapping_add(b.term);
        }
    }
}

/// Numbers that kernels write down for themselves, at first not initialized, on a cache line of their own.
pub(super) struct Scratch<T>(Vec<Line>, std::marker::PhantomData<T>);

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

impl<T> Scratch<T> {
    /// For so many numbers.
    pub fn new(numbers: usize) -> Self {
        let lines = (numbers * size_of::<T>()).div_ceil(size_of::<Line>());
        Self(Vec::with_capacity(lines), std::marker::PhantomData)
    }

    /// The first of them.
    pub fn start(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

/// Calls `$work` with the constant `$rows` that `$count`, from 1 to [`MOST_ROWS`], is.
macro_rules! with_rows {
    ($count:expr, $rows:ident => $work:expr) => {
        with_rows!(@ $count, $rows => $work; 1 2 3 4 5 6 7 8 9 10 11)
    };
    (@ $count:expr, $rows:ident => $work:expr; $($number:literal)*) => {
        match $count {
            $($number => { const $rows: usize = $number; $work })*
            _ => { const $rows: usize = MOST_ROWS; $work }
        }
    };
}
pub(super) use with_rows;

/// Splits `count` rows into as few parts of at most [`MOST_ROWS`] as possible, of nearly equal length:
/// start and length of each.
pub(super) fn parts(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = count.div_ceil(MOST_ROWS);
    let start = move |part: usize| part * count / parts;
    (0..parts).map(move |part| (start(part), start(part + 1) - start(part)))
}
