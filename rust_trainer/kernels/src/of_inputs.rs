//! The gradient of the inputs.

use std::{marker::PhantomData, ptr};

use crate::{
    convolution::Convolution,
    pack,
    tile::{Scratch, Sums, add_products, with_rows},
    vectors::{Numbers, Vectors},
};

/// What the gradient of the inputs is computed with.
pub struct OfInputs<N: Numbers> {
    /// `[kernel · row / COLUMNS][outputs / PER_UNIT][COLUMNS]` units; of one image, those of one tile.
    weights: Scratch<u32>,
    /// An image of float32, where the numbers are others.
    sums: Scratch<f32>,
    places: Vec<usize>,
    /// Those of each tile: see [`Convolution::tiles`].
    tiles: Vec<(usize, usize)>,
    _numbers: PhantomData<N>,
}

impl<N: Numbers> OfInputs<N> {
    #[inline(always)]
    pub unsafe fn new(conv: &Convolution, weight: *const f32) -> Self {
        let columns = N::Set::COLUMNS;
        let (blocks, block_len) = (conv.terms() / columns, conv.outputs / N::PER_UNIT * columns);
        let is_one = conv.is_pointwise();
        let packed_at_once = if is_one { 1 } else { blocks };
        let mut weights = Scratch::<u32>::new(packed_at_once * block_len);
        if !is_one {
            let mut ordered = Scratch::<f32>::new(conv.outputs * conv.terms());
            let extents = (conv.channels, conv.kernel * conv.kernel);
            pack::reordered(conv.outputs, extents, weight, ordered.start());
            for block in 0..blocks {
                let to = weights.start().add(block * block_len);
                pack::outputs_first::<N>(conv, ordered.start(), block * columns, to);
            }
        }
        let needs_sums = !is_one && N::PER_UNIT > 1;
        Self {
            weights,
            sums: Scratch::if_needed(needs_sums, conv.image()),
            places: conv.places(),
            tiles: conv.tiles(N::Set::MOST_ROWS),
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
        conv: &Convolution,
        weight: *const f32,
        of_outputs: *const N::Stored,
        to: *mut N::Stored,
    ) {
        let columns = N::Set::COLUMNS;
        let block_len = conv.outputs / N::PER_UNIT * columns;
        let is_one = conv.is_pointwise();
        let sums: *mut f32 = if N::PER_UNIT > 1 {
            self.sums.start()
        } else {
            to.cast()
        };
        if !is_one {
            ptr::write_bytes(sums, 0, conv.image());
        }
        let mut weights = self.weights.start();
        for kernel_row in 0..conv.kernel {
            for column in (0..conv.row()).step_by(columns) {
                if is_one {
                    pack::outputs_first::<N>(conv, weight, column, weights);
                }
                let place = kernel_row * conv.width * conv.channels + column;
                for &(start, count) in &self.tiles {
                    let places = self.places.as_ptr().add(start);
                    let of_outputs = of_outputs.add(start * conv.outputs);
                    if is_one {
                        let to = (to.add(place), places);
                        with_rows!(N, count, M => whole::<N, M>(conv, of_outputs, weights, to));
                    } else {
                        let to = (sums.add(place), places);
                        with_rows!(N, count, M => added::<N, M>(conv, of_outputs, weights, to));
                    }
                }
                if !is_one {
                    weights = weights.add(block_len);
                }
            }
        }
        if !is_one && N::PER_UNIT > 1 {
            let lanes = N::Set::LANES;
            for number in (0..conv.image()).step_by(columns) {
                let from = sums.add(number);
                let numbers = [N::Set::load(from), N::Set::load(from.add(lanes))];
                N::store_two(to.add(number), numbers);
            }
        }
    }
}

/// The numbers of a tile of `M` pixels, to which no others add.
#[inline(always)]
unsafe fn whole<N: Numbers, const M: usize>(
    conv: &Convolution,
    of_outputs: *const N::Stored,
    weights: *const u32,
    (to, places): (*mut N::Stored, *const usize),
) {
    let mut sums: Sums<N, M> = [[N::Set::zero(); 2]; M];
    by_outputs::<N, M>(conv, &mut sums, of_outputs, weights);
    for (pixel, sums) in sums.iter().enumerate() {
        N::store_two(to.add(*places.add(pixel)), *sums);
    }
}

/// The same, added to what is there.
#[inline(always)]
unsafe fn added<N: Numbers, const M: usize>(
    conv: &Convolution,
    of_outputs: *const N::Stored,
    weights: *const u32,
    (to, places): (*mut f32, *const usize),
) {
    let lanes = N::Set::LANES;
    let mut sums: Sums<N, M> = [[N::Set::zero(); 2]; M];
    for (pixel, sums) in sums.iter_mut().enumerate() {
        let from = to.add(*places.add(pixel));
        *sums = [N::Set::load(from), N::Set::load(from.add(lanes))];
    }
    by_outputs::<N, M>(conv, &mut sums, of_outputs, weights);
    for (pixel, sums) in sums.iter().enumerate() {
        let to = to.add(*places.add(pixel));
        N::Set::store(to, sums[0]);
        N::Set::store(to.add(lanes), sums[1]);
    }
}

#[inline(always)]
unsafe fn by_outputs<N: Numbers, const M: usize>(
    conv: &Convolution,
    sums: &mut Sums<N, M>,
    of_outputs: *const N::Stored,
    weights: *const u32,
) {
    let units = conv.outputs / N::PER_UNIT;
    let of_outputs: *const u32 = of_outputs.cast();
    let rows = std::array::from_fn(|pixel| of_outputs.add(pixel * units));
    add_products::<N, M>(sums, (rows, 1), (weights, N::Set::COLUMNS), units);
}
