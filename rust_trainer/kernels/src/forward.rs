//! The forward pass: convolution, bias and rectified linear unit at once.

use crate::{
    convolution::{Convolution, Pixels},
    few_rows, pack,
    tile::{Scratch, Sums, add_products, through_units, with_rows},
    vectors::{Numbers, Vectors},
};

/// As [`Kernels::forward`](crate::Kernels::forward).
///
/// # Safety
/// The processor has what `N` needs; the pointers are to as many numbers as `conv` says.
#[inline(always)]
pub unsafe fn forward<N: Numbers>(
    conv: &Convolution,
    x: Pixels<'_, N::Stored>,
    weight: *const f32,
    bias: *const f32,
    y: *mut N::Stored,
) {
    if conv.has_few_rows()
        && let Pixels::Numbers(x) = x
    {
        few_rows::forward::<N>(conv, x.as_ptr(), weight, bias, y);
        return;
    }
    let columns = N::Set::COLUMNS;
    let (places, tiles) = (conv.places(), conv.tiles(N::Set::MOST_ROWS));
    let block_len = conv.terms() / N::PER_UNIT * columns;
    let (blocks, of_bytes) = (conv.outputs / columns, x.are_bytes());
    // A layer of one image is large: its weights are packed as they are needed.
    let packed_at_once = if conv.images == 1 { 1 } else { blocks };
    let mut packed = Scratch::<u32>::new(packed_at_once * block_len);
    let mut numbers = Scratch::<N::Stored>::if_needed(of_bytes, conv.image());
    let image_of_y = conv.pixels() * conv.outputs;
    let mut channels_last = Scratch::<N::Stored>::if_needed(conv.channels_first, image_of_y);
    if packed_at_once == blocks {
        for block in 0..blocks {
            let to = packed.start().add(block * block_len);
            pack::outputs_last::<N>(conv, of_bytes, weight, block * columns, to);
        }
    }
    for image in 0..conv.images {
        let x = pack::image::<N>(conv, x, image, &mut numbers);
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
                pack::outputs_last::<N>(conv, of_bytes, weight, block * columns, weights);
            }
            let bias = bias.add(block * columns);
            for &(start, count) in &tiles {
                let places = places.as_ptr().add(start);
                let y = y.add(start * conv.outputs + block * columns);
                with_rows!(N, count, M => pixels::<N, M>(conv, (x, places), weights, bias, y));
            }
        }
        if conv.channels_first {
            pack::turned::<N>(y, (conv.pixels(), conv.outputs), to);
        }
    }
}

/// The outputs of a tile of `M` pixels.
#[inline(always)]
unsafe fn pixels<N: Numbers, const M: usize>(
    conv: &Convolution,
    (x, places): (*const N::Stored, *const usize),
    weights: *const u32,
    bias: *const f32,
    y: *mut N::Stored,
) {
    let (terms, columns) = (conv.row() / N::PER_UNIT, N::Set::COLUMNS);
    let bias = [N::Set::load(bias), N::Set::load(bias.add(N::Set::LANES))];
    let mut sums: Sums<N, M> = [bias; M];
    for row in 0..conv.kernel {
        let x = x.add(row * conv.width * conv.channels);
        let rows = std::array::from_fn(|pixel| x.add(*places.add(pixel)).cast());
        let weights = weights.add(row * terms * columns);
        add_products::<N, M>(&mut sums, (rows, 1), (weights, columns), terms);
    }
    for (pixel, sums) in sums.iter().enumerate() {
        for (half, sums) in sums.iter().enumerate() {
            let numbers = through_units::<N>(conv, *sums);
            N::store(y.add(pixel * conv.outputs + N::Set::LANES * half), numbers);
        }
    }
}
