//! The gradients of weights, biases and inputs.

use super::{
    Conv, Gradients, numbers::Numbers, of_inputs::OfInputs, of_outputs::OfOutputs,
    of_weights::OfWeights, tile::Scratch,
};

/// Gradients of all that went into [`forward`](super::forward::forward), from those of `y`.
///
/// # Safety
/// As there; `of` likewise.
#[inline(always)]
pub(super) unsafe fn backward<N: Numbers>(
    conv: &Conv,
    x: *const u8,
    weight: *const f32,
    y: *const N::Stored,
    of_y: *const N::Stored,
    of: &Gradients,
) {
    let mut numbers = Scratch::<N::Stored>::new(if conv.of_bytes { conv.image() } else { 0 });
    // SAFETY: as this function asks; `Conv::fits` has been asked for the extents.
    unsafe {
        let needs_inputs = !of.x.is_null();
        let mut of_outputs = OfOutputs::<N>::new(conv, of.bias);
        let mut of_weights = OfWeights::<N>::new(conv, of.weight);
        let mut of_inputs = needs_inputs.then(|| OfInputs::<N>::new(conv, weight));
        for image in 0..conv.images {
            let place = image * conv.pixels() * conv.outputs;
            let of_image = of_outputs.image(conv, y.add(place), of_y.add(place));
            let x = conv.numbers_of::<N>(x, image, &mut numbers);
            of_weights.add(conv, x, of_image.packed);
            if let Some(of_inputs) = &mut of_inputs {
                let to = of.x.cast::<N::Stored>().add(image * conv.image());
                of_inputs.image(conv, weight, of_image.passed, to);
            }
        }
        of_weights.finish(conv);
    }
}
