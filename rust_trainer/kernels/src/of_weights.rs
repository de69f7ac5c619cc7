//! The gradient of the weights.

use std::marker::PhantomData;

use crate::{
    convolution::{Convolution, parts},
    pack,
    tile::{Scratch, Sums, add_products, with_rows},
    vectors::{Numbers, Vectors},
};

/// The gradient of the weights, which images add to.
pub struct OfWeights<N: Numbers> {
    /// `[outputs][kernel · kernel · channels]`: what is wanted, or, where that lies in another order, `ordered`.
    to: *mut f32,
    ordered: Scratch<f32>,
    wanted: *mut f32,
    of_bytes: bool,
    is_first: bool,
    /// Where in an image each pixel begins.
    places: Vec<usize>,
    /// The outputs of each tile: see [`parts`].
    outputs: Vec<(usize, usize)>,
    /// `[pixels / PER_UNIT][COLUMNS]` units of an image.
    columns: Scratch<u32>,
    _numbers: PhantomData<N>,
}

/// Two vectors of what each pixel sees.
#[derive(Clone, Copy)]
struct Columns {
    start: *const u32,
    /// Units from one pixel, or pair of them, to the next, and from a row of pixels to the next.
    term: usize,
    row: usize,
    /// Rows of pixels, and units in a row.
    rows: usize,
    units: usize,
}

impl<N: Numbers> OfWeights<N> {
    /// To `wanted`, `[outputs, channels, kernel, kernel]`.
    #[inline(always)]
    pub fn new(conv: &Convolution, of_bytes: bool, wanted: *mut f32) -> Self {
        let is_ordered = conv.kernel == 1;
        let mut ordered = Scratch::if_needed(!is_ordered, conv.outputs * conv.terms());
        let places = conv.places();
        Self {
            to: if is_ordered { wanted } else { ordered.start() },
            ordered,
            wanted,
            of_bytes,
            is_first: true,
            columns: Scratch::new(places.len().div_ceil(N::PER_UNIT) * N::Set::COLUMNS),
            places,
            outputs: parts(conv.outputs, N::Set::MOST_OUTPUTS).collect(),
            _numbers: PhantomData,
        }
    }

    /// What an image `x` adds, the gradient of whose outputs is `of_outputs`: see
    /// [`OfImage::packed`](super::of_outputs::OfImage).
    #[inline(always)]
    pub unsafe fn add(&mut self, conv: &Convolution, x: *const N::Stored, of_outputs: *const u32) {
        for kernel_row in 0..conv.kernel {
            for column in (0..conv.row()).step_by(N::Set::COLUMNS) {
                let x = x.add(kernel_row * conv.width * conv.channels + column);
                let columns = self.columns(conv, x);
                for &(output, count) in &self.outputs {
                    let place = output * conv.terms() + kernel_row * conv.row() + column;
                    let of_outputs = of_outputs.add(output * self.num_units());
                    with_rows!(N, count, M => self.add_tile::<M>(conv, of_outputs, columns, place));
                }
            }
        }
        self.is_first = false;
    }

    fn num_units(&self) -> usize {
        self.places.len().div_ceil(N::PER_UNIT)
    }

    /// What each pixel sees from `x` on, as it can be multiplied: pairs of pixels are put beside each other
    /// first, and so are numbers that lie far apart.
    #[inline(always)]
    unsafe fn columns(&mut self, conv: &Convolution, x: *const N::Stored) -> Columns {
        if N::PER_UNIT == 1 && conv.kernel > 1 {
            return Columns {
                start: x.cast(),
                term: conv.step(),
                row: conv.width * conv.step(),
                rows: conv.out_height(),
                units: conv.out_width(),
            };
        }
        let start = self.columns.start();
        for (unit, pixels) in self.places.chunks(N::PER_UNIT).enumerate() {
            // The partner of a last pixel without one is multiplied by zero.
            let (first, last) = (pixels[0], pixels[pixels.len() - 1]);
            let units = N::stored_columns([x.add(first), x.add(last)]);
            let to = start.add(unit * N::Set::COLUMNS).cast();
            N::Set::store(to, units[0]);
            N::Set::store(to.add(N::Set::LANES), units[1]);
        }
        Columns {
            start,
            term: N::Set::COLUMNS,
            row: 0,
            rows: 1,
            units: self.num_units(),
        }
    }

    /// Adds a tile of `M` outputs at `place`.
    #[inline(always)]
    unsafe fn add_tile<const M: usize>(
        &self,
        conv: &Convolution,
        of_outputs: *const u32,
        columns: Columns,
        place: usize,
    ) {
        let mut sums: Sums<N, M> = [[N::Set::zero(); 2]; M];
        for row in 0..columns.rows {
            let of_outputs = of_outputs.add(row * columns.units * M);
            let rows = std::array::from_fn(|output| of_outputs.add(output));
            let seen = (columns.start.add(row * columns.row), columns.term);
            add_products::<N, M>(&mut sums, (rows, M), seen, columns.units);
        }
        for (output, sums) in sums.iter().enumerate() {
            for (half, sums) in sums.iter().enumerate() {
                let to = self
                    .to
                    .add(place + output * conv.terms() + N::Set::LANES * half);
                let before = if self.is_first {
                    N::Set::zero()
                } else {
                    N::Set::load(to)
                };
                N::Set::store(to, N::Set::add(before, *sums));
            }
        }
    }

    /// Puts the weights in order when all images have been added.
    #[inline(always)]
    pub unsafe fn finish(mut self, conv: &Convolution) {
        if conv.kernel > 1 {
            let extents = (conv.kernel * conv.kernel, conv.channels);
            pack::reordered(conv.outputs, extents, self.ordered.start(), self.wanted);
        }
        if self.of_bytes {
            for number in 0..conv.outputs * conv.terms() {
                *self.wanted.add(number) /= pack::LARGEST_BYTE;
            }
        }
    }
}
