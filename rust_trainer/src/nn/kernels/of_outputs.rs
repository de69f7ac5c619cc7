//! The gradient of the outputs, as the other gradients are computed from it; and that of the biases.

use std::{arch::x86_64::*, ptr};

use super::{Conv, numbers::Numbers, pack::turned, tile::Scratch};

/// Outputs that are packed beside each other.
pub(super) const OUTPUTS: usize = 8;

/// The gradient of the outputs, image by image.
pub(super) struct OfOutputs<N: Numbers> {
    /// The outputs and their gradient with channels last, where they come with channels first.
    turned: [Scratch<N::Stored>; 2],
    passed: Scratch<N::Stored>,
    needs_passed: bool,
    packed: Scratch<u32>,
    of_bias: *mut f32,
}

/// That of one image.
pub(super) struct OfImage<N: Numbers> {
    /// `[pixels][outputs]`, zero where a unit is off; where the gradient of the inputs is wanted.
    pub passed: *const N::Stored,
    /// The same as `[outputs / 8][pixels / PER_UNIT][8]` units, of one pixel or two, of which the last may be
    /// zeros.
    pub packed: *const u32,
}

impl<N: Numbers> OfOutputs<N> {
    /// `of_bias`, `[outputs]`, is written to as images come.
    #[inline(always)]
    pub unsafe fn new(conv: &Conv, needs_passed: bool, of_bias: *mut f32) -> Self {
        let image = conv.pixels() * conv.outputs;
        let length = |is_needed| if is_needed { image } else { 0 };
        let packed = conv.pixels().div_ceil(N::PER_UNIT) * conv.outputs;
        // SAFETY: as `backward` asks.
        unsafe { ptr::write_bytes(of_bias, 0, conv.outputs) };
        Self {
            turned: [length(conv.channels_first); 2].map(Scratch::new),
            passed: Scratch::new(length(conv.rectified && needs_passed)),
            needs_passed,
            packed: Scratch::new(packed),
            of_bias,
        }
    }

    /// Of the image with the outputs `y`. What is returned is there until the next one.
    #[inline(always)]
    pub unsafe fn image(
        &mut self,
        conv: &Conv,
        y: *const N::Stored,
        of_y: *const N::Stored,
    ) -> OfImage<N> {
        let (mut y, mut of_y) = (y, of_y);
        // SAFETY: as `backward` asks.
        unsafe {
            if conv.channels_first {
                for (numbers, to) in [&mut y, &mut of_y].into_iter().zip(&mut self.turned) {
                    turned::<N>(*numbers, (conv.outputs, conv.pixels()), to.start());
                    *numbers = to.start();
                }
            }
            let packed = self.packed.start();
            if !conv.rectified {
                pack::<N>(conv, (y, of_y), ptr::null_mut(), packed, self.of_bias);
                return OfImage {
                    passed: of_y,
                    packed,
                };
            }
            let passed = if self.needs_passed {
                self.passed.start()
            } else {
                ptr::null_mut()
            };
            pack::<N>(conv, (y, of_y), passed, packed, self.of_bias);
            OfImage { passed, packed }
        }
    }
}

/// Drops the gradients of units that are off, packs what is left, and adds it up for the biases. Writes it to
/// `passed`, too, if that is not null.
#[inline(always)]
unsafe fn pack<N: Numbers>(
    conv: &Conv,
    outputs: (*const N::Stored, *const N::Stored),
    passed: *mut N::Stored,
    packed: *mut u32,
    of_bias: *mut f32,
) {
    let (pixels, units) = (conv.pixels(), conv.pixels().div_ceil(N::PER_UNIT));
    // SAFETY: as `backward` asks; there are a multiple of 32 outputs.
    unsafe {
        for output in (0..conv.outputs).step_by(16) {
            let mut sum = _mm512_setzero_ps();
            for unit in 0..units {
                let pixel = unit * N::PER_UNIT;
                let place = pixel * conv.outputs + output;
                let first = gradient::<N>(conv, outputs, place, passed);
                let mut second = _mm512_setzero_ps();
                if N::PER_UNIT == 2 && pixel + 1 < pixels {
                    second = gradient::<N>(conv, outputs, place + conv.outputs, passed);
                }
                sum = _mm512_add_ps(sum, _mm512_add_ps(first, second));
                let numbers = N::columns([first, second]);
                let to = packed.add((output / OUTPUTS * units + unit) * OUTPUTS);
                _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(numbers));
                let upper = _mm512_extracti64x4_epi64::<1>(numbers);
                _mm256_storeu_si256(to.add(units * OUTPUTS).cast(), upper);
            }
            let to = of_bias.add(output);
            _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), sum));
        }
    }
}

/// The gradient of 16 outputs, zero where a unit is off.
#[inline(always)]
unsafe fn gradient<N: Numbers>(
    conv: &Conv,
    (y, of_y): (*const N::Stored, *const N::Stored),
    place: usize,
    passed: *mut N::Stored,
) -> __m512 {
    // SAFETY: as `backward` asks.
    unsafe {
        let gradient = N::load(of_y.add(place));
        if !conv.rectified {
            return gradient;
        }
        // As libtorch: what is no number passes.
        let on = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(N::load(y.add(place)), _mm512_setzero_ps());
        let gradient = _mm512_maskz_mov_ps(on, gradient);
        if !passed.is_null() {
            N::store(passed.add(place), gradient);
        }
        gradient
    }
}
