//! The gradients of weights, biases and inputs.

use crate::{
    convolution::{Convolution, Pixels},
    of_inputs::OfInputs,
    of_outputs::OfOutputs,
    of_weights::OfWeights,
    pack,
    tile::Scratch,
    vectors::Numbers,
};

/// Where gradients go: see [`Gradients`](crate::Gradients).
pub struct OfAll<N> {
    pub images: Option<*mut N>,
    pub weight: *mut f32,
    pub bias: *mut f32,
}

/// As [`Kernels::backward`](crate::Kernels::backward).
///
/// # Safety
/// The processor has what `N` needs; the pointers are to as many numbers as `conv` says.
#[inline(always)]
pub unsafe fn backward<N: Numbers>(
    conv: &Convolution,
    x: Pixels<'_, N::Stored>,
    weight: *const f32,
    y: *const N::Stored,
    of_y: *const N::Stored,
    of: &OfAll<N::Stored>,
) {
    let mut numbers = Scratch::<N::Stored>::if_needed(x.are_bytes(), conv.image());
    let mut of_outputs = OfOutputs::<N>::new(conv, of.bias);
    let mut of_weights = OfWeights::<N>::new(conv, x.are_bytes(), of.weight);
    let mut of_inputs = of.images.map(|to| (OfInputs::<N>::new(conv, weight), to));
    for image in 0..conv.images {
        let place = image * conv.pixels() * conv.outputs;
        let of_image = of_outputs.image(conv, y.add(place), of_y.add(place));
        let x = pack::image::<N>(conv, x, image, &mut numbers);
        of_weights.add(conv, x, of_image.packed);
        if let Some((of_inputs, to)) = &mut of_inputs {
            let to = to.add(image * conv.image());
            of_inputs.image(conv, weight, of_image.passed, to);
        }
    }
    of_weights.finish(conv);
}
