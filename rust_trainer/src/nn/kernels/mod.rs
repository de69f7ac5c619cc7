//! Convolutions and large fully connected layers on processors with AVX-512.
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

mod backward;
mod few_rows;
mod forward;
mod numbers;
mod of_inputs;
mod of_outputs;
mod of_weights;
mod pack;
mod tile;

use std::arch::x86_64::*;

use numbers::{BFloat16, Float32, Numbers};
use tile::{COLUMNS, Scratch};

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
    /// Outputs lie channels first, as they are flattened; at least 16 of them and 16 pixels.
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

impl Conv {
    /// Whether the kernels take it on this processor: vectors are full, and where the gradient of `x` is
    /// wanted, neighbours in it are added to apart.
    pub fn fits(&self, needs_gradient_of_x: bool) -> bool {
        let row = self.row();
        let has_instructions = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && (!self.bfloat16 || is_x86_feature_detected!("avx512bf16"));
        has_instructions
            && self.images > 0
            && self.kernel > 0
            && self.stride > 0
            && self.height >= self.kernel
            && self.width >= self.kernel
            && self.outputs > 0
            && self.outputs.is_multiple_of(COLUMNS)
            && row > 0
            && row.is_multiple_of(COLUMNS)
            && self.image().is_multiple_of(32)
            && (!needs_gradient_of_x || self.step() >= COLUMNS)
            && self.step().is_multiple_of(2)
    }

    /// The same with channels first, if it has the pixels for it; where it fits.
    #[must_use]
    pub fn channels_first(self) -> Self {
        Self {
            channels_first: self.pixels() >= pack::SIDE,
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

    /// Where in an image what makes a pixel begins.
    fn place(&self, row: usize, column: usize) -> usize {
        (row * self.width + column) * self.step()
    }

    /// Sums through the rectified linear units, where there are any.
    #[inline(always)]
    unsafe fn through_units(&self, sums: __m512) -> __m512 {
        if !self.rectified {
            return sums;
        }
        // SAFETY: the processor has AVX-512. In this order a sum that is no number stays none.
        unsafe { _mm512_max_ps(_mm512_setzero_ps(), sums) }
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

/// The functions that C++ calls: `csrc/convolution.cpp` says with what.
#[derive(Debug)]
#[repr(C)]
pub struct Kernels {
    forward: unsafe extern "C" fn(*const Conv, *const u8, *const f32, *const f32, *mut u8),
    backward: unsafe extern "C" fn(
        *const Conv,
        *const u8,
        *const f32,
        *const u8,
        *const u8,
        *const Gradients,
    ),
}

/// Those of this processor, for a convolution that [fits](Conv::fits).
pub static KERNELS: Kernels = Kernels { forward, backward };

/// See [`forward::forward`].
unsafe extern "C" fn forward(
    conv: *const Conv,
    x: *const u8,
    weight: *const f32,
    bias: *const f32,
    y: *mut u8,
) {
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn float32(conv: &Conv, x: *const u8, weight: *const f32, bias: *const f32, y: *mut u8) {
        // SAFETY: as those ask who call this.
        unsafe { forward::forward::<Float32>(conv, x, weight, bias, y.cast()) }
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn bfloat16(
        conv: &Conv,
        x: *const u8,
        weight: *const f32,
        bias: *const f32,
        y: *mut u8,
    ) {
        // SAFETY: as those ask who call this.
        unsafe { forward::forward::<BFloat16>(conv, x, weight, bias, y.cast()) }
    }
    // SAFETY: `conv` is there and fits, and with it the processor; the tensors are what it says.
    unsafe {
        let kernel = if (*conv).bfloat16 { bfloat16 } else { float32 };
        kernel(&*conv, x, weight, bias, y);
    }
}

/// See [`backward::backward`].
unsafe extern "C" fn backward(
    conv: *const Conv,
    x: *const u8,
    weight: *const f32,
    y: *const u8,
    of_y: *const u8,
    of: *const Gradients,
) {
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn float32(
        conv: &Conv,
        x: *const u8,
        weight: *const f32,
        [y, of_y]: [*const u8; 2],
        of: &Gradients,
    ) {
        // SAFETY: as those ask who call this.
        unsafe { backward::backward::<Float32>(conv, x, weight, y.cast(), of_y.cast(), of) }
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn bfloat16(
        conv: &Conv,
        x: *const u8,
        weight: *const f32,
        [y, of_y]: [*const u8; 2],
        of: &Gradients,
    ) {
        // SAFETY: as those ask who call this.
        unsafe { backward::backward::<BFloat16>(conv, x, weight, y.cast(), of_y.cast(), of) }
    }
    // SAFETY: as in `forward`.
    unsafe {
        let kernel = if (*conv).bfloat16 { bfloat16 } else { float32 };
        kernel(&*conv, x, weight, [y, of_y], &*of);
    }
}
