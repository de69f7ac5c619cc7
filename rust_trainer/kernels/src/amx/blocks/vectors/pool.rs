//! Max-pooling.

#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]

use std::arch::x86_64::*;

use super::{
    super::{ROW, Seen},
    load, store, widened_half,
};

/// Numbers as integers, and back.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn turned(numbers: __m512i) -> __m512i {
    let magnitude = _mm512_set1_epi16(0x7fff);
    let of_negative = _mm512_and_si512(_mm512_srai_epi16::<15>(numbers), magnitude);
    _mm512_xor_si512(numbers, of_negative)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn to_keys(rows: *mut u16, count: usize) {
    let (magnitude, infinity) = (_mm512_set1_epi16(0x7fff), _mm512_set1_epi16(0x7f80));
    for at in (0..count * ROW).step_by(ROW) {
        let numbers = load(rows.add(at));
        let is_nan = _mm512_cmpgt_epi16_mask(_mm512_and_si512(numbers, magnitude), infinity);
        let keys = _mm512_mask_mov_epi16(turned(numbers), is_nan, magnitude);
        store(rows.add(at), keys);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn halves(first: __m256i, second: __m256i) -> __m512i {
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn pool(seen: &[Seen], images: usize, to: [*mut u16; 2], chosen: *mut u8) {
    for at in (0..images * ROW).step_by(ROW) {
        let mut largest = _mm512_set1_epi16(i16::MIN);
        let mut places = _mm512_setzero_si512();
        for seen in seen {
            let [first, second] = seen.halves.map(|half| half.add(at).cast());
            let keys = halves(_mm256_loadu_si256(first), _mm256_loadu_si256(second));
            let [first, second] = seen.places.map(|place| _mm256_set1_epi16(place.into()));
            let is_larger = _mm512_cmpgt_epi16_mask(keys, largest);
            largest = _mm512_max_epi16(largest, keys);
            places = _mm512_mask_mov_epi16(places, is_larger, halves(first, second));
        }
        let largest = turned(largest);
        store(to[0].add(at), largest);
        let rectified = _mm512_max_epi16(largest, _mm512_setzero_si512());
        store(to[1].add(at), rectified);
        _mm256_storeu_si256(chosen.add(at).cast(), _mm512_cvtepi16_epi8(places));
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
