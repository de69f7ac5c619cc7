//! [`Resizer`]: OpenCV's `resize` with `INTER_AREA` or `INTER_LINEAR`, for pictures of one byte a pixel; equal in every
//! pixel to OpenCV 5.0, sums of float32 numbers taken in the same order.
//!
//! `INTER_AREA` has three ways: whole numbers of pixels become one (`Whole`), pixels are shared by weight (`Area`), and
//! where a side grows it interpolates (`Linear`).

use std::{ops::Range, sync::Arc};

use super::linear::{self, Blend};
use crate::{rl::recipe::Interpolation, simd::Simd};

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm_loadu_si128, _mm_shuffle_epi8, _mm256_add_ps, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32,
    _mm256_loadu_ps, _mm256_mul_ps, _mm256_storeu_ps,
};

/// Outputs that are computed together.
const LANES: usize = 8;
/// Bytes that a byte shuffle reaches.
const REACH: usize = 16;

/// Height and width.
type Size = (usize, usize);

/// Makes pictures of one size into ones of another. Clones share their tables.
#[derive(Clone, Debug)]
pub struct Resizer {
    from: Size,
    to: Size,
    way: Way,
    has_avx2: bool,
    /// One row of sums over columns, and one of sums over rows.
    row: Vec<f32>,
    sums: Vec<f32>,
}

#[derive(Clone, Debug)]
enum Way {
    Same,
    Whole,
    Area(Arc<Area>),
    Linear(Arc<(Vec<Blend>, Vec<Blend>)>),
}

impl Resizer {
    /// From pictures of height and width `from` to those of `to`, all at least 1.
    #[must_use]
    pub fn new(from: Size, to: Size, interpolation: Interpolation, simd: Simd) -> Self {
        let shrinks = from.0 >= to.0 && from.1 >= to.1;
        let way = if from == to {
            Way::Same
        } else if interpolation == Interpolation::Linear {
            let (down, across) = (
                linear::centred(from.0, to.0, false),
                linear::centred(from.1, to.1, true),
            );
            Way::Linear(Arc::new((down, across)))
        } else if !shrinks {
            Way::Linear(Arc::new((
                linear::blends(from.0, to.0),
                linear::blends(from.1, to.1),
            )))
        } else if from.0.is_multiple_of(to.0) && from.1.is_multiple_of(to.1) {
            Way::Whole
        } else {
            Way::Area(Arc::new(Area::new(from, to)))
        };
        let width = to.1.next_multiple_of(LANES);
        Self {
            from,
            to,
            way,
            has_avx2: simd != Simd::Portable && simd.is_available(),
            row: vec![0.0; width],
            sums: vec![0.0; width],
        }
    }

    /// Resizes `picture` to `out`; both in rows.
    pub fn resize(&mut self, picture: &[u8], out: &mut [u8]) {
        self.resize_rows(picture, |_| true, out);
    }

    /// Resizes `picture` to `out`, which holds what this picture was made into when other pixels were in its `changed`
    /// rows. One flag for each row of the picture.
    pub fn resize_changed(&mut self, picture: &[u8], changed: &[bool], out: &mut [u8]) {
        debug_assert_eq!(changed.len(), self.from.0);
        self.resize_rows(picture, |rows| changed[rows].contains(&true), out);
    }

    /// Resizes `picture` where `is_wanted` says so of the rows that an output's row is made of, or everywhere.
    fn resize_rows(
        &mut self,
        picture: &[u8],
        is_wanted: impl Fn(Range<usize>) -> bool,
        out: &mut [u8],
    ) {
        let (height, width) = self.from;
        debug_assert_eq!(picture.len(), height * width);
        debug_assert_eq!(out.len(), self.to.0 * self.to.1);
        match &self.way {
            Way::Same => out.copy_from_slice(picture),
            Way::Whole => whole(picture, self.from, self.to, out),
            Way::Linear(tables) => linear::resize(picture, width, tables, is_wanted, out),
            Way::Area(area) => {
                let (row, sums) = (&mut self.row, &mut self.sums);
                #[cfg(target_arch = "x86_64")]
                if self.has_avx2 {
                    #[expect(unsafe_code, reason = "needs AVX2")]
                    // SAFETY: the constructor has seen that there is AVX2.
                    unsafe {
                        area_avx2(area, picture, is_wanted, out, row, sums);
                    }
                    return;
                }
                area.resize(picture, is_wanted, out, row, sums, Area::add_columns);
            }
        }
    }
}

/// Each output is the mean of as many pixels.
fn whole(picture: &[u8], from: Size, to: Size, out: &mut [u8]) {
    let (down, across) = (from.0 / to.0, from.1 / to.1);
    let scale = (1.0 / (down * across) as f64) as f32;
    for (y, out) in out.chunks_exact_mut(to.1).enumerate() {
        let rows = &picture[y * down * from.1..(y + 1) * down * from.1];
        for (x, out) in out.iter_mut().enumerate() {
            let pixels = |row: &[u8]| {
                let pixels = &row[x * across..(x + 1) * across];
                pixels.iter().map(|&pixel| u32::from(pixel)).sum::<u32>()
            };
            let sum: u32 = rows.chunks_exact(from.1).map(pixels).sum();
            *out = match (down, across) {
                (2, 2) => ((sum + 2) >> 2) as u8,
                _ => (sum as f32 * scale).round_ties_even() as u8,
            };
        }
    }
}

/// Pixel `source` has this share in output `target`.
#[derive(Clone, Copy, Debug)]
struct Share {
    target: usize,
    source: usize,
    weight: f32,
}

/// Shares of pixels along one side (`computeResizeAreaTab`): by how far each lies under an output.
fn shares(from: usize, to: usize) -> Vec<Share> {
    const LEAST: f64 = 1e-3;
    let scale = 1.0 / (to as f64 / from as f64);
    let mut shares = Vec::new();
    for target in 0..to {
        let (start, end) = (target as f64 * scale, target as f64 * scale + scale);
        let cell = scale.min(from as f64 - start);
        let last = (end.floor() as usize).min(from - 1);
        let first = (start.ceil() as usize).min(last);
        let mut push = |source, length: f64| {
            let weight = (length / cell) as f32;
            shares.push(Share {
                target,
                source,
                weight,
            });
        };
        if first as f64 - start > LEAST {
            push(first - 1, first as f64 - start);
        }
        for source in first..last {
            push(source, 1.0);
        }
        if end - last as f64 > LEAST {
            push(last, (end - last as f64).min(1.0).min(cell));
        }
    }
    shares
}

/// Tables of `Way::Area`.
#[derive(Debug)]
struct Area {
    from: Size,
    to: Size,
    rows: Vec<Share>,
    /// Of each of `num_taps` the pixel and its weight for every output of a row, in order; outputs are filled up to a
    /// multiple of [`LANES`], and taps with weight 0.
    sources: Vec<u16>,
    weights: Vec<f32>,
    num_taps: usize,
    /// The same sources for a byte shuffle, where its reach is long enough: for each tap and [`LANES`] outputs where
    /// to load, and which bytes of that to take.
    shuffles: Option<Vec<(u16, [u8; REACH])>>,
}

impl Area {
    fn new(from: Size, to: Size) -> Self {
        let columns = shares(from.1, to.1);
        let width = to.1.next_multiple_of(LANES);
        let count = |target| {
            columns
                .iter()
                .filter(|share| share.target == target)
                .count()
        };
        let num_taps = (0..to.1).map(count).max().unwrap_or_default();
        let mut sources = vec![(from.1 - 1) as u16; num_taps * width];
        let mut weights = vec![0.0; num_taps * width];
        let mut taps = vec![0; to.1];
        for share in columns {
            let tap = &mut taps[share.target];
            sources[*tap * width + share.target] = share.source as u16;
            weights[*tap * width + share.target] = share.weight;
            *tap += 1;
        }
        // An unused tap looks where the output's last one does, so that a block's sources are close together.
        for (target, &used) in taps.iter().enumerate() {
            for tap in used..num_taps {
                sources[tap * width + target] = sources[(used - 1) * width + target];
            }
        }
        Self {
            shuffles: shuffles(&sources, from.1),
            from,
            to,
            rows: shares(from.0, to.0),
            sources,
            weights,
            num_taps,
        }
    }

    /// Sums over columns and then over rows. A row that is the same as the last one, as most are, is summed once.
    #[inline(always)]
    fn resize(
        &self,
        picture: &[u8],
        is_wanted: impl Fn(Range<usize>) -> bool,
        out: &mut [u8],
        row: &mut [f32],
        sums: &mut [f32],
        add_columns: impl Fn(&Self, &[u8], &mut [f32]),
    ) {
        let (mut source, mut pixels): (usize, &[u8]) = (usize::MAX, &[]);
        let shares = self.rows.chunk_by(|one, next| one.target == next.target);
        for (shares, out) in shares.zip(out.chunks_exact_mut(self.to.1)) {
            let (first, last) = (shares[0].source, shares[shares.len() - 1].source);
            if !is_wanted(first..last + 1) {
                continue;
            }
            for (index, share) in shares.iter().enumerate() {
                if share.source != source {
                    source = share.source;
                    let next = &picture[source * self.from.1..][..self.from.1];
                    if next != pixels {
                        add_columns(self, next, row);
                    }
                    pixels = next;
                }
                let products = row.iter().map(|row| share.weight * row);
                if index == 0 {
                    for (sum, product) in sums.iter_mut().zip(products) {
                        *sum = product;
                    }
                } else {
                    for (sum, product) in sums.iter_mut().zip(products) {
                        *sum += product;
                    }
                }
            }
            // Rounds the sums to bytes, ties to even: in a float32 beyond 2²³ the lowest bits are those of the integer.
            for (out, sum) in out.iter_mut().zip(&*sums) {
                *out = (sum + 8_388_608.0).to_bits() as u8;
            }
        }
    }

    fn add_columns(&self, pixels: &[u8], row: &mut [f32]) {
        row.fill(0.0);
        let taps = self.sources.chunks_exact(row.len());
        for (sources, weights) in taps.zip(self.weights.chunks_exact(row.len())) {
            for ((sum, source), weight) in row.iter_mut().zip(sources).zip(weights) {
                *sum += f32::from(pixels[usize::from(*source)]) * weight;
            }
        }
    }
}

fn shuffles(sources: &[u16], width: usize) -> Option<Vec<(u16, [u8; REACH])>> {
    let last_start = width.checked_sub(REACH)?;
    let blocks = sources.as_chunks::<LANES>().0.iter();
    blocks
        .map(|block| {
            let least = block.iter().copied().min().unwrap_or_default();
            let start = least.min(last_start as u16);
            let mut bytes = [0; REACH];
            for (byte, source) in bytes.iter_mut().zip(block) {
                *byte = (source - start) as u8;
                if usize::from(source - start) >= REACH {
                    return None;
                }
            }
            Some((start, bytes))
        })
        .collect()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn area_avx2(
    area: &Area,
    picture: &[u8],
    is_wanted: impl Fn(Range<usize>) -> bool,
    out: &mut [u8],
    row: &mut [f32],
    sums: &mut [f32],
) {
    match &area.shuffles {
        Some(shuffles) => area.resize(picture, is_wanted, out, row, sums, |area, pixels, row| {
            add_columns_avx2(area, shuffles, pixels, row);
        }),
        None => area.resize(picture, is_wanted, out, row, sums, Area::add_columns),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn add_columns_avx2(area: &Area, shuffles: &[(u16, [u8; REACH])], pixels: &[u8], row: &mut [f32]) {
    let num_blocks = row.len() / LANES;
    let weights = area.weights.as_chunks::<LANES>().0;
    for (block, sums) in row.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let product = |tap: usize| {
            let (start, bytes) = &shuffles[tap * num_blocks + block];
            let start = usize::from(*start);
            let pixels = &pixels[start..start + REACH];
            // SAFETY: 16 bytes each, and 8 numbers.
            let (pixels, bytes, weights) = unsafe {
                (
                    _mm_loadu_si128(pixels.as_ptr().cast()),
                    _mm_loadu_si128(bytes.as_ptr().cast()),
                    _mm256_loadu_ps(weights[tap * num_blocks + block].as_ptr()),
                )
            };
            let pixels = _mm256_cvtepu8_epi32(_mm_shuffle_epi8(pixels, bytes));
            _mm256_mul_ps(_mm256_cvtepi32_ps(pixels), weights)
        };
        let mut sum = product(0);
        for tap in 1..area.num_taps {
            sum = _mm256_add_ps(sum, product(tap));
        }
        // SAFETY: 8 numbers.
        unsafe { _mm256_storeu_ps(sums.as_mut_ptr(), sum) };
    }
}
