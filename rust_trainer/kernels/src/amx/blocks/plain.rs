//! As they are defined, in plain Rust: for tiles that are emulated.

use super::{
    super::tiles::{exact, flushed},
    BLOCK, Bytes, ROW, TILE,
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

pub unsafe fn finish(sums: *const f32, count: usize, to: *mut u16, stride: usize) {
    for (row, column) in places(count) {
        let sum = *sums.add(row * 32 + column);
        *to.add(row * stride + column) = if sum < 0.0 { 0 } else { rounded(sum) };
    }
}

pub unsafe fn pass(sums: *const f32, outputs: *const u16, to: *mut u16) {
    for place in 0..BLOCK {
        let is_on = (*outputs.add(place)).cast_signed() > 0;
        *to.add(place) = if is_on { rounded(*sums.add(place)) } else { 0 };
    }
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

pub unsafe fn transpose(from: *const f32, rows: usize, columns: usize, to: *mut f32, _: usize) {
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        *to.add(column * rows + row) = *from.add(row * columns + column);
    }
}
