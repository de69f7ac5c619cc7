//! Max-pooling: bfloat16 are compared as integers.

#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]

use std::arch::x86_64::*;

use super::{super::ROW, widened_half};

/// Changes numbers so that larger ones are larger integers, and back.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn turned(numbers: __m256i) -> __m256i {
    let magnitude = _mm256_set1_epi16(0x7fff);
    let of_negative = _mm256_and_si256(_mm256_srai_epi16::<15>(numbers), magnitude);
    _mm256_xor_si256(numbers, of_negative)
}

/// Integers of which those of NaNs are the largest.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn keys(numbers: __m256i) -> __m256i {
    let largest = _mm256_set1_epi16(0x7fff);
    let magnitude = _mm256_and_si256(numbers, largest);
    let is_nan = _mm256_cmpgt_epi16_mask(magnitude, _mm256_set1_epi16(0x7f80));
    _mm256_mask_mov_epi16(turned(numbers), is_nan, largest)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn pool(from: &[(*const u16, u8)], images: usize, to: [*mut u16; 2], chosen: *mut u8) {
    for at in (0..images * ROW).step_by(ROW) {
        let mut largest = _mm256_set1_epi16(i16::MIN);
        let mut places = _mm256_setzero_si256();
        for &(from, number) in from {
            let keys = keys(_mm256_loadu_si256(from.add(at).cast()));
            let is_larger = _mm256_cmpgt_epi16_mask(keys, largest);
            largest = _mm256_mask_mov_epi16(largest, is_larger, keys);
            let number = _mm256_set1_epi16(number.into());
            places = _mm256_mask_mov_epi16(places, is_larger, number);
        }
        let largest = turned(largest);
        let rectified = _mm256_max_epi16(largest, _mm256_setzero_si256());
        _mm256_storeu_si256(to[0].add(at).cast(), largest);
        _mm256_storeu_si256(to[1].add(at).cast(), rectified);
        _mm_storeu_si128(chosen.add(at).cast(), _mm256_cvtepi16_epi8(places));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn of_pool(from: &[(*const u16, *const u8, u8)], to: *mut u16) {
    for at in (0..32 * ROW).step_by(ROW) {
        let mut sums = _mm512_setzero_ps();
        for &(of, chosen, place) in from {
            let chosen = _mm_loadu_si128(chosen.add(at).cast());
            let is_chosen = _mm_cmpeq_epi8_mask(chosen, _mm_set1_epi8(place.cast_signed()));
            let of = widened_half(_mm256_loadu_si256(of.add(at).cast()));
            sums = _mm512_mask_add_ps(sums, is_chosen, sums, of);
        }
        let rounded = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(sums));
        _mm256_storeu_si256(to.add(at).cast(), rounded);
    }
}
