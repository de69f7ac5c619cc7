//! Interpolation in the fixed-point numbers of OpenCV's `resize`: `INTER_LINEAR`, and what stands for `INTER_AREA` where a
//! side grows.

use std::ops::Range;

/// An output lies between pixels `first` and `second`, with weights in 2048ths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blend {
    first: usize,
    second: usize,
    weights: (i32, i32),
}

impl Blend {
    /// With this `part` of the second pixel, and what is left of one of the first.
    fn new(first: usize, second: usize, part: f32) -> Self {
        let weight = |part: f32| (part * 2048.0).round_ties_even() as i32;
        Self {
            first,
            second,
            weights: (weight(1.0 - part), weight(part)),
        }
    }
}

/// Where outputs lie along a side that OpenCV interpolates in place of `INTER_AREA`.
pub(super) fn blends(from: usize, to: usize) -> Vec<Blend> {
    let inverse = to as f64 / from as f64;
    let scale = 1.0 / inverse;
    let blend = |target: usize| {
        let first = (target as f64 * scale).floor() as usize;
        let part = ((target + 1) as f64 - (first + 1) as f64 * inverse) as f32;
        let part = if part <= 0.0 {
            0.0
        } else {
            part - part.floor()
        };
        let (first, part) = if first >= from - 1 {
            (from - 1, 0.0)
        } else {
            (first, part)
        };
        Blend::new(first, (first + 1).min(from - 1), part)
    };
    (0..to).map(blend).collect()
}

/// Where outputs lie along a side for `INTER_LINEAR`: between the centres of pixels. Beyond those at the edges both pixels
/// are the nearest one, which `in_a_row` has the whole weight.
pub(super) fn centred(from: usize, to: usize, in_a_row: bool) -> Vec<Blend> {
    let (scale, last) = (1.0 / (to as f64 / from as f64), from as i64 - 1);
    let blend = |target: usize| {
        let place = ((target as f64 + 0.5) * scale - 0.5) as f32;
        let first = place.floor() as i64;
        let is_beyond = !(0..last).contains(&first);
        let part = if in_a_row && is_beyond {
            0.0
        } else {
            place - place.floor()
        };
        let pixel = |number: i64| number.clamp(0, last) as usize;
        Blend::new(pixel(first), pixel(first + 1), part)
    };
    (0..to).map(blend).collect()
}

/// Resizes `picture`, rows of `width` pixels, to `out`, as the tables of both sides say, where `is_wanted` says so of the
/// rows that an output's row is made of.
pub(super) fn resize(
    picture: &[u8],
    width: usize,
    (down, across): &(Vec<Blend>, Vec<Blend>),
    is_wanted: impl Fn(Range<usize>) -> bool,
    out: &mut [u8],
) {
    for (out, y) in out.chunks_exact_mut(across.len()).zip(down) {
        if !is_wanted(y.first..y.second + 1) {
            continue;
        }
        let rows = [y.first, y.second].map(|row| &picture[row * width..(row + 1) * width]);
        for (out, x) in out.iter_mut().zip(across) {
            let [above, below] = rows.map(|row| {
                i32::from(row[x.first]) * x.weights.0 + i32::from(row[x.second]) * x.weights.1
            });
            // As in OpenCV, bits are dropped before and after the product.
            let part = |sum: i32, weight: i32| (weight * (sum >> 4)) >> 16;
            *out = ((part(above, y.weights.0) + part(below, y.weights.1) + 2) >> 2) as u8;
        }
    }
}
