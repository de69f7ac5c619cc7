//! The gradient of the outputs, as the other gradients are computed from it; and that of the biases.

use std::ptr;

use crate::{
    convolution::{Convolution, parts},
    pack::turned,
    tile::Scratch,
    vectors::{Numbers, Vectors},
};

/// The gradient of the outputs, image by image.
pub struct OfOutputs<N: Numbers> {
    /// The outputs and their gradient with channels last, where they come with channels first.
    turned: [Scratch<N::Stored>; 2],
    passed: Scratch<N::Stored>,
    packed: Scratch<u32>,
    of_bias: *mut f32,
}

/// That of one image.
pub struct OfImage<N: Numbers> {
    /// `[pixels][outputs]`, zero where a unit is off.
    pub passed: *const N::Stored,
    /// The same with as many outputs beside each other as a tile has rows, in the order of
    /// [`parts`]: `[part][pixels / PER_UNIT][outputs of the part]` units, of one pixel or two, of which the
    /// last may be zeros.
    pub packed: *const u32,
}

impl<N: Numbers> OfOutputs<N> {
    /// `of_bias`, `[outputs]`, is written to as images come.
    #[inline(always)]
    pub unsafe fn new(conv: &Convolution, of_bias: *mut f32) -> Self {
        let image = conv.pixels() * conv.outputs;
        let packed = conv.pixels().div_ceil(N::PER_UNIT) * conv.outputs;
        // Parts are read and written in whole vectors, which the last of them does not fill; and behind the last
        // pixel comes the partner of one without.
        let behind = conv.outputs + N::Set::COLUMNS;
        let mut passed = Scratch::<N::Stored>::new(image + behind);
        let packed = Scratch::new(packed + N::Set::LANES);
        ptr::write_bytes(of_bias, 0, conv.outputs);
        ptr::write_bytes(passed.start().add(image), 0, behind);
        Self {
            turned: [image; 2].map(|image| Scratch::if_needed(conv.channels_first, image)),
            passed,
            packed,
            of_bias,
        }
    }

    /// Of the image with the outputs `y`. What is returned is there until the next one.
    #[inline(always)]
    pub unsafe fn image(
        &mut self,
        conv: &Convolution,
        y: *const N::Stored,
        of_y: *const N::Stored,
    ) -> OfImage<N> {
        let (mut y, mut of_y) = (y, of_y);
        let (passed, packed) = (self.passed.start(), self.packed.start());
        if conv.channels_first {
            for (numbers, to) in [&mut y, &mut of_y].into_iter().zip(&mut self.turned) {
                turned::<N>(*numbers, (conv.outputs, conv.pixels()), to.start());
                *numbers = to.start();
            }
        }
        pass::<N>(conv, (y, of_y), passed, self.of_bias);
        pack::<N>(conv, passed, packed);
        OfImage { passed, packed }
    }
}

/// Drops the gradients of units that are off, and adds up what is left for the biases.
#[inline(always)]
unsafe fn pass<N: Numbers>(
    conv: &Convolution,
    (y, of_y): (*const N::Stored, *const N::Stored),
    passed: *mut N::Stored,
    of_bias: *mut f32,
) {
    let lanes = N::Set::LANES;
    for output in (0..conv.outputs).step_by(N::Set::COLUMNS) {
        let mut sums = [N::Set::zero(); 2];
        for pixel in 0..conv.pixels() {
            let place = pixel * conv.outputs + output;
            let mut gradient = [N::load(of_y.add(place)), N::load(of_y.add(place + lanes))];
            if conv.rectified {
                let [first, second] = gradient;
                gradient = [
                    N::Set::passed(first, N::load(y.add(place))),
                    N::Set::passed(second, N::load(y.add(place + lanes))),
                ];
            }
            for (sum, gradient) in sums.iter_mut().zip(gradient) {
                *sum = N::Set::add(*sum, gradient);
            }
            N::store_two(passed.add(place), gradient);
        }
        for (half, sum) in sums.into_iter().enumerate() {
            let to = of_bias.add(output + half * lanes);
            N::Set::store(to, N::Set::add(N::Set::load(to), sum));
        }
    }
}

/// See [`OfImage::packed`]. What a vector holds beyond its part is written over by the next one.
#[inline(always)]
unsafe fn pack<N: Numbers>(conv: &Convolution, passed: *const N::Stored, packed: *mut u32) {
    let units = conv.pixels().div_ceil(N::PER_UNIT);
    for (start, count) in parts(conv.outputs, N::Set::MOST_OUTPUTS) {
        for unit in 0..units {
            let from = passed.add(unit * N::PER_UNIT * conv.outputs + start);
            let [numbers, _] = N::stored_columns([from, from.add(conv.outputs)]);
            let to = packed.add(start * units + unit * count);
            N::Set::store_some(to.cast(), count, numbers);
        }
    }
}
