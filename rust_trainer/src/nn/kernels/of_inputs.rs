//! The gradient of the inputs.

use std::{arch::x86_64::*, marker::PhantomData};

use super::{
    Conv,
    numbers::Numbers,
    pack,
    tile::{COLUMNS, Factor, MOST_ROWS, Scratch, Sums, add_products, parts, with_rows},
};

/// What the gradient of the inputs is computed with.
pub(super) struct OfInputs<N: Numbers> {
    /// `[kernel · row / 32][outputs / PER_UNIT][32]` units; of one image, those of 32 columns.
    weights: Scratch<u32>,
    /// An image of float32, where the numbers are others.
    sums: Scratch<f32>,
    _numbers: PhantomData<N>,
}

impl<N: Numbers> OfInputs<N> {
    #[inline(always)]
    pub unsafe fn new(conv: &Conv, weight: *const f32) -> Self {
        let (blocks, block_len) = (conv.terms() / COLUMNS, conv.outputs / N::PER_UNIT * COLUMNS);
        let is_one = conv.kernel == 1;
        let mut weights = Scratch::<u32>::new(if is_one {
            block_len
        } else {
            blocks * block_len
        });
        // SAFETY: as `backward` asks.
        unsafe {
            if !is_one {
                let mut ordered = Scratch::<f32>::new(conv.outputs * conv.terms());
                let extents = (conv.channels, conv.kernel * conv.kernel);
                pack::reordered(conv.outputs, extents, weight, ordered.start());
                for block in 0..blocks {
                    let to = weights.start().add(block * block_len);
                    pack::outputs_first::<N>(conv, ordered.start(), block * COLUMNS, to);
                }
            }
        }
        let needs_sums = !is_one && N::PER_UNIT > 1;
        Self {
            weights,
            sums: Scratch::new(if needs_sums { conv.image() } else { 0 }),
            _numbers: PhantomData,
        }
    }

    /// The gradient of one image, from that of its outputs.
    ///
    /// Each pixel of the output adds to as many rows of the image as the kernel has, `row` numbers each
    /// in a row. Pixels of one tile add to different numbers: `step` is no less than a tile is wide.
    #[inline(always)]
    pub unsafe fn image(
        &mut self,
        conv: &Conv,
        weight: *const f32,
        of_outputs: *const N::Stored,
        to: *mut N::Stored,
    ) {
        let block_len = conv.outputs / N::PER_UNIT * COLUMNS;
        let is_one = conv.kernel == 1;
        // SAFETY: as `backward` asks.
        unsafe {
            let sums: *mut f32 = if N::PER_UNIT > 1 {
                self.sums.start()
            } else {
                to.cast()
            };
            if !is_one {
                std::slice::from_raw_parts_mut(sums, conv.image()).fill(0.0);
            }
            let mut weights = self.weights.start();
            for kernel_row in 0..conv.kernel {
                for column in (0..conv.row()).step_by(COLUMNS) {
                    if is_one {
                        pack::outputs_first::<N>(conv, weight, column, weights);
                    }
                    for row in 0..conv.out_height() {
                        for (start, count) in parts(conv.out_width()) {
                            let of_outputs =
                                of_outputs.add((row * conv.out_width() + start) * conv.outputs);
                            let place = conv.place(row, start)
                                + kernel_row * conv.width * conv.channels
                                + column;
                            if is_one {
                                let to = to.add(place);
                                with_rows!(count, M => whole::<N, M>(conv, of_outputs, weights, to));
                            } else {
                                let to = sums.add(place);
                                with_rows!(count, M => added::<N, M>(conv, of_outputs, weights, to));
                            }
                        }
                    }
                    if !is_one {
                        weights = weights.add(block_len);
                    }
                }
            }
            if !is_one && N::PER_UNIT > 1 {
                for number in (0..conv.image()).step_by(32) {
                    let from = sums.add(number);
                    let numbers = [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16))];
                    N::store_two(to.add(number), numbers);
                }
            }
        }
    }
}

/// 32 numbers of `M` pixels, to which no others add.
#[inline(always)]
unsafe fn whole<N: Numbers, const M: usize>(
    conv: &Conv,
    of_outputs: *const N::Stored,
    weights: *const u32,
    to: *mut N::Stored,
) {
    // SAFETY: as `backward` asks.
    unsafe {
        let mut sums: Sums<M> = [[_mm512_setzero_ps(); 2]; M];
        by_outputs::<N, M>(conv, &mut sums, of_outputs, weights);
        for (pixel, sums) in sums.iter().enumerate() {
            N::store(to.add(pixel * conv.step()), sums[0]);
            N::store(to.add(pixel * conv.step() + 16), sums[1]);
        }
    }
}

/// The same, added to what is there.
#[inline(always)]
unsafe fn added<N: Numbers, const M: usize>(
    conv: &Conv,
    of_outputs: *const N::Stored,
    weights: *const u32,
    to: *mut f32,
) {
    // SAFETY: as `backward` asks.
    unsafe {
        let mut sums: Sums<M> = [[_mm512_setzero_ps(); 2]; M];
        for (pixel, sums) in sums.iter_mut().enumerate() {
            let from = to.add(pixel * conv.step());
            *sums = [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16))];
        }
        by_outputs::<N, M>(conv, &mut sums, of_outputs, weights);
        for (pixel, sums) in sums.iter().enumerate() {
            let to = to.add(pixel * conv.step());
            _mm512_storeu_ps(to, sums[0]);
            _mm512_storeu_ps(to.add(16), sums[1]);
        }
    }
}

#[inline(always)]
unsafe fn by_outputs<N: Numbers, const M: usize>(
    conv: &Conv,
    sums: &mut Sums<M>,
    of_outputs: *const N::Stored,
    weights: *const u32,
) {
    let units = conv.outputs / N::PER_UNIT;
    let a = Factor {
        start: of_outputs.cast(),
        row: units,
        term: 1,
    };
    let b = Factor {
        start: weights,
        row: 1,
        term: COLUMNS,
    };
    // SAFETY: as `backward` asks.
    unsafe { add_products::<N, M>(sums, a, b, units) }
}
