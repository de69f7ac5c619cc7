//! Convolutions and large fully connected layers on processors with AVX-512, or AVX2 and FMA.
//!
//! libtorch gives both to oneDNN, whose gradient of convolution weights reaches 106 to 123 GFLOP/s a core
//! where a large product reaches 264. Here channels lie last, so that what a row of the kernel sees of an
//! image is a row in memory, and nothing is unfolded: all products are tiles of sums in registers
//! ([`tile`]), read from where the numbers lie. A fully connected layer is a convolution of 1×1 over one
//! row of pixels.
//!
//! Each function has one thread. Sums begin and end where the extents say, so that results are the same
//! bit for bit each time.

#![expect(
    unsafe_code,
    reason = "functions compiled for one processor, on memory that C++ shows them"
)]
#![allow(
    clippy::wildcard_imports,
    reason = "std::arch, whose names say where they are from"
)]
#![expect(
    clippy::inline_always,
    reason = "what is generic is compiled for the processor by who calls it"
)]

mod avx2;
mod avx512;
mod backward;
mod choice;
mod few_rows;
mod forward;
mod numbers;
mod of_inputs;
mod of_outputs;
mod of_weights;
mod pack;
mod tile;
mod vectors;

pub use choice::{Instructions, Kernels};

use std::mem::offset_of;

use numbers::{Numbers, Vector};
use tile::{Scratch, parts};
use vectors::Vectors;

/// What extents that fill vectors are a multiple of, whatever the instruction set.
const COLUMNS: usize = 32;

/// Lanes of the widest vectors.
const MOST_LANES: usize = 16;

/// A convolution without padding, and its extents.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Conv {
    pub images: usize,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub kernel: usize,
    pub stride: usize,
    pub outputs: usize,
    /// A rectified linear unit follows.
    pub rectified: bool,
    /// The images are bytes, and the weights count 255 times as much as they do.
    pub of_bytes: bool,
    /// Outputs lie channels first, as they are flattened; at least as many pixels as vectors have lanes.
    pub channels_first: bool,
    /// The numbers are bfloat16, not float32.
    pub bfloat16: bool,
}

/// Where gradients go.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Gradients {
    /// As the images are; none wanted if null.
    pub x: *mut u8,
    /// `[outputs, channels, kernel, kernel]`.
    pub weight: *mut f32,
    /// `[outputs]`.
    pub bias: *mut f32,
}

/// What `csrc/convolution.cpp` states of the same structs.
const _: () = {
    const WORD: usize = 8;
    assert!(size_of::<usize>() == WORD && size_of::<*mut u8>() == WORD && size_of::<bool>() == 1);
    assert!(size_of::<Conv>() == 8 * WORD && offset_of!(Conv, outputs) == 6 * WORD);
    assert!(offset_of!(Conv, rectified) == 7 * WORD && offset_of!(Conv, bfloat16) == 7 * WORD + 3);
    assert!(size_of::<Gradients>() == 3 * WORD && offset_of!(Gradients, bias) == 2 * WORD);
    assert!(size_of::<Kernels>() == 2 * WORD);
};

impl Conv {
    /// Whether the kernels take it: vectors are full, and where the gradient of `x` is wanted, neighbours in it
    /// are added to apart.
    pub fn fits(&self, needs_gradient_of_x: bool) -> bool {
        let row = self.row();
        self.images > 0
            && self.kernel > 0
            && self.stride > 0
            && self.height >= self.kernel
            && self.width >= self.kernel
            && self.outputs > 0
            && self.outputs.is_multiple_of(COLUMNS)
            && row > 0
            && row.is_multiple_of(COLUMNS)
            && self.image().is_multiple_of(COLUMNS)
            && (!needs_gradient_of_x || self.step() >= COLUMNS)
            && self.step().is_multiple_of(2)
    }

    /// The same with channels first, if it has the pixels for it; where it fits.
    #[must_use]
    pub fn channels_first(self) -> Self {
        Self {
            channels_first: self.pixels() >= MOST_LANES,
            ..self
        }
    }

    fn row(&self) -> usize {
        self.kernel * self.channels
    }

    fn terms(&self) -> usize {
        self.kernel * self.row()
    }

    fn step(&self) -> usize {
        self.stride * self.channels
    }

    fn image(&self) -> usize {
        self.height * self.width * self.channels
    }

    fn out_height(&self) -> usize {
        (self.height - self.kernel) / self.stride + 1
    }

    fn out_width(&self) -> usize {
        (self.width - self.kernel) / self.stride + 1
    }

    fn pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// Where in an image what makes each pixel begins.
    fn places(&self) -> Vec<usize> {
        let width = self.out_width();
        let places = (0..self.pixels()).map(|pixel| self.place(pixel / width, pixel % width));
        places.collect()
    }

    /// The pixels in tiles of at most `most`, start and number of each: those of a row together where the tiles
    /// are tall that way, which costs least to fetch, or else tiles that go on over the ends of rows.
    fn tiles(&self, most: usize) -> Vec<(usize, usize)> {
        /// Two vectors by so many rows are enough sums that none is waited for.
        const TALL: usize = 7;
        let (pixels, width) = (self.pixels(), self.out_width());
        let is_tall = width / width.div_ceil(most) >= TALL;
        let run = if is_tall { width } else { pixels };
        let tiles = move |first| parts(run, most).map(move |(start, count)| (first + start, count));
        (0..pixels).step_by(run).flat_map(tiles).collect()
    }

    /// The same of one.
    fn place(&self, row: usize, column: usize) -> usize {
        (row * self.width + column) * self.step()
    }

    /// Sums through the rectified linear units, where there are any.
    #[inline(always)]
    unsafe fn through_units<N: Numbers>(&self, sums: Vector<N>) -> Vector<N> {
        if !self.rectified {
            return sums;
        }
        // SAFETY: as those ask who call this.
        unsafe { N::Set::rectified(sums) }
    }

    /// Whether it is a fully connected layer of a few rows.
    fn has_few_rows(&self) -> bool {
        self.kernel == 1
            && self.images == 1
            && self.height == 1
            && self.stride == 1
            && self.width <= few_rows::MOST
    }

    /// An image as numbers of the type that it is multiplied in.
    #[inline(always)]
    unsafe fn numbers_of<N: Numbers>(
        &self,
        x: *const u8,
        image: usize,
        numbers: &mut Scratch<N::Stored>,
    ) -> *const N::Stored {
        let start = image * self.image();
        // SAFETY: as those ask who call this.
        unsafe {
            if self.of_bytes {
                pack::of_bytes::<N>(x.add(start), self.image(), numbers.start());
                numbers.start().cast_const()
            } else {
                x.cast::<N::Stored>().add(start)
            }
        }
    }
}
