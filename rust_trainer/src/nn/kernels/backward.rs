//! The gradients of weights, biases and inputs.

use std::arch::x86_64::*;

use super::{
    Conv, Gradients,
    numbers::Numbers,
    pack,
    tile::{COLUMNS, Factor, MOST_ROWS, Scratch, Sums, add_products, parts, with_rows},
};

/// Outputs whose weights a tile has gradients of.
const ROWS: usize = 8;

/// The gradient of one image's outputs, as it is needed.
struct OfOutputs<N: Numbers> {
    /// The outputs and their gradient with channels last, where they come with channels first.
    turned: [Scratch<N::Stored>; 2],
    /// `[pixels][outputs]`, zero where a unit is off; for the gradient of the inputs alone.
    passed: Scratch<N::Stored>,
    /// The same as `[outputs / 8][pixels / PER_UNIT][8]` units, of one pixel or two.
    packed: Scratch<u32>,
}

/// Gradients of all that went into [`forward`](super::forward::forward), from those of `y`.
///
/// # Safety
/// As there; `of` likewise.
#[inline(always)]
pub(super) unsafe fn backward<N: Numbers>(
    conv: &Conv,
    x: *const u8,
    weight: *const f32,
    y: *const N::Stored,
    of_y: *const N::Stored,
    of: &Gradients,
) {
    let (pixels, terms) = (conv.pixels(), conv.terms());
    let units = pixels.div_ceil(N::PER_UNIT);
    let image_of_y = pixels * conv.outputs;
    let length = |is_needed| if is_needed { image_of_y } else { 0 };
    let mut of_outputs = OfOutputs::<N> {
        turned: [0; 2].map(|_| Scratch::new(length(conv.channels_first))),
        passed: Scratch::new(length(conv.rectified && !of.x.is_null())),
        packed: Scratch::new(units * conv.outputs),
    };
    let mut numbers = Scratch::<N::Stored>::new(if conv.of_bytes { conv.image() } else { 0 });
    let is_reordered = conv.kernel > 1;
    let mut ordered = Scratch::<f32>::new(if is_reordered {
        conv.outputs * terms
    } else {
        0
    });
    let mut columns = Scratch::<u32>::new(units * COLUMNS);
    let places: Vec<usize> = (0..pixels)
        .map(|pixel| conv.place(pixel / conv.out_width(), pixel % conv.out_width()))
        .collect();
    // SAFETY: as this function asks; `Conv::fits` has been asked for the extents.
    unsafe {
        let of_weights = if is_reordered {
            ordered.start()
        } else {
            of.weight
        };
        let of_bias = std::slice::from_raw_parts_mut(of.bias, conv.outputs);
        of_bias.fill(0.0);
        let of_inputs = (!of.x.is_null()).then(|| OfInputs::<N>::new(conv, weight));
        let mut of_inputs = of_inputs;
        for image in 0..conv.images {
            let mut outputs = [y, of_y].map(|numbers| numbers.add(image * image_of_y));
            if conv.channels_first {
                for (numbers, turned) in outputs.iter_mut().zip(&mut of_outputs.turned) {
                    let turned = turned.start();
                    pack::turned::<N>(*numbers, (conv.outputs, pixels), turned);
                    *numbers = turned;
                }
            }
            let [y, of_y] = outputs;
            let packed = of_outputs.packed.start();
            let mut passed = of_y;
            if conv.rectified && !of.x.is_null() {
                passed = of_outputs.passed.start();
                of_outputs_of_image::<N, true>(
                    conv,
                    (y, of_y),
                    of_outputs.passed.start(),
                    packed,
                    of_bias,
                );
            } else {
                of_outputs_of_image::<N, false>(
                    conv,
                    (y, of_y),
                    of_outputs.passed.start(),
                    packed,
                    of_bias,
                );
            }
            let x = conv.numbers_of::<N>(x, image, &mut numbers);
            let is_first = image == 0;
            weights::<N>(
                conv,
                x,
                packed,
                &places,
                columns.start(),
                (of_weights, is_first),
            );
            if let Some(of_inputs) = &mut of_inputs {
                let to = of.x.cast::<N::Stored>().add(image * conv.image());
                of_inputs.image(conv, weight, passed, to);
            }
        }
        if is_reordered {
            let extents = (conv.kernel * conv.kernel, conv.channels);
            pack::reordered(conv.outputs, extents, of_weights, of.weight);
        }
        if conv.of_bytes {
            for number in 0..conv.outputs * terms {
                *of.weight.add(number) /= pack::LARGEST_BYTE;
            }
        }
    }
}

/// Drops the gradients of units that are off, packs what is left, and adds it up for the biases.
#[inline(always)]
unsafe fn of_outputs_of_image<N: Numbers, const PASSED: bool>(
    conv: &Conv,
    (y, of_y): (*const N::Stored, *const N::Stored),
    passed: *mut N::Stored,
    packed: *mut u32,
    of_bias: &mut [f32],
) {
    let (pixels, units) = (conv.pixels(), conv.pixels().div_ceil(N::PER_UNIT));
    // SAFETY: as `backward` asks; there are a multiple of 32 outputs.
    unsafe {
        for output in (0..conv.outputs).step_by(16) {
            let mut sum = _mm512_setzero_ps();
            for unit in 0..units {
                let mut rows = [_mm512_setzero_ps(); 2];
                for (pixel, row) in (unit * N::PER_UNIT..pixels).zip(&mut rows[..N::PER_UNIT]) {
                    let place = pixel * conv.outputs + output;
                    *row = N::load(of_y.add(place));
                    if conv.rectified {
                        let y = N::load(y.add(place));
                        // As libtorch: what is no number passes.
                        let on = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(y, _mm512_setzero_ps());
                        *row = _mm512_maskz_mov_ps(on, *row);
                        if PASSED {
                            N::store(passed.add(place), *row);
                        }
                    }
                    sum = _mm512_add_ps(sum, *row);
                }
                let numbers = N::columns(rows);
                let to = packed.add((output / ROWS * units + unit) * ROWS);
                _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(numbers));
                let upper = _mm512_extracti64x4_epi64::<1>(numbers);
                _mm256_storeu_si256(to.add(units * ROWS).cast(), upper);
            }
            let to = of_bias.as_mut_ptr().add(output);
            _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), sum));
        }
    }
}

/// Adds the gradient of the weights by one image to `[outputs][kernel · kernel · channels]`, or writes it.
#[inline(always)]
unsafe fn weights<N: Numbers>(
    conv: &Conv,
    x: *const N::Stored,
    of_outputs: *const u32,
    places: &[usize],
    columns: *mut u32,
    (to, is_first): (*mut f32, bool),
) {
    let units = places.len().div_ceil(N::PER_UNIT);
    let is_packed = N::PER_UNIT > 1 || conv.kernel == 1;
    // SAFETY: as `backward` asks; a row of the kernel has a multiple of 32 numbers.
    unsafe {
        for kernel_row in 0..conv.kernel {
            for column in (0..conv.row()).step_by(COLUMNS) {
                let x = x.add(kernel_row * conv.width * conv.channels + column);
                let (mut b, mut rows, mut terms) = (
                    Factor {
                        start: columns.cast_const(),
                        row: 0,
                        term: COLUMNS,
                    },
                    1,
                    units,
                );
                if is_packed {
                    for (unit, pixels) in places.chunks(N::PER_UNIT).enumerate() {
                        let rows = [pixels[0], pixels[pixels.len() - 1]].map(|place| x.add(place));
                        let units = N::stored_columns(rows);
                        let to = columns.add(unit * COLUMNS);
                        _mm512_storeu_si512(to.cast(), units[0]);
                        _mm512_storeu_si512(to.add(16).cast(), units[1]);
                    }
                } else {
                    b = Factor {
                        start: x.cast(),
                        row: conv.place(1, 0),
                        term: conv.step(),
                    };
                    (rows, terms) = (conv.out_height(), conv.out_width());
                }
                for output in (0..conv.outputs).step_by(ROWS) {
                    let mut sums: Sums<ROWS> = [[_mm512_setzero_ps(); 2]; ROWS];
                    for row in 0..rows {
                        let start = of_outputs.add(output * units + row * terms * ROWS);
                        let a = Factor {
                            start,
                            row: 1,
                            term: ROWS,
                        };
                        let b = Factor {
                            start: b.start.add(row * b.row),
                            ..b
                        };
                        add_products::<N, ROWS>(&mut sums, a, b, terms);
                    }
                    let to = to.add(output * conv.terms() + kernel_row * conv.row() + column);
                    for (output, sums) in sums.iter().enumerate() {
                        for (half, sums) in sums.iter().enumerate() {
                            let to = to.add(output * conv.terms() + 16 * half);
                            let before = if is_first {
                                _mm512_setzero_ps()
                            } else {
                                _mm512_loadu_ps(to)
                            };
                            _mm512_storeu_ps(to, _mm512_add_ps(before, *sums));
                        }
                    }
                }
            }
        }
    }
}

/// What the gradient of the inputs is computed with.
struct OfInputs<N: Numbers> {
    /// `[kernel · row / 32][outputs / PER_UNIT][32]` units; of one image, those of 32 columns.
    weights: Scratch<u32>,
    /// An image of float32, where the numbers are others.
    sums: Scratch<f32>,
    _numbers: std::marker::PhantomData<N>,
}

impl<N: Numbers> OfInputs<N> {
    #[inline(always)]
    unsafe fn new(conv: &Conv, weight: *const f32) -> Self {
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
            _numbers: std::marker::PhantomData,
        }
    }

    /// The gradient of one image, from that of its outputs.
    ///
    /// Each pixel of the output adds to as many rows of the image as the kernel has, `row` numbers each
    /// in a row. Pixels of one tile add to different numbers: `step` is no less than a tile is wide.
    #[inline(always)]
    unsafe fn image(
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
