//! What follows the convolutions: a fully connected layer, or features in PyTorch's order.

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

/// Where in blocks of so many images the number at `at` of `[image][outputs][pixels]` lies.
fn in_blocks((pixels, outputs): (usize, usize), of_block: usize, at: usize) -> usize {
    let (image, at) = (at / (pixels * outputs), at % (pixels * outputs));
    let (output, pixel) = (at / pixels, at % pixels);
    let (block, row) = (image / of_block, image % of_block);
    let line = (block * pixels + pixel) * (outputs / 32) + output / 32;
    (line * of_block + row) * 32 + output % 32
}

/// Outputs in blocks, so many pixels of so many each → `[image][outputs][pixels]`.
unsafe fn flatten(from: (usize, usize), of_block: usize, y: *const u16, to: &mut [u16]) {
    for (at, to) in to.iter_mut().enumerate() {
        *to = *y.add(in_blocks(from, of_block, at));
    }
}

/// The gradient of `[image][outputs][pixels]` through rectified units → blocks, with zeros where they are not filled.
unsafe fn unflatten(to: (usize, usize), blocks: usize, [y, of_y]: [&[u16]; 2], of: *mut u16) {
    of.write_bytes(0, blocks * 32 * to.0 * to.1);
    for (at, (y, of_y)) in y.iter().zip(of_y).enumerate() {
        if y.cast_signed() > 0 {
            *of.add(in_blocks(to, 32, at)) = *of_y;
        }
    }
}
