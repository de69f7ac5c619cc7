//! The forward pass: convolution, bias and rectified linear unit at once.

use std::arch::x86_64::*;

use super::{
    Conv, few_rows,
    numbers::Numbers,
    pack,
    tile::{COLUMNS, Factor, MOST_ROWS, Scratch, Sums, add_products, parts, with_rows},
};

/// `x` `[images][height][width][channels]`, bytes if `conv.of_bytes`, → `y`
/// `[images][out_height][out_width][outputs]`, or `[images][outputs][out_height][out_width]`.
///
/// # Safety
/// The processor has what `N` needs; the pointers are to as many numbers as `conv` says.
#[inline(always)]
pub(super) unsafe fn forward<N: Numbers>(
    conv: &Conv,
    x: *const u8,
    weight: *const f32,
    bias: *const f32,
    y: *mut N::Stored,
) {
    if conv.has_few_rows() && !conv.of_bytes {
        // SAFETY: as this function asks.
        unsafe { few_rows::forward::<N>(conv, x.cast(), weight, bias, y) };
        return;
    }
    let block_len = conv.terms() / N::PER_UNIT * COLUMNS;
    let blocks = conv.outputs / COLUMNS;
    // A layer of one image is large: its weights are packed as they are needed.
    let packed_at_once = if conv.images == 1 { 1 } else { blocks };
    let mut packed = Scratch::<u32>::new(packed_at_once * block_len);
    let mut numbers = Scratch::<N::Stored>::new(if conv.of_bytes { conv.image() } else { 0 });
    let image_of_y = conv.pixels() * conv.outputs;
    let mut channels_last =
        Scratch::<N::Stored>::new(if conv.channels_first { image_of_y } else { 0 });
    // SAFETY: as this function asks; `Conv::fits` has been asked for the extents.
    unsafe {
        if packed_at_once == blocks {
            for block in 0..blocks {
                let to = packed.start().add(block * block_len);
                pack::outputs_last::<N>(conv, weight, block * COLUMNS, to);
            }
        }
        for image in 0..conv.images {
            let x = conv.numbers_of::<N>(x, image, &mut numbers);
            let to = y.add(image * image_of_y);
            let y = if conv.channels_first {
                channels_last.start()
            } else {
                to
            };
            for block in 0..blocks {
                let mut weights = packed.start();
                if packed_at_once == blocks {
                    weights = weights.add(block * block_len);
                } else {
                    pack::outputs_last::<N>(conv, weight, block * COLUMNS, weights);
                }
                let bias = bias.add(block * COLUMNS);
                for row in 0..conv.out_height() {
                    for (start, count) in parts(conv.out_width()) {
                        let x = x.add(conv.place(row, start));
                        let y = y
                            .add((row * conv.out_width() + start) * conv.outputs + block * COLUMNS);
                        with_rows!(count, M => pixels::<N, M>(conv, x, weights, bias, y));
                    }
                }
            }
            if conv.channels_first {
                pack::turned::<N>(y, (conv.pixels(), conv.outputs), to);
            }
        }
    }
}

/// 32 outputs of `M` pixels of a row.
#[inline(always)]
unsafe fn pixels<N: Numbers, const M: usize>(
    conv: &Conv,
    x: *const N::Stored,
    weights: *const u32,
    bias: *const f32,
    y: *mut N::Stored,
) {
    let terms = conv.row() / N::PER_UNIT;
    // SAFETY: as `forward` asks.
    unsafe {
        let bias = [_mm512_loadu_ps(bias), _mm512_loadu_ps(bias.add(16))];
        let mut sums: Sums<M> = [bias; M];
        for row in 0..conv.kernel {
            let x = x.add(row * conv.width * conv.channels);
            let a = Factor {
                start: x.cast(),
                row: conv.step() / N::PER_UNIT,
                term: 1,
            };
            let b = Factor {
                start: weights.add(row * terms * COLUMNS),
                row: 1,
                term: COLUMNS,
            };
            add_products::<N, M>(&mut sums, a, b, terms);
        }
        for (pixel, sums) in sums.iter().enumerate() {
            for (half, sums) in sums.iter().enumerate() {
                let numbers = conv.through_units(*sums);
                N::store(y.add(pixel * conv.outputs + 16 * half), numbers);
            }
        }
    }
}
