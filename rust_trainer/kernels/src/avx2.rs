//! AVX2 with fused multiply-add: 16 registers of 8 numbers.

#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]

use std::arch::x86_64::*;

use crate::vectors::Vectors;

/// AVX2 and FMA, which processors have together.
pub struct Avx2;

impl Vectors for Avx2 {
    type Vector = __m256;
    type Square = [__m256; 8];
    const LANES: usize = 8;
    const MOST_ROWS: usize = 6;
    const MOST_OUTPUTS: usize = 6;

    #[inline(always)]
    unsafe fn zero() -> __m256 {
        _mm256_setzero_ps()
    }

    #[inline(always)]
    unsafe fn square() -> [__m256; 8] {
        [_mm256_setzero_ps(); 8]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        _mm256_loadu_ps(from)
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, numbers: __m256) {
        _mm256_storeu_ps(to, numbers);
    }

    #[inline(always)]
    unsafe fn broadcast(unit: *const u32) -> __m256 {
        _mm256_castsi256_ps(_mm256_set1_epi32(unit.read_unaligned().cast_signed()))
    }

    #[inline(always)]
    unsafe fn of_bytes(bytes: *const u8) -> __m256 {
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes.cast())))
    }

    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, b)
    }

    #[inline(always)]
    unsafe fn divide(a: __m256, b: f32) -> __m256 {
        _mm256_div_ps(a, _mm256_set1_ps(b))
    }

    #[inline(always)]
    unsafe fn multiply_add(a: __m256, b: __m256, sums: __m256) -> __m256 {
        _mm256_fmadd_ps(a, b, sums)
    }

    #[inline(always)]
    unsafe fn rectified(sums: __m256) -> __m256 {
        _mm256_max_ps(_mm256_setzero_ps(), sums)
    }

    #[inline(always)]
    unsafe fn passed(gradient: __m256, y: __m256) -> __m256 {
        let on = _mm256_cmp_ps::<_CMP_NLE_UQ>(y, _mm256_setzero_ps());
        _mm256_and_ps(on, gradient)
    }

    #[inline(always)]
    unsafe fn sum_of_lanes(numbers: __m256) -> f32 {
        let (low, high) = (
            _mm256_castps256_ps128(numbers),
            _mm256_extractf128_ps::<1>(numbers),
        );
        let fours = _mm_add_ps(low, high);
        let twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
        _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)))
    }

    #[inline(always)]
    unsafe fn transposed(rows: [__m256; 8]) -> [__m256; 8] {
        let double = |x| _mm256_castps_pd(x);
        let low = |a, b| _mm256_castpd_ps(_mm256_unpacklo_pd(double(a), double(b)));
        let high = |a, b| _mm256_castpd_ps(_mm256_unpackhi_pd(double(a), double(b)));
        let mut fours = rows;
        for four in fours.as_chunks_mut::<4>().0 {
            let [a, b, c, d] = *four;
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            *four = [
                low(ab, cd),
                high(ab, cd),
                low(ab_high, cd_high),
                high(ab_high, cd_high),
            ];
        }
        // Now half `h` of vector `4 · g + c` holds rows `4 · g` to `4 · g + 3` of column `4 · h + c`.
        let mut columns = rows;
        for column in 0..4 {
            let (upper, lower) = (fours[column], fours[4 + column]);
            columns[column] = _mm256_permute2f128_ps::<0x20>(upper, lower);
            columns[4 + column] = _mm256_permute2f128_ps::<0x31>(upper, lower);
        }
        columns
    }
}
