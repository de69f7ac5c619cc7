//! The gradient of the weights.

use std::{arch::x86_64::*, marker::PhantomData};

use super::{
    Conv,
    numbers::Numbers,
    of_outputs::OUTPUTS,
    pack,
    tile::{COLUMNS, Factor, Scratch, Sums, add_products},
};

/// The gradient of the weights, which images add to.
pub(super) struct OfWeights<N: Numbers> {
    /// `[outputs][kernel · kernel · channels]`: what is wanted, or, where that lies in another order, `ordered`.
    to: *mut f32,
    ordered: Scratch<f32>,
    wanted: *mut f32,
    is_first: bool,
    /// Where in an image each pixel begins.
    places: Vec<usize>,
    /// `[pixels / PER_UNIT][32]` units of an image.
    columns: Scratch<u32>,
    _numbers: PhantomData<N>,
}

impl<N: Numbers> OfWeights<N> {
    /// To `wanted`, `[outputs, channels, kernel, kernel]`.
    #[inline(always)]
    pub fn new(conv: &Conv, wanted: *mut f32) -> Self {
        let is_ordered = conv.kernel == 1;
        let length = if is_ordered {
            0
        } else {
            conv.outputs * conv.terms()
        };
        let mut ordered = Scratch::new(length);
        let width = conv.out_width();
        let places = (0..conv.pixels()).map(|pixel| conv.place(pixel / width, pixel % width));
        let places: Vec<usize> = places.collect();
        Self {
            to: if is_ordered { wanted } else { ordered.start() },
            ordered,
            wanted,
            is_first: true,
            columns: Scratch::new(places.len().div_ceil(N::PER_UNIT) * COLUMNS),
            places,
            _numbers: PhantomData,
        }
    }

    /// What an image `x` adds, the gradient of whose outputs is `of_outputs`: see
    /// [`OfImage::packed`](super::of_outputs::OfImage).
    #[inline(always)]
    pub unsafe fn add(&mut self, conv: &Conv, x: *const N::Stored, of_outputs: *const u32) {
        // SAFETY: as `backward` asks; a row of the kernel has a multiple of 32 numbers.
        unsafe {
            for kernel_row in 0..conv.kernel {
                for column in (0..conv.row()).step_by(COLUMNS) {
                    let x = x.add(kernel_row * conv.width * conv.channels + column);
                    let columns = self.columns(conv, x);
                    for output in (0..conv.outputs).step_by(OUTPUTS) {
                        let place = output * conv.terms() + kernel_row * conv.row() + column;
                        let of_outputs = of_outputs.add(output * self.num_units());
                        self.add_tile(conv, of_outputs, columns, place);
                    }
                }
            }
        }
        self.is_first = false;
    }

    fn num_units(&self) -> usize {
        self.places.len().div_ceil(N::PER_UNIT)
    }

    /// 32 numbers of what each pixel sees, from `x` on, as they can be multiplied; with them, rows of pixels
    /// and units in a row. Pairs of pixels are put beside each other first, and so are numbers that lie far
    /// apart.
    #[inline(always)]
    unsafe fn columns(&mut self, conv: &Conv, x: *const N::Stored) -> (Factor, usize, usize) {
        if N::PER_UNIT == 1 && conv.kernel > 1 {
            let columns = Factor {
                start: x.cast(),
                row: conv.place(1, 0),
                term: conv.step(),
            };
            return (columns, conv.out_height(), conv.out_width());
        }
        let start = self.columns.start();
        for (unit, pixels) in self.places.chunks(N::PER_UNIT).enumerate() {
            // The partner of a last pixel without one is multiplied by zero.
            let (first, last) = (pixels[0], pixels[pixels.len() - 1]);
            // SAFETY: as `backward` asks.
            unsafe {
                let units = N::stored_columns([x.add(first), x.add(last)]);
                let to = start.add(unit * COLUMNS);
                _mm512_storeu_si512(to.cast(), units[0]);
                _mm512_storeu_si512(to.add(16).cast(), units[1]);
            }
        }
        let columns = Factor {
            start,
            row: 0,
            term: COLUMNS,
        };
        (columns, 1, self.num_units())
    }

    /// Adds 8 outputs by 32 columns at `place`.
    #[inline(always)]
    unsafe fn add_tile(
        &self,
        conv: &Conv,
        of_outputs: *const u32,
        (columns, rows, units): (Factor, usize, usize),
        place: usize,
    ) {
        // SAFETY: as `backward` asks.
        unsafe {
            let mut sums: Sums<OUTPUTS> = [[_mm512_setzero_ps(); 2]; OUTPUTS];
            for row in 0..rows {
                let a = Factor {
                    start: of_outputs.add(row * units * OUTPUTS),
                    row: 1,
                    term: OUTPUTS,
                };
                let b = Factor {
                    start: columns.start.add(row * columns.row),
                    ..columns
                };
                add_products::<N, OUTPUTS>(&mut sums, a, b, units);
            }
            for (output, sums) in sums.iter().enumerate() {
                for (half, sums) in sums.iter().enumerate() {
                    let to = self.to.add(place + output * conv.terms() + 16 * half);
                    let before = if self.is_first {
                        _mm512_setzero_ps()
                    } else {
                        _mm512_loadu_ps(to)
                    };
                    _mm512_storeu_ps(to, _mm512_add_ps(before, *sums));
                }
            }
        }
    }

    /// Puts the weights in order when all images have been added.
    #[inline(always)]
    pub unsafe fn finish(mut self, conv: &Conv) {
        // SAFETY: as `backward` asks.
        unsafe {
            if conv.kernel > 1 {
                let extents = (conv.kernel * conv.kernel, conv.channels);
                pack::reordered(conv.outputs, extents, self.ordered.start(), self.wanted);
            }
            if conv.of_bytes {
                for number in 0..conv.outputs * conv.terms() {
                    *self.wanted.add(number) /= pack::LARGEST_BYTE;
                }
            }
        }
    }
}
