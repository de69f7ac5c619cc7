//! What the forward pass keeps for the backward pass.

use super::{conv::Layer, layers::Layers, norm::Kept};
use crate::tile::Scratch;

/// What the forward pass of a [`Trunk`](crate::Trunk) keeps for its backward pass: outputs of convolutions, and the sums of layers that
/// have a norm.
#[derive(Debug)]
pub struct Activations {
    /// Of each convolution.
    pub(super) outputs: Vec<Scratch<u16>>,
    /// Of each layer, if they have norms.
    pub(super) norms: Vec<Kept>,
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
        }
    }

    /// Whether there is all that the backward pass of so many blocks reads.
    pub(super) fn is_whole(&self, layers: &Layers, blocks: usize) -> bool {
        let has_output =
            |(y, layer): (&Scratch<u16>, &Layer)| y.len() >= blocks * 32 * layer.conv.image_out();
        let has_norm =
            |(kept, (pixels, outputs)): (&Kept, _)| kept.is_whole(blocks * pixels, outputs);
        let num_norms = if layers.norm {
            layers.extents().count()
        } else {
            0
        };
        self.outputs.iter().zip(&layers.convs).all(has_output)
            && self.norms.len() == num_norms
            && self.norms.iter().zip(layers.extents()).all(has_norm)
    }
}
