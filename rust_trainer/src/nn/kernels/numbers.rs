//! The two types of numbers that the kernels compute with.
//!
//! A unit is what a lane of 32 bits holds: one float32, or two bfloat16 that are multiplied and added at
//! once. Sums are float32 either way.

use std::{arch::x86_64::*, marker::PhantomData, mem::transmute};

use super::{avx512::Avx512, vectors::Vectors};

/// A vector of the set in which `N` is computed.
pub(super) type Vector<N> = <<N as Numbers>::Set as Vectors>::Vector;

/// How numbers are held, multiplied and rounded. All methods need a processor that has what [`Numbers::Set`]
/// is, bfloat16 `avx512_bf16` besides, and pointers to a vector of numbers where nothing else is said.
pub(super) trait Numbers {
    type Set: Vectors;
    /// A number in a tensor.
    type Stored: Copy;
    /// Numbers in a unit.
    const PER_UNIT: usize;

    /// `sums + a · b`, over the numbers of each unit.
    unsafe fn multiply_add(a: Vector<Self>, b: Vector<Self>, sums: Vector<Self>) -> Vector<Self>;
    unsafe fn load(from: *const Self::Stored) -> Vector<Self>;
    /// Rounds numbers and writes them.
    unsafe fn store(to: *mut Self::Stored, numbers: Vector<Self>);
    /// The same of two vectors.
    #[inline(always)]
    unsafe fn store_two(to: *mut Self::Stored, [first, second]: [Vector<Self>; 2]) {
        // SAFETY: as the trait asks, two vectors.
        unsafe {
            Self::store(to, first);
            Self::store(to.add(Self::Set::LANES), second);
        }
    }
    /// Units of numbers that follow one another in memory, rounded: `PER_UNIT` vectors of float32.
    unsafe fn row(from: *const f32) -> Vector<Self>;
    /// Units of which each holds one number of every row, rounded.
    unsafe fn columns(rows: [Vector<Self>; 2]) -> Vector<Self>;
    /// Two vectors of units, of which each holds one number of every row: two rows of as many numbers.
    unsafe fn stored_columns(rows: [*const Self::Stored; 2]) -> [Vector<Self>; 2];
}

/// float32.
pub(super) struct Float32<S>(PhantomData<S>);

/// bfloat16 as `avx512_bf16` has it: rounded to nearest even, numbers below 2⁻¹²⁶ are zero.
pub(super) struct BFloat16;

// Everything below is inlined into the functions of `super` that are compiled for this processor.

impl<S: Vectors> Numbers for Float32<S> {
    type Set = S;
    type Stored = f32;
    const PER_UNIT: usize = 1;

    #[inline(always)]
    unsafe fn multiply_add(a: S::Vector, b: S::Vector, sums: S::Vector) -> S::Vector {
        // SAFETY: as the trait asks.
        unsafe { S::multiply_add(a, b, sums) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> S::Vector {
        // SAFETY: as the trait asks.
        unsafe { S::load(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, numbers: S::Vector) {
        // SAFETY: as the trait asks.
        unsafe { S::store(to, numbers) }
    }

    #[inline(always)]
    unsafe fn row(from: *const f32) -> S::Vector {
        // SAFETY: as the trait asks.
        unsafe { S::load(from) }
    }

    #[inline(always)]
    unsafe fn columns([row, _]: [S::Vector; 2]) -> S::Vector {
        row
    }

    #[inline(always)]
    unsafe fn stored_columns([row, _]: [*const f32; 2]) -> [S::Vector; 2] {
        // SAFETY: as the trait asks.
        unsafe { [S::load(row), S::load(row.add(S::LANES))] }
    }
}

impl Numbers for BFloat16 {
    type Set = Avx512;
    type Stored = u16;
    const PER_UNIT: usize = 2;

    #[inline(always)]
    unsafe fn multiply_add(a: __m512, b: __m512, sums: __m512) -> __m512 {
        // SAFETY: as the trait asks; the vectors are of one size.
        unsafe {
            _mm512_dpbf16_ps(
                sums,
                transmute::<__m512, __m512bh>(a),
                transmute::<__m512, __m512bh>(b),
            )
        }
    }

    #[inline(always)]
    unsafe fn load(from: *const u16) -> __m512 {
        // SAFETY: as the trait asks. A bfloat16 is the upper half of a float32.
        unsafe {
            let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
        }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u16, numbers: __m512) {
        // SAFETY: as the trait asks; the vectors are of one size.
        unsafe {
            let rounded = transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(numbers));
            _mm256_storeu_si256(to.cast(), rounded);
        }
    }

    #[inline(always)]
    unsafe fn store_two(to: *mut u16, [first, second]: [__m512; 2]) {
        // SAFETY: as the trait asks, 32 numbers.
        unsafe { _mm512_storeu_si512(to.cast(), rounded(first, second)) }
    }

    #[inline(always)]
    unsafe fn row(from: *const f32) -> __m512 {
        // SAFETY: as the trait asks, 32 numbers.
        unsafe {
            let rows = rounded(_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
            _mm512_castsi512_ps(rows)
        }
    }

    #[inline(always)]
    unsafe fn columns([first, second]: [__m512; 2]) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe {
            let columns = _mm512_permutexvar_epi16(alternating(0, 16), rounded(first, second));
            _mm512_castsi512_ps(columns)
        }
    }

    #[inline(always)]
    unsafe fn stored_columns([first, second]: [*const u16; 2]) -> [__m512; 2] {
        // SAFETY: as the trait asks.
        unsafe {
            let (first, second) = (
                _mm512_loadu_si512(first.cast()),
                _mm512_loadu_si512(second.cast()),
            );
            [alternating(0, 32), alternating(16, 48)].map(|indices| {
                _mm512_castsi512_ps(_mm512_permutex2var_epi16(first, indices, second))
            })
        }
    }
}

/// `first` in the lower half, `second` in the upper.
#[inline(always)]
unsafe fn rounded(first: __m512, second: __m512) -> __m512i {
    // SAFETY: the processor has avx512_bf16; the vectors are of one size.
    unsafe { transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(second, first)) }
}

/// Indices of 16-bit numbers: `even`, `odd`, `even + 1`, `odd + 1`, …
#[inline(always)]
fn alternating(even: u16, odd: u16) -> __m512i {
    let mut indices = [0_u16; 32];
    let mut pair = 0;
    while pair < 16 {
        indices[2 * pair] = even + pair as u16;
        indices[2 * pair + 1] = odd + pair as u16;
        pair += 1;
    }
    // SAFETY: both are 64 bytes, and every pattern of bits is a vector.
    unsafe { transmute::<[u16; 32], __m512i>(indices) }
}
