//! Convolutions and large fully connected layers: the kernels as they are compiled, behind what checks that
//! they may run.
//!
//! libtorch gives both to oneDNN, whose gradient of convolution weights reaches 106 to 123 GFLOP/s a core
//! where a large product reaches 264. Here channels lie last, so that what a row of the kernel sees of an
//! image is a row in memory, and nothing is unfolded: all products are tiles of sums in registers
//! ([`tile`](crate::tile)), read from where the numbers lie. Sums begin and end where the extents say.

use half::bf16;

#[cfg(target_arch = "x86_64")]
use crate::{
    avx2::Avx2,
    avx512::{Avx512, BFloat16},
};
use crate::{
    backward::{OfAll, backward},
    convolution::{Convolution, Pixels},
    forward::forward,
    instructions::Instructions,
    plain::Plain,
    vectors::Float32,
};

/// Forward and backward pass in one set of instructions, for numbers of type `N`: [`f32`], or [`bf16`], whose
/// sums are float32 and whose weights are rounded as they are read.
#[derive(Debug)]
pub struct Kernels<N> {
    forward: Forward<N>,
    backward: Backward<N>,
}

type Forward<N> = unsafe fn(&Convolution, Pixels<'_, N>, *const f32, *const f32, *mut N);
type Backward<N> =
    unsafe fn(&Convolution, Pixels<'_, N>, *const f32, *const N, *const N, &OfAll<N>);

/// Where gradients go, whatever is there before.
#[derive(Debug)]
pub struct Gradients<'a, N> {
    /// As the images, if wanted.
    pub images: Option<&'a mut [N]>,
    /// `[outputs][channels][kernel][kernel]`.
    pub weight: &'a mut [f32],
    /// `[outputs]`.
    pub bias: &'a mut [f32],
}

/// The kernels for one type of numbers, compiled for processors with `$features`.
macro_rules! compiled {
    ($($features:literal,)? $numbers:ty, $number:ty) => {{
        $(#[target_feature(enable = $features)])?
        unsafe fn forwards(
            conv: &Convolution,
            x: Pixels<'_, $number>,
            weight: *const f32,
            bias: *const f32,
            y: *mut $number,
        ) {
            forward::<$numbers>(conv, x, weight, bias, y);
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn backwards(
            conv: &Convolution,
            x: Pixels<'_, $number>,
            weight: *const f32,
            y: *const $number,
            of_y: *const $number,
            of: &OfAll<$number>,
        ) {
            backward::<$numbers>(conv, x, weight, y, of_y, of);
        }
        Kernels { forward: forwards, backward: backwards }
    }};
}

static PLAIN: Kernels<f32> = compiled!(Float32<Plain>, f32);
#[cfg(target_arch = "x86_64")]
static AVX2: Kernels<f32> = compiled!("avx2,fma", Float32<Avx2>, f32);
#[cfg(target_arch = "x86_64")]
static AVX512: Kernels<f32> = compiled!("avx512f,avx512bw", Float32<Avx512>, f32);
#[cfg(target_arch = "x86_64")]
static AVX512_BF16: Kernels<bf16> = compiled!("avx512f,avx512bw,avx512bf16", BFloat16, bf16);

impl Kernels<f32> {
    /// Those in a set of instructions, where this processor has it.
    #[must_use]
    pub fn float32(set: Instructions) -> Option<&'static Self> {
        set.is_there().then_some(match set {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => &AVX2,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 | Instructions::Avx512Bf16 | Instructions::Amx => &AVX512,
            _ => &PLAIN,
        })
    }
}

impl Kernels<bf16> {
    /// Those in a set of instructions that has products of bfloat16, where this processor has it.
    #[must_use]
    pub fn bfloat16(set: Instructions) -> Option<&'static Self> {
        #[cfg(target_arch = "x86_64")]
        return (set >= Instructions::Avx512Bf16 && set.is_there()).then_some(&AVX512_BF16);
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }
}

impl<N: Copy> Kernels<N> {
    /// Convolution, bias and rectified linear unit at once: `y` becomes `[images][out_height][out_width][outputs]`,
    /// or `[images][outputs][out_height][out_width]` with channels first. `weight` is
    /// `[outputs][channels][kernel][kernel]`, `bias` `[outputs]`. Slices need no alignment.
    ///
    /// # Panics
    /// If the convolution does not [fit](Convolution::fits), or a slice is of another length.
    pub fn forward(
        &self,
        conv: &Convolution,
        x: Pixels<'_, N>,
        weight: &[f32],
        bias: &[f32],
        y: &mut [N],
    ) {
        conv.check(x, [weight, bias], y, false);
        // SAFETY: the processor has the instructions, or nobody would have these kernels; the slices are as long as
        // the extents say, which fit.
        unsafe {
            (self.forward)(conv, x, weight.as_ptr(), bias.as_ptr(), y.as_mut_ptr());
        }
    }

    /// Gradients of all that went into [`forward`](Self::forward), from those of its outputs: `of_y`, as `y`, which
    /// is not read unless the convolution is rectified. Bytes have no gradient.
    ///
    /// # Panics
    /// As there.
    pub fn backward(
        &self,
        conv: &Convolution,
        x: Pixels<'_, N>,
        weight: &[f32],
        (y, of_y): (&[N], &[N]),
        of: Gradients<'_, N>,
    ) {
        conv.check(x, [weight, of.bias], y, of.images.is_some());
        assert!(of_y.len() == y.len() && of.weight.len() == weight.len());
        let of_images = of.images.map(|images| {
            assert!(matches!(x, Pixels::Numbers(numbers) if numbers.len() == images.len()));
            images.as_mut_ptr()
        });
        let of = OfAll {
            images: of_images,
            weight: of.weight.as_mut_ptr(),
            bias: of.bias.as_mut_ptr(),
        };
        // SAFETY: as in `forward`.
        unsafe { (self.backward)(conv, x, weight.as_ptr(), y.as_ptr(), of_y.as_ptr(), &of) }
    }
}

impl Convolution {
    /// Panics if the kernels do not take it, or a slice is of another length than it says.
    fn check<N: Copy>(
        &self,
        x: Pixels<'_, N>,
        [weight, bias]: [&[f32]; 2],
        y: &[N],
        needs_gradient_of_images: bool,
    ) {
        assert!(
            self.fits(needs_gradient_of_images),
            "{self:?}: does not fit"
        );
        let x = match x {
            Pixels::Bytes(bytes) => bytes.len(),
            Pixels::Numbers(numbers) => numbers.len(),
        };
        assert_eq!(
            [x, weight.len(), bias.len(), y.len()],
            [
                self.images * self.image(),
                self.outputs * self.terms(),
                self.outputs,
                self.images * self.pixels() * self.outputs,
            ],
            "{self:?}: images, weights, biases and outputs"
        );
    }
}
