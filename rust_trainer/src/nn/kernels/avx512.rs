//! AVX-512: 32 registers of 16 numbers.

use std::arch::x86_64::*;

use super::vectors::Vectors;

/// AVX-512 with its instructions for bytes (`avx512f`, `avx512bw`).
pub(super) struct Avx512;

impl Vectors for Avx512 {
    type Vector = __m512;
    type Square = [__m512; 16];
    const LANES: usize = 16;
    const MOST_ROWS: usize = 12;
    const MOST_OUTPUTS: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn square() -> [__m512; 16] {
        // SAFETY: as the trait asks.
        unsafe { [_mm512_setzero_ps(); 16] }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, numbers: __m512) {
        // SAFETY: as the trait asks.
        unsafe { _mm512_storeu_ps(to, numbers) }
    }

    #[inline(always)]
    unsafe fn store_some(to: *mut f32, count: usize, numbers: __m512) {
        // SAFETY: as the trait asks.
        unsafe {
            if count <= 8 {
                _mm256_storeu_ps(to, _mm512_castps512_ps256(numbers));
            } else {
                _mm512_storeu_ps(to, numbers);
            }
        }
    }

    #[inline(always)]
    unsafe fn broadcast(unit: *const u32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_castsi512_ps(_mm512_set1_epi32(unit.read_unaligned().cast_signed())) }
    }

    #[inline(always)]
    unsafe fn of_bytes(bytes: *const u8) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(bytes.cast()))) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn divide(a: __m512, b: f32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_div_ps(a, _mm512_set1_ps(b)) }
    }

    #[inline(always)]
    unsafe fn multiply_add(a: __m512, b: __m512, sums: __m512) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_fmadd_ps(a, b, sums) }
    }

    #[inline(always)]
    unsafe fn rectified(sums: __m512) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_max_ps(_mm512_setzero_ps(), sums) }
    }

    #[inline(always)]
    unsafe fn passed(gradient: __m512, y: __m512) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe {
            let on = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(y, _mm512_setzero_ps());
            _mm512_maskz_mov_ps(on, gradient)
        }
    }

    #[inline(always)]
    unsafe fn sum_of_lanes(numbers: __m512) -> f32 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_reduce_add_ps(numbers) }
    }

    #[inline(always)]
    unsafe fn transposed(rows: [__m512; 16]) -> [__m512; 16] {
        // SAFETY: as the trait asks.
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
}
