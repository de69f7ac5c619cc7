//! With vectors of 512 bits.

#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]

use std::{arch::x86_64::*, mem::transmute};

use super::{BLOCK, Bytes, ROW, TILE};
use crate::{avx512::Avx512, vectors::Vectors};

mod norm;
mod pool;

pub use norm::{moments, normalize, of_norm};
pub use pool::{of_pool, pool, to_keys};

/// How far ahead, in numbers, what is read in a row is fetched.
const AHEAD: usize = 3 * BLOCK;

/// Indices of 16-bit numbers: `first`, `second`, `first + step`, `second + step`, …
const fn indices(first: u16, second: u16, step: u16) -> [u16; 32] {
    let mut indices = [0; 32];
    let mut pair = 0;
    while pair < 16 {
        indices[2 * pair] = first + pair as u16 * step;
        indices[2 * pair + 1] = second + pair as u16 * step;
        pair += 1;
    }
    indices
}

const PAIRS: [[u16; 32]; 2] = [indices(0, 32, 1), indices(16, 48, 1)];
/// The upper halves of two vectors' numbers.
const UPPER: [u16; 32] = indices(1, 3, 4);

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn load(from: *const u16) -> __m512i {
    _mm512_loadu_si512(from.cast())
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn store(to: *mut u16, numbers: __m512i) {
    _mm512_storeu_si512(to.cast(), numbers);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn load_two(from: *const f32) -> [__m512; 2] {
    [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16))]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn rounded([first, second]: [__m512; 2]) -> __m512i {
    transmute(_mm512_cvtne2ps_pbh(second, first))
}

/// 32 bytes as bfloat16, which holds them exactly.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn of_bytes(first: __m128i, second: __m128i) -> __m512i {
    let exact = |bytes| _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)));
    _mm512_permutex2var_epi16(exact(first), load(UPPER.as_ptr()), exact(second))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn to_pairs(from: *const u16, to: *mut u16) {
    let indices = [load(PAIRS[0].as_ptr()), load(PAIRS[1].as_ptr())];
    for pair in 0..16 {
        let row = from.add(2 * pair * ROW);
        let (first, second) = (load(row), load(row.add(ROW)));
        for (tile, indices) in indices.into_iter().enumerate() {
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(AHEAD + tile * ROW).cast());
            store(
                to.add(tile * TILE + pair * ROW),
                _mm512_permutex2var_epi16(first, indices, second),
            );
        }
    }
}

/// Lanes of 128 bits come together as they are loaded, numbers in them by shuffles.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn turn(from: *const u16, to: *mut u16) {
    for (tile, four) in (0..8).map(|part| (part / 4 * TILE, part % 4)) {
        let lanes = |row: usize| {
            let lane = |lane: usize| {
                _mm_loadu_si128(from.add(tile + (row + 4 * lane) * ROW + four * 8).cast())
            };
            let lanes = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(lane(0)), lane(1));
            _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(lanes, lane(2)), lane(3))
        };
        let (a, b, c, d) = (lanes(0), lanes(1), lanes(2), lanes(3));
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        let to = to.add(tile + 4 * four * ROW);
        store(to, _mm512_unpacklo_epi64(ab, cd));
        store(to.add(ROW), _mm512_unpackhi_epi64(ab, cd));
        store(to.add(2 * ROW), _mm512_unpacklo_epi64(ab_high, cd_high));
        store(to.add(3 * ROW), _mm512_unpackhi_epi64(ab_high, cd_high));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[expect(clippy::float_cmp, reason = "a division by one is left out")]
pub unsafe fn round(from: *const f32, stride: usize, divisor: f32, to: *mut u16) {
    for row in 0..32 {
        let mut numbers = load_two(from.add(row * stride));
        if divisor != 1.0 {
            numbers = numbers.map(|numbers| _mm512_div_ps(numbers, _mm512_set1_ps(divisor)));
        }
        store(to.add(row * ROW), rounded(numbers));
    }
}

/// Loads 16 bytes of an image, and fetches what is wanted soon.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn load_bytes(from: *const u8, ahead: usize) -> __m128i {
    _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(ahead).cast());
    _mm_loadu_si128(from.cast())
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn bytes_to_rows(images: &[*const u8], bytes: Bytes, to: *mut u16) {
    let Bytes { halves, ahead } = bytes;
    for (row, &image) in images.iter().enumerate() {
        let first = load_bytes(image.add(halves[0]), ahead);
        let second = load_bytes(image.add(halves[1]), ahead);
        store(to.add(row * ROW), of_bytes(first, second));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn bytes_to_pairs(images: &[*const u8], bytes: Bytes, to: *mut u16) {
    for (pair, images) in images.as_chunks::<2>().0.iter().enumerate() {
        for (tile, half) in bytes.halves.into_iter().enumerate() {
            let a = load_bytes(images[0].add(half), bytes.ahead);
            let b = load_bytes(images[1].add(half), bytes.ahead);
            let numbers = of_bytes(_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
            store(to.add(tile * TILE + pair * ROW), numbers);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn finish(sums: *const f32, count: usize, least: f32, to: *mut u16, stride: usize) {
    let least = _mm512_set1_ps(least);
    for row in 0..count {
        // A NaN stays one.
        let sums = load_two(sums.add(row * 32)).map(|sums| _mm512_max_ps(least, sums));
        store(to.add(row * stride), rounded(sums));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn pass(sums: *const f32, outputs: *const u16, to: *mut u16) {
    for row in (0..BLOCK).step_by(ROW) {
        let on = _mm512_cmpgt_epi16_mask(load(outputs.add(row)), _mm512_setzero_si512());
        store(
            to.add(row),
            _mm512_maskz_mov_epi16(on, rounded(load_two(sums.add(row)))),
        );
    }
}

/// 32 numbers as float32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn widened(from: *const u16) -> [__m512; 2] {
    [0, 16].map(|half| widened_half(_mm256_loadu_si256(from.add(half).cast())))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn widened_half(numbers: __m256i) -> __m512 {
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(numbers)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn add_two(a: [__m512; 2], b: [__m512; 2]) -> [__m512; 2] {
    [_mm512_add_ps(a[0], b[0]), _mm512_add_ps(a[1], b[1])]
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn pass_onto(sums: *const f32, outputs: *const u16, to: *mut u16) {
    for row in (0..BLOCK).step_by(ROW) {
        let on = _mm512_cmpgt_epi16_mask(load(outputs.add(row)), _mm512_setzero_si512());
        let [first, second] = load_two(sums.add(row));
        let passed = [
            _mm512_maskz_mov_ps(on as u16, first),
            _mm512_maskz_mov_ps((on >> 16) as u16, second),
        ];
        store(to.add(row), rounded(add_two(widened(to.add(row)), passed)));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn join(sums: *const f32, x: *const u16, count: usize, to: [*mut u16; 2]) {
    for row in (0..count * ROW).step_by(ROW) {
        let sums = add_two(widened(x.add(row)), load_two(sums.add(row)));
        // A NaN stays one.
        let rectified = sums.map(|sums| _mm512_max_ps(_mm512_setzero_ps(), sums));
        store(to[1].add(row), rounded(rectified));
        store(to[0].add(row), rounded(sums));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn add_columns(pairs: *const u16, to: *mut f32) {
    let ones = transmute::<__m512i, __m512bh>(_mm512_set1_epi32(0x3f80_3f80));
    for tile in 0..2 {
        let to = to.add(16 * tile);
        let mut sums = [_mm512_setzero_ps(); 4];
        sums[0] = _mm512_loadu_ps(to);
        for pair in 0..16 {
            let numbers = transmute::<__m512i, __m512bh>(load(pairs.add(tile * TILE + pair * ROW)));
            sums[pair % 4] = _mm512_dpbf16_ps(sums[pair % 4], numbers, ones);
        }
        let [a, b, c, d] = sums;
        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)));
    }
}

/// Squares of 16 by 16; the last ones overlap those before where 16 does not divide the lengths.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn transpose(from: *const f32, rows: usize, columns: usize, to: *mut f32, ahead: usize) {
    if rows.min(columns) < 16 {
        return super::plain::transpose(from, rows, columns, to, ahead);
    }
    for row in (0..rows).step_by(16) {
        let row = row.min(rows - 16);
        for column in (0..columns).step_by(16) {
            let column = column.min(columns - 16);
            let mut square = [_mm512_setzero_ps(); 16];
            for (line, numbers) in square.iter_mut().enumerate() {
                let from = from.add((row + line) * columns + column);
                _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(ahead).cast());
                *numbers = _mm512_loadu_ps(from);
            }
            for (line, numbers) in Avx512::transposed(square).into_iter().enumerate() {
                let to = to.add((column + line) * rows + row);
                _mm_prefetch::<_MM_HINT_ET0>(to.wrapping_add(ahead).cast());
                _mm512_storeu_ps(to, numbers);
            }
        }
    }
}
