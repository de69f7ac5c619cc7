//! The product at the heart of all kernels: a few rows by two vectors of sums, held in registers.

use std::marker::PhantomData;

use crate::{
    convolution::Convolution,
    vectors::{Numbers, Vector, Vectors},
};

/// `M` rows of sums.
pub type Sums<N, const M: usize> = [[Vector<N>; 2]; M];

/// Adds to `sums[row][column]` the products of `a[row][term]` and `b[term][column]`, in the order of the
/// terms: where each row of `a` begins, where `b` does, and how many units further in each the next term is.
/// A row of `b` is two vectors.
///
/// # Safety
/// The processor has what `N` needs; `a` and `b` are there.
#[inline(always)]
pub unsafe fn add_products<N: Numbers, const M: usize>(
    sums: &mut Sums<N, M>,
    (rows, next): ([*const u32; M], usize),
    (mut columns, next_columns): (*const u32, usize),
    terms: usize,
) {
    for term in 0..terms {
        let first = N::Set::load(columns.cast());
        let second = N::Set::load(columns.add(N::Set::LANES).cast());
        for (sums, row) in sums.iter_mut().zip(rows) {
            let a = N::Set::broadcast(row.add(term * next));
            sums[0] = N::multiply_add(a, first, sums[0]);
            sums[1] = N::multiply_add(a, second, sums[1]);
        }
        columns = columns.wrapping_add(next_columns);
    }
}

/// Sums through the rectified linear units, where there are any.
#[inline(always)]
pub unsafe fn through_units<N: Numbers>(conv: &Convolution, sums: Vector<N>) -> Vector<N> {
    if conv.rectified {
        N::Set::rectified(sums)
    } else {
        sums
    }
}

/// Numbers that kernels write down for themselves, at first not initialized, on a cache line of their own.
#[derive(Debug)]
pub struct Scratch<T>(Vec<Line>, PhantomData<T>);

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

impl<T> Scratch<T> {
    /// For so many numbers.
    ///
    /// # Panics
    /// If there is no memory for them: whoever learns can still save what was learned.
    pub fn new(numbers: usize) -> Self {
        let lines = (numbers * size_of::<T>()).div_ceil(size_of::<Line>());
        let mut room = Vec::new();
        let is_there = room.try_reserve_exact(lines).is_ok();
        assert!(is_there, "can't allocate memory for {numbers} numbers");
        Self(room, PhantomData)
    }

    /// For so many numbers, if they are `needed`.
    pub fn if_needed(needed: bool, numbers: usize) -> Self {
        Self::new(if needed { numbers } else { 0 })
    }

    /// So many zeros.
    pub fn zeros(numbers: usize) -> Self {
        let mut made = Self::new(numbers);
        // SAFETY: they are there, and zero bytes are numbers.
        unsafe { made.start().write_bytes(0, numbers) };
        made
    }

    /// How many there is room for.
    pub fn len(&self) -> usize {
        self.0.capacity() * size_of::<Line>() / size_of::<T>()
    }

    /// The first of them.
    pub fn start(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

/// Calls `$work` with the constant `$rows` that `$count` is, from 1 to the most rows that a tile of `$numbers`
/// has.
macro_rules! with_rows {
    ($numbers:ty, $count:expr, $rows:ident => $work:expr) => {
        with_rows!(@ $numbers, $count, $rows => $work; 1 2 3 4 5 6 7 8 9 10 11)
    };
    (@ $numbers:ty, $count:expr, $rows:ident => $work:expr; $($number:literal)*) => {{
        // More rows than that are never compiled.
        const MOST: usize = 12;
        let most = <<$numbers as Numbers>::Set as Vectors>::MOST_ROWS;
        match $count {
            $(count if count == $number || most == $number => {
                const $rows: usize = $number;
                $work
            })*
            _ => { const $rows: usize = MOST; $work }
        }
    }};
}
pub(crate) use with_rows;
