//! What follows the convolutions: a fully connected layer, or features in PyTorch's order.

use crate::convolution::checked_product;

use super::{conv_passes::Weights, linear::Linear, norm::Norm, tiles::Tiles};

/// What follows, over so many pixels of so many channels.
#[derive(Debug)]
pub struct End {
    pub linear: Option<Linear>,
    inputs: (usize, usize),
}

/// What the fully connected layer's backward pass reads and writes: packed weights, its norm with the gradients of scale
/// and shift, and those of weights and bias, to which is added.
pub struct Backward<'a> {
    pub packed: *const u16,
    pub norm: Option<(Norm<'a>, [*mut f32; 2])>,
    pub of_weight: &'a mut [f32],
    pub of_bias: *mut f32,
}

impl End {
    /// With a layer of `hidden` outputs, a multiple of 32.
    pub fn new((pixels, channels): (usize, usize), hidden: Option<usize>) -> Option<Self> {
        let whole = |outputs: usize| outputs > 0 && outputs.is_multiple_of(32);
        let linear = hidden.map(|outputs| Linear {
            pixels,
            channels,
            outputs,
        });
        checked_product([pixels, channels, hidden.unwrap_or(1)])?;
        hidden.is_none_or(whole).then_some(Self {
            linear,
            inputs: (pixels, channels),
        })
    }

    /// Numbers that it makes of an image.
    pub fn features(&self) -> usize {
        let (pixels, channels) = self.inputs;
        self.linear
            .as_ref()
            .map_or(pixels * channels, |linear| linear.outputs)
    }

    /// Pieces in which weights are packed.
    pub fn num_pieces(&self) -> usize {
        self.linear.as_ref().map_or(0, Linear::num_pieces)
    }

    /// `x`, of so many images in blocks of so many → features; `weights` are those of the fully connected layer.
    pub unsafe fn forward<T: Tiles>(
        &self,
        tiles: &mut T,
        (images, of_block): (usize, usize),
        x: *const u16,
        weights: Option<Weights<'_>>,
        features: &mut [u16],
    ) {
        match self.linear.as_ref().zip(weights) {
            Some((linear, weights)) if of_block == 32 => {
                linear.forward(tiles, x, weights, features);
            }
            Some((linear, weights)) => {
                linear.act(tiles, images, x, weights, features.as_mut_ptr());
            }
            None => flatten(self.inputs, of_block, x, features),
        }
    }

    /// From the gradient of features that of `x`, so many blocks of outputs of rectified units, before these.
    pub unsafe fn backward<T: Tiles>(
        &self,
        tiles: &mut T,
        blocks: usize,
        [features, of_features]: [&[u16]; 2],
        layer: Option<Backward<'_>>,
        [x, to]: [*mut u16; 2],
    ) {
        let Some((linear, layer)) = self.linear.as_ref().zip(layer) else {
            return unflatten(self.inputs, blocks, [features, of_features], to);
        };
        let mut of = linear.of_outputs::<T>(features, of_features, layer.norm, layer.of_bias);
        linear.of_weights(tiles, blocks, (x, &mut of), layer.of_weight);
        linear.of_inputs(tiles, blocks, (&mut of, layer.packed), x, to);
    }
}

/// Calls `copy` for the 32 channels of a block of each pixel of so many images: with where the first of them is among
/// features, `[image][channels][pixels]`, in which the next ones are so many `pixels` further each, and where they begin
/// in blocks of so many images.
fn each_line(
    (pixels, channels): (usize, usize),
    (images, of_block): (usize, usize),
    mut copy: impl FnMut(usize, usize),
) {
    let blocks = channels / 32;
    for (image, channel) in (0..images).flat_map(|image| (0..blocks).map(move |at| (image, at))) {
        let (block, row) = (image / of_block, image % of_block);
        for pixel in 0..pixels {
            let line = ((block * pixels + pixel) * blocks + channel) * of_block + row;
            copy(
                (image * channels + channel * 32) * pixels + pixel,
                line * 32,
            );
        }
    }
}

/// Outputs in blocks → features.
unsafe fn flatten(inputs: (usize, usize), of_block: usize, y: *const u16, features: &mut [u16]) {
    let (pixels, channels) = inputs;
    let images = features.len() / (pixels * channels);
    each_line(inputs, (images, of_block), |first, line| {
        for channel in 0..32 {
            features[first + channel * pixels] = *y.add(line + channel);
        }
    });
}

/// The gradient of features through rectified units → blocks, with zeros where they are not filled.
unsafe fn unflatten(
    inputs: (usize, usize),
    blocks: usize,
    [features, of_features]: [&[u16]; 2],
    to: *mut u16,
) {
    let (pixels, channels) = inputs;
    to.write_bytes(0, blocks * 32 * pixels * channels);
    let images = features.len() / (pixels * channels);
    each_line(inputs, (images, 32), |first, line| {
        for channel in 0..32 {
            let at = first + channel * pixels;
            let is_on = features[at].cast_signed() > 0;
            *to.add(line + channel) = if is_on { of_features[at] } else { 0 };
        }
    });
}
