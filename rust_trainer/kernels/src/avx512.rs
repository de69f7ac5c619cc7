//! AVX-512: 32 registers of 16 numbers, and of 32 in bfloat16.

#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]

use std::{arch::x86_64::*, mem::transmute};

use half::bf16;

use crate::vectors::{Numbers, Vectors};

/// AVX-512 with its instructions for bytes (`avx512f`, `avx512bw`).
pub struct Avx512;

impl Vectors for Avx512 {
    type Vector = __m512;
    type Square = [__m512; 16];
    const LANES: usize = 16;
    const MOST_ROWS: usize = 12;
    const MOST_OUTPUTS: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        _mm512_setzero_ps()
    }

    #[inline(always)]
    unsafe fn square() -> [__m512; 16] {
        [_mm512_setzero_ps(); 16]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        _mm512_loadu_ps(from)
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, numbers: __m512) {
        _mm512_storeu_ps(to, numbers);
    }

    #[inline(always)]
    unsafe fn store_some(to: *mut f32, count: usize, numbers: __m512) {
        if count <= 8 {
            _mm256_storeu_ps(to, _mm512_castps512_ps256(numbers));
        } else {
            _mm512_storeu_ps(to, numbers);
        }
    }

    #[inline(always)]
    unsafe fn broadcast(unit: *const u32) -> __m512 {
        _mm512_castsi512_ps(_mm512_set1_epi32(unit.read_unaligned().cast_signed()))
    }

    #[inline(always)]
    unsafe fn of_bytes(bytes: *const u8) -> __m512 {
        _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(bytes.cast())))
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        _mm512_add_ps(a, b)
    }

    #[inline(always)]
    unsafe fn divide(a: __m512, b: f32) -> __m512 {
        _mm512_div_ps(a, _mm512_set1_ps(b))
    }

    #[inline(always)]
    unsafe fn multiply_add(a: __m512, b: __m512, sums: __m512) -> __m512 {
        _mm512_fmadd_ps(a, b, sums)
    }

    #[inline(always)]
    unsafe fn rectified(sums: __m512) -> __m512 {
        _mm512_max_ps(_mm512_setzero_ps(), sums)
    }

    #[inline(always)]
    unsafe fn passed(gradient: __m512, y: __m512) -> __m512 {
        let on = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(y, _mm512_setzero_ps());
        _mm512_maskz_mov_ps(on, gradient)
    }

    #[inline(always)]
    unsafe fn sum_of_lanes(numbers: __m512) -> f32 {
        _mm512_reduce_add_ps(numbers)
    }

    #[inline(always)]
    unsafe fn transposed(rows: [__m512; 16]) -> [__m512; 16] {
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

/// bfloat16 as `avx512_bf16` has it: rounded to nearest even, numbers below 2⁻¹²⁶ are zero.
pub struct BFloat16;

impl Numbers for BFloat16 {
    type Set = Avx512;
    type Stored = bf16;
    const PER_UNIT: usize = 2;

    #[inline(always)]
    unsafe fn multiply_add(a: __m512, b: __m512, sums: __m512) -> __m512 {
        _mm512_dpbf16_ps(
            sums,
            transmute::<__m512, __m512bh>(a),
            transmute::<__m512, __m512bh>(b),
        )
    }

    #[inline(always)]
    unsafe fn load(from: *const bf16) -> __m512 {
        let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
    }

    #[inline(always)]
    unsafe fn store(to: *mut bf16, numbers: __m512) {
        let rounded = transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(numbers));
        _mm256_storeu_si256(to.cast(), rounded);
    }

    #[inline(always)]
    unsafe fn store_two(to: *mut bf16, [first, second]: [__m512; 2]) {
        _mm512_storeu_si512(to.cast(), rounded(first, second));
    }

    #[inline(always)]
    unsafe fn row(from: *const f32) -> __m512 {
        let rows = rounded(_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
        _mm512_castsi512_ps(rows)
    }

    #[inline(always)]
    unsafe fn columns([first, second]: [__m512; 2]) -> __m512 {
        let columns = _mm512_permutexvar_epi16(alternating(0, 16), rounded(first, second));
        _mm512_castsi512_ps(columns)
    }

    #[inline(always)]
    unsafe fn stored_columns([first, second]: [*const bf16; 2]) -> [__m512; 2] {
        let (first, second) = (
            _mm512_loadu_si512(first.cast()),
            _mm512_loadu_si512(second.cast()),
        );
        [alternating(0, 32), alternating(16, 48)]
            .map(|indices| _mm512_castsi512_ps(_mm512_permutex2var_epi16(first, indices, second)))
    }
}

/// `first` in the lower half, `second` in the upper.
#[inline(always)]
unsafe fn rounded(first: __m512, second: __m512) -> __m512i {
    transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(second, first))
}

/// Indices of 16-bit numbers: `even`, `odd`, `even + 1`, `odd + 1`, …
#[inline(always)]
unsafe fn alternating(even: u16, odd: u16) -> __m512i {
    let mut indices = [0_u16; 32];
    let mut pair = 0;
    while pair < 16 {
        indices[2 * pair] = even + pair as u16;
        indices[2 * pair + 1] = odd + pair as u16;
        pair += 1;
    }
    transmute::<[u16; 32], __m512i>(indices)
}
