//! As they are defined, in plain Rust: for tiles that are emulated.

use super::{
    super::tiles::{exact, flushed},
    BLOCK, Bytes, EPS, Pixel, ROW, Seen, TILE, Target,
};

/// bfloat16 of a float32, rounded to nearest even, zero for what is not normal.
fn rounded(number: f32) -> u16 {
    let bits = flushed(number).to_bits();
    if number.is_nan() {
        (bits >> 16) as u16 | 0x40
    } else {
        ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
    }
}

fn places(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows * ROW).map(|place| (place / ROW, place % ROW))
}

pub unsafe fn to_pairs(from: *const u16, to: *mut u16) {
    for (row, column) in places(32) {
        *to.add(column / 16 * TILE + row / 2 * ROW + column % 16 * 2 + row % 2) =
            *from.add(row * ROW + column);
    }
}

pub unsafe fn turn(from: *const u16, to: *mut u16) {
    for (row, column) in places(32) {
        *to.add(row / 16 * TILE + column / 2 * ROW + row % 16 * 2 + column % 2) =
            *from.add(row * ROW + column);
    }
}

pub unsafe fn round(from: *const f32, stride: usize, divisor: f32, to: *mut u16) {
    for (row, column) in places(32) {
        *to.add(row * ROW + column) = rounded(*from.add(row * stride + column) / divisor);
    }
}

pub unsafe fn bytes_to_rows(images: &[*const u8], bytes: Bytes, to: *mut u16) {
    for (row, column) in places(images.len()) {
        let byte = *images[row].add(bytes.halves[column / 16] + column % 16);
        *to.add(row * ROW + column) = rounded(f32::from(byte));
    }
}

pub unsafe fn bytes_to_pairs(images: &[*const u8], bytes: Bytes, to: *mut u16) {
    let mut rows = [0; BLOCK];
    bytes_to_rows(images, bytes, rows.as_mut_ptr());
    to_pairs(rows.as_ptr(), to);
}

pub unsafe fn finish(sums: *const f32, count: usize, least: f32, to: *mut u16, stride: usize) {
    for (row, column) in places(count) {
        let sum = *sums.add(row * 32 + column);
        *to.add(row * stride + column) = rounded(if sum < least { least } else { sum });
    }
}

pub unsafe fn pass(sums: *const f32, outputs: *const u16, to: *mut u16) {
    for place in 0..BLOCK {
        let is_on = (*outputs.add(place)).cast_signed() > 0;
        *to.add(place) = if is_on { rounded(*sums.add(place)) } else { 0 };
    }
}

pub unsafe fn pass_onto(sums: *const f32, outputs: *const u16, to: *mut u16) {
    for place in 0..BLOCK {
        let is_on = (*outputs.add(place)).cast_signed() > 0;
        let sum = if is_on { *sums.add(place) } else { 0.0 };
        *to.add(place) = rounded(number(*to.add(place)) + sum);
    }
}

pub unsafe fn join(sums: *const f32, x: *const u16, count: usize, to: [*mut u16; 2]) {
    for place in 0..count * ROW {
        let sum = number(*x.add(place)) + *sums.add(place);
        *to[1].add(place) = rounded(if sum < 0.0 { 0.0 } else { sum });
        *to[0].add(place) = rounded(sum);
    }
}

pub unsafe fn to_keys(rows: *mut u16, count: usize) {
    for place in 0..count * ROW {
        let number = rows.add(place);
        let is_nan = *number & 0x7fff > 0x7f80;
        *number = if is_nan { 0x7fff } else { turned(*number) };
    }
}

/// A number as an integer, and back.
fn turned(bits: u16) -> u16 {
    bits ^ ((bits.cast_signed() >> 15).cast_unsigned() & 0x7fff)
}

pub unsafe fn pool(seen: &[Seen], images: usize, to: [*mut u16; 2], chosen: *mut u8) {
    for (image, column) in places(images) {
        let (mut largest, mut place) = (i16::MIN, 0);
        for seen in seen {
            let half = column / 16;
            let key = *seen.halves[half].add(image * ROW + column % 16);
            if key.cast_signed() > largest {
                (largest, place) = (key.cast_signed(), seen.places[half]);
            }
        }
        let at = image * ROW + column;
        let largest = turned(largest.cast_unsigned());
        *to[0].add(at) = largest;
        *to[1].add(at) = if largest.cast_signed() < 0 {
            0
        } else {
            largest
        };
        *chosen.add(at) = place;
    }
}

pub unsafe fn of_pool(from: &[(*const u16, *const u8, u8)], to: *mut u16) {
    for (image, column) in (0..32).flat_map(|image| (0..16).map(move |at| (image, at))) {
        let at = image * ROW + column;
        let mut sum = 0.0;
        for (of, chosen, place) in from {
            if *chosen.add(at) == *place {
                sum += number(*of.add(at));
            }
        }
        *to.add(at) = rounded(sum);
    }
}

fn number(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// In the order of the vectors: `vdpbf16ps` adds odd terms first.
pub unsafe fn add_columns(pairs: *const u16, to: *mut f32) {
    for column in 0..32 {
        let mut sums = [flushed(*to.add(column)), 0.0, 0.0, 0.0];
        for pair in 0..16 {
            let at = pairs.add(column / 16 * TILE + pair * ROW + column % 16 * 2);
            let sum = &mut sums[pair % 4];
            *sum = flushed(flushed(*sum + exact(*at.add(1))) + exact(*at));
        }
        *to.add(column) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

/// A row of each block of a pixel, or of a gradient in the same order, in pairs of numbers.
unsafe fn pairs(start: *const u16, sums: Pixel, row: usize) -> impl Iterator<Item = [f32; 2]> {
    let number = |at: *const u16| f32::from_bits(u32::from(*at) << 16);
    (0..sums.blocks * 16).map(move |pair| {
        let at = start.wrapping_add((pair / 16 * sums.rows + row) * ROW + pair % 16 * 2);
        [number(at), number(at.wrapping_add(1))]
    })
}

/// The sum of 16 lanes, in the order of the vectors.
fn across(lanes: [f32; 16]) -> f32 {
    let four = |at: usize| (lanes[at] + lanes[at + 2]) + (lanes[at + 1] + lanes[at + 3]);
    (four(0) + four(4)) + (four(8) + four(12))
}

pub unsafe fn moments(sums: Pixel, to: *mut f32) {
    let count = (sums.blocks * 32) as f32;
    for row in 0..sums.rows.next_multiple_of(16) {
        let row_there = row.min(sums.rows - 1);
        let pairs = || (0..).zip(pairs(sums.start, sums, row_there));
        let (mut lanes, mut squares) = ([0.0_f32; 16], [0.0_f32; 16]);
        for (at, [even, odd]) in pairs() {
            lanes[at % 16] += even + odd;
        }
        let mean = across(lanes) / count;
        for (at, pair) in pairs() {
            let square = &mut squares[at % 16];
            for number in pair {
                *square = (number - mean).mul_add(number - mean, *square);
            }
        }
        let factor = 1.0 / (across(squares) / count + EPS as f32).sqrt();
        *to.add(row) = factor;
        *to.add(32 + row) = (0.0 - mean) * factor;
    }
}

pub unsafe fn normalize(
    sums: Pixel,
    factors: *const f32,
    [scale, shift]: [*const f32; 2],
    to: Target,
) {
    for row in 0..to.rows {
        let (factor, behind) = (*factors.add(row), *factors.add(32 + row));
        for (at, number) in pairs(sums.start, sums, row).flatten().enumerate() {
            let normed = number.mul_add(factor, behind);
            let y = normed.mul_add(*scale.add(at), *shift.add(at));
            let to = to.start.add(row * to.to_row + at / 32 * to.to_block);
            *to.add(at % 32) = rounded(if y < 0.0 { 0.0 } else { y });
        }
    }
}

pub unsafe fn of_norm(
    sums: Pixel,
    factors: *const f32,
    scale: *const f32,
    of: *mut u16,
    of_params: [*mut f32; 2],
) {
    for first in [0, 16] {
        let mut added = vec![[0.0_f32; 2]; sums.blocks * 32];
        for row in first..first + 16 {
            of_row(sums, factors, scale, of, (row, &mut added));
        }
        for (at, added) in added.into_iter().enumerate() {
            *of_params[0].add(at) += added[0];
            *of_params[1].add(at) += added[1];
        }
    }
}

unsafe fn of_row(
    sums: Pixel,
    factors: *const f32,
    scale: *const f32,
    of: *mut u16,
    (row, added): (usize, &mut [[f32; 2]]),
) {
    let (factor, behind) = (*factors.add(row), *factors.add(32 + row));
    let of_row: Vec<f32> = pairs(of, sums, row).flatten().collect();
    let normed = pairs(sums.start, sums, row).flatten();
    let normed: Vec<f32> = normed.map(|sum| sum.mul_add(factor, behind)).collect();
    let (mut first, mut second) = ([0.0_f32; 16], [0.0_f32; 16]);
    for (at, (of, normed)) in of_row.iter().zip(&normed).enumerate() {
        added[at][0] = of.mul_add(*normed, added[at][0]);
        added[at][1] += of;
        let (of, lane) = (of * *scale.add(at), at / 2 % 16);
        first[lane] += of;
        second[lane] = of.mul_add(*normed, second[lane]);
    }
    let count = (sums.blocks * 32) as f32;
    let (first, second) = (across(first) / count, across(second) / count);
    for (at, (of_y, normed)) in of_row.iter().zip(&normed).enumerate() {
        let of_normed = of_y * *scale.add(at) - first;
        let of_sum = (-normed).mul_add(second, of_normed) * factor;
        *of.add((at / 32 * 32 + row) * ROW + at % 32) = rounded(of_sum);
    }
}

pub unsafe fn transpose(from: *const f32, rows: usize, columns: usize, to: *mut f32, _: usize) {
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        *to.add(column * rows + row) = *from.add(row * columns + column);
    }
}
