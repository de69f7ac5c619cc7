//! What the forward pass keeps for the backward pass.

use super::{conv::Layer, layers::Layers, norm::Kept};
use crate::tile::Scratch;

/// What the forward pass of a [`Trunk`](crate::Trunk) keeps for its backward pass: outputs of convolutions, the sums of layers that
/// have a norm, and where maxima were found.
#[derive(Debug)]
pub struct Activations {
    /// Of each convolution, or of what is computed in its place.
    pub(super) outputs: Vec<Scratch<u16>>,
    /// Of each layer, if they have norms.
    pub(super) norms: Vec<Kept>,
    /// Where each maximum was found.
    pub(super) chosen: Vec<Scratch<u8>>,
}

// SAFETY: they are memory that nobody else has.
unsafe impl Send for Activations {}

impl Activations {
    /// Room for `blocks` blocks, a number for each layer, of so many images.
    pub(super) fn new(
        layers: &Layers,
        params: &[&[f32]],
        blocks: impl Fn(usize) -> usize,
        images: usize,
    ) -> Self {
        let convs = (0..).zip(&layers.convs);
        let output = |(number, layer): (usize, &Layer)| {
            Scratch::new(blocks(number) * images * layer.conv.image_out())
        };
        let norm = |(number, (pixels, _))| match layers.of_layer(params, number) {
            [_, _, scale, shift] => {
                Some(Kept::new([scale, shift], blocks(number) * pixels, images))
            }
            _ => None,
        };
        Self {
            outputs: convs.map(output).collect(),
            norms: (0..).zip(layers.extents()).filter_map(norm).collect(),
            chosen: Vec::new(),
        }
    }
}
