//! Layer normalization: 32 numbers are taken apart into those at even places and those at odd ones, which costs one
//! instruction each.

#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]

use std::{arch::x86_64::*, array, mem::transmute};

use super::{
    super::{BLOCK, EPS, Pixel, ROW, Target},
    indices, load, load_two, rounded, store,
};

/// The numbers of two halves in turns.
const TURNS: [u16; 32] = indices(0, 16, 1);

/// 32 numbers as float32: those at even places, and those at odd ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn apart(numbers: __m512i) -> [__m512; 2] {
    let upper = _mm512_set1_epi32(-1 << 16);
    [
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(numbers)),
        _mm512_castsi512_ps(_mm512_and_si512(numbers, upper)),
    ]
}

/// The same of float32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn load_apart(from: *const f32) -> [__m512; 2] {
    let [first, second] = load_two(from);
    let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    [even, odd].map(|indices| _mm512_permutex2var_ps(first, indices, second))
}

/// Adds what is [apart](load_apart).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn add_apart(to: *mut f32, [even, odd]: [__m512; 2]) {
    let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    for half in 0..2 {
        let indices = _mm512_add_epi32(first, _mm512_set1_epi32(8 * half));
        let to = to.add(16 * half as usize);
        let numbers = _mm512_permutex2var_ps(even, indices, odd);
        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), numbers));
    }
}

/// Rounds what is [apart].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn store_apart(to: *mut u16, numbers: [__m512; 2]) {
    let turns = load(TURNS.as_ptr());
    store(to, _mm512_permutexvar_epi16(turns, rounded(numbers)));
}

/// The sums of 16 vectors' lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn across(rows: &[__m512; 16]) -> __m512 {
    let lanes = |row: usize| {
        let (a, b) = (rows[row], rows[row + 1]);
        let sums = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        _mm512_castps_pd(sums)
    };
    let fours = |row: usize| {
        let (a, b) = (lanes(row), lanes(row + 2));
        let [low, high] = [_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)];
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    };
    let halves = |a, b| {
        let even = _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b);
        _mm512_add_ps(even, _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b))
    };
    halves(halves(fours(0), fours(4)), halves(fours(8), fours(12)))
}

/// Sixteen rows at once: their sums come together in one vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn moments(sums: Pixel, to: *mut f32) {
    let count = _mm512_set1_ps((sums.blocks * 32) as f32);
    for first in (0..sums.rows).step_by(16) {
        let rows: [usize; 16] = array::from_fn(|line| (first + line).min(sums.rows - 1) * ROW);
        let (mut lanes, mut squares) = ([_mm512_setzero_ps(); 16], [_mm512_setzero_ps(); 16]);
        for block in 0..sums.blocks {
            let start = sums.start.add(block * sums.rows * ROW);
            for (row, lanes) in rows.iter().zip(&mut lanes) {
                let [even, odd] = apart(load(start.add(*row)));
                *lanes = _mm512_add_ps(*lanes, _mm512_add_ps(even, odd));
            }
        }
        let mean = _mm512_div_ps(across(&lanes), count);
        let means: [f32; 16] = transmute(mean);
        for block in 0..sums.blocks {
            let start = sums.start.add(block * sums.rows * ROW);
            for ((row, mean), squares) in rows.iter().zip(means).zip(&mut squares) {
                for numbers in apart(load(start.add(*row))) {
                    let centered = _mm512_sub_ps(numbers, _mm512_set1_ps(mean));
                    *squares = _mm512_fmadd_ps(centered, centered, *squares);
                }
            }
        }
        let variance = _mm512_div_ps(across(&squares), count);
        let root = _mm512_sqrt_ps(_mm512_add_ps(variance, _mm512_set1_ps(EPS as f32)));
        let factor = _mm512_div_ps(_mm512_set1_ps(1.0), root);
        let behind = _mm512_mul_ps(_mm512_sub_ps(_mm512_setzero_ps(), mean), factor);
        _mm512_storeu_ps(to.add(first), factor);
        _mm512_storeu_ps(to.add(32 + first), behind);
    }
}

/// 32 sums of a row normalized, [apart].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn normed(sums: *const u16, factors: *const f32) -> [__m512; 2] {
    let (factor, behind) = (_mm512_set1_ps(*factors), _mm512_set1_ps(*factors.add(32)));
    apart(load(sums)).map(|sums| _mm512_fmadd_ps(sums, factor, behind))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn normalize(sums: Pixel, factors: *const f32, params: [*const f32; 2], to: Target) {
    for block in 0..sums.blocks {
        let [scale, shift] = params.map(|param| load_apart(param.add(block * ROW)));
        let from = sums.start.add(block * sums.rows * ROW);
        let start = to.start.add(block * to.to_block);
        for row in 0..to.rows {
            let mut y = normed(from.add(row * ROW), factors.add(row));
            for (half, y) in y.iter_mut().enumerate() {
                *y = _mm512_fmadd_ps(*y, scale[half], shift[half]);
                *y = _mm512_max_ps(_mm512_setzero_ps(), *y);
            }
            store_apart(start.add(row * to.to_row), y);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub unsafe fn of_norm(
    sums: Pixel,
    factors: *const f32,
    scale: *const f32,
    of: *mut u16,
    of_params: [*mut f32; 2],
) {
    let count = _mm512_set1_ps((sums.blocks * 32) as f32);
    for first in [0, 16] {
        let (factors, at) = (factors.add(first), first * ROW);
        let mut lanes = [[_mm512_setzero_ps(); 16]; 2];
        for block in 0..sums.blocks {
            let at = at + block * BLOCK;
            let (sums, of) = (sums.start.add(at), of.add(at));
            let scale = load_apart(scale.add(block * ROW));
            let added = add_rows((sums, factors), scale, of, &mut lanes);
            for (to, added) in of_params.into_iter().zip(added) {
                add_apart(to.add(block * ROW), added);
            }
        }
        let means = [across(&lanes[0]), across(&lanes[1])].map(|sums| _mm512_div_ps(sums, count));
        let means: [[f32; 16]; 2] = transmute(means);
        for block in 0..sums.blocks {
            let at = at + block * BLOCK;
            let (sums, of) = (sums.start.add(at), of.add(at));
            of_rows(
                (sums, factors),
                load_apart(scale.add(block * ROW)),
                &means,
                of,
            );
        }
    }
}

/// What 16 rows of 32 numbers add to the gradients of scale and shift. To `lanes` of each row goes the gradient of what
/// is normalized, and its products with that.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn add_rows(
    (sums, factors): (*const u16, *const f32),
    scale: [__m512; 2],
    of: *const u16,
    [first, second]: &mut [[__m512; 16]; 2],
) -> [[__m512; 2]; 2] {
    let mut added = [[_mm512_setzero_ps(); 2]; 2];
    for (row, (first, second)) in first.iter_mut().zip(second).enumerate() {
        let normed = normed(sums.add(row * ROW), factors.add(row));
        let of = apart(load(of.add(row * ROW)));
        for half in 0..2 {
            added[0][half] = _mm512_fmadd_ps(of[half], normed[half], added[0][half]);
            added[1][half] = _mm512_add_ps(added[1][half], of[half]);
            let of = _mm512_mul_ps(of[half], scale[half]);
            *first = _mm512_add_ps(*first, of);
            *second = _mm512_fmadd_ps(of, normed[half], *second);
        }
    }
    added
}

/// The gradient of the same sums, in its place.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn of_rows(
    (sums, factors): (*const u16, *const f32),
    scale: [__m512; 2],
    [first, second]: &[[f32; 16]; 2],
    of: *mut u16,
) {
    for (row, (first, second)) in first.iter().zip(second).enumerate() {
        let (first, second) = (_mm512_set1_ps(*first), _mm512_set1_ps(*second));
        let normed = normed(sums.add(row * ROW), factors.add(row));
        let mut of_sums = apart(load(of.add(row * ROW)));
        for half in 0..2 {
            let of = _mm512_sub_ps(_mm512_mul_ps(of_sums[half], scale[half]), first);
            let of = _mm512_fnmadd_ps(normed[half], second, of);
            of_sums[half] = _mm512_mul_ps(of, _mm512_set1_ps(*factors.add(row)));
        }
        store_apart(of.add(row * ROW), of_sums);
    }
}
