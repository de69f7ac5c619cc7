//! The passes through all layers of a trunk.

use super::{
    activations::Activations,
    blocks::BLOCK,
    conv::{Conv, Layer},
    conv_passes::{Input, Room, Weights},
    layers::Layers,
    packed::PackedTrunk,
    tiles::Tiles,
};
use crate::tile::Scratch;

/// Images, `[height][width][channels]` bytes each, anywhere among `bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// Where they lie.
    pub bytes: &'a [u8],
    /// Where each begins.
    pub places: &'a [usize],
}

/// Up to how many images are acted for in tiles of so many rows.
pub const FEW: usize = 16;

impl Layers {
    /// The forward pass, for images of which all is kept for the backward pass or not.
    ///
    /// # Safety
    /// All lengths are the layers', and the processor has the tiles.
    pub unsafe fn through<T: Tiles>(
        &self,
        tiles: &mut T,
        (images, is_kept): (Images<'_>, bool),
        packed: &PackedTrunk,
        params: &[&[f32]],
        features: &mut [u16],
    ) -> Activations {
        let count = images.places.len();
        let of_block = if is_kept || count > FEW { 32 } else { count };
        let blocks = count.div_ceil(of_block.max(1));
        let last = self.convs.len() - 1;
        // What is not kept stays in the caches.
        let blocks_of = |layer: usize| if is_kept || layer >= last { blocks } else { 1 };
        let mut made = Activations::new(self, params, blocks_of, of_block);
        let Activations { outputs, norms } = &mut made;
        let mut room = Room::new(&self.convs, of_block, false);
        for block in 0..blocks {
            let pointers = self.pointers(images, block, of_block);
            let mut x = Input::Bytes(&pointers[..of_block]);
            for (number, layer) in self.convs.iter().enumerate() {
                let block = block.min(blocks_of(number) - 1);
                let y = outputs[number]
                    .start()
                    .add(block * of_block * layer.conv.image_out());
                let norm = norms.get_mut(number);
                let weights = Weights {
                    packed: packed.layer(number, layer.conv.weights())[0],
                    bias: self.of_layer(params, number)[1],
                    norm: norm.map(|norm| norm.from(block * layer.conv.out_pixels())),
                };
                layer.forward(tiles, &mut room, x, weights, y);
                x = Input::Blocks(y, of_block);
            }
        }
        let x = outputs[last].start();
        match &self.linear {
            Some(linear) => {
                let number = self.convs.len();
                let weights = Weights {
                    packed: packed.layer(number, linear.terms() * linear.outputs)[0],
                    bias: self.of_layer(params, number)[1],
                    norm: norms.get_mut(number).map(|norm| norm.from(0)),
                };
                if of_block == 32 {
                    linear.forward(tiles, x, weights, features);
                } else {
                    linear.act(tiles, count, x, weights, features.as_mut_ptr());
                }
            }
            None => flatten(&self.convs[last].conv, of_block, x, features),
        }
        made
    }

    /// The backward pass.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn back<T: Tiles>(
        &self,
        tiles: &mut T,
        images: Images<'_>,
        packed: &PackedTrunk,
        Activations { outputs, norms }: &mut Activations,
        [features, of_features]: [&[u16]; 2],
        of_params: &mut [&mut [f32]],
    ) {
        let blocks = images.places.len().div_ceil(32);
        let last = self.convs.len() - 1;
        // The gradient of a layer's outputs before the rectified units; of all but the last one, that of one block, which
        // stays in the cache.
        let of_outputs = self.convs.iter().enumerate().map(|(number, layer)| {
            Scratch::new(if number == last { blocks } else { 1 } * 32 * layer.conv.image_out())
        });
        let mut of_outputs: Vec<Scratch<u16>> = of_outputs.collect();
        for of_layer in of_params.chunks_exact_mut(self.per_layer()) {
            of_layer[1..].iter_mut().for_each(|of| of.fill(0.0));
        }
        let (x, to) = (outputs[last].start(), of_outputs[last].start());
        match &self.linear {
            Some(linear) => {
                let number = self.convs.len();
                let of_layer = self.of_layer_mut(of_params, number);
                let norm = norms.get_mut(number).map(|norm| norm.from(0));
                let norm = norm.zip(of_norm(of_layer));
                let of_bias = of_layer[1].as_mut_ptr();
                let mut of = linear.of_outputs::<T>(features, of_features, norm, of_bias);
                let packed = packed.layer(number, linear.terms() * linear.outputs)[1];
                linear.of_weights(tiles, blocks, (x, &mut of), of_layer[0]);
                linear.of_inputs(tiles, blocks, (&mut of, packed), x, to);
            }
            None => unflatten(&self.convs[last].conv, blocks, [features, of_features], to),
        }
        let sums = self
            .convs
            .iter()
            .map(|layer| Scratch::zeros(layer.conv.weights()));
        let mut sums: Vec<Scratch<f32>> = sums.collect();
        let mut room = Room::new(&self.convs, 32, true);
        for block in 0..blocks {
            let pointers = self.pointers(images, block, 32);
            for (number, layer) in self.convs.iter().enumerate().rev() {
                let mut of_y = of_outputs[number].start();
                if number == last {
                    of_y = of_y.add(block * 32 * layer.conv.image_out());
                }
                let of_layer = self.of_layer_mut(of_params, number);
                let pixels = layer.conv.out_pixels();
                let norm = norms.get_mut(number).map(|norm| norm.from(block * pixels));
                if let Some((norm, of_params)) = norm.zip(of_norm(of_layer)) {
                    for pixel in 0..pixels {
                        let of_y = of_y.add(pixel * 32 * layer.conv.outputs);
                        norm.backward::<T>(pixel, of_y, of_params);
                    }
                }
                let x = number
                    .checked_sub(1)
                    .map(|before| outputs[before].start().add(block * 32 * layer.conv.image()));
                let input = x.map_or(Input::Bytes(&pointers), |x| Input::Blocks(x, 32));
                let to = (sums[number].start(), of_layer[1].as_mut_ptr());
                layer.of_weights(tiles, &mut room, input, of_y, to);
                if let Some(x) = x {
                    let packed = packed.layer(number, layer.conv.weights())[1];
                    let to = of_outputs[number - 1].start();
                    layer.of_inputs(tiles, &mut room, (of_y, packed), x, to);
                }
            }
        }
        for ((layer, sums), to) in self
            .convs
            .iter()
            .zip(&mut sums)
            .zip(of_params.iter_mut().step_by(self.per_layer()))
        {
            ordered(layer, sums.start(), to);
        }
    }

    /// Where each image of a block begins; the last one fills it.
    fn pointers(&self, images: Images<'_>, block: usize, of_block: usize) -> [*const u8; 32] {
        let last = images.places.len() - 1;
        std::array::from_fn(|number| {
            let place = images.places[(block * of_block + number).min(last)];
            images.bytes[place..place + self.image].as_ptr()
        })
    }
}

/// Gradients of scale and shift among those of a layer.
fn of_norm(of_layer: &mut [&mut [f32]]) -> Option<[*mut f32; 2]> {
    match of_layer {
        [_, _, scale, shift] => Some([scale.as_mut_ptr(), shift.as_mut_ptr()]),
        _ => None,
    }
}

/// Puts the sums of a convolution's gradient, `[outputs / 32][terms / 32]` blocks, in PyTorch's order.
unsafe fn ordered(layer: &Layer, sums: *const f32, to: &mut [f32]) {
    let columns = layer.conv.terms() / 32;
    for (number, order) in layer.order.chunks_exact(32).enumerate() {
        let (output, column) = (number / columns, number % columns);
        let at = sums.add((output / 32 * columns + column) * BLOCK + output % 32 * 32);
        for (inner, place) in order.iter().enumerate() {
            to[*place as usize] = *at.add(inner) / layer.divisor();
        }
    }
}

/// Where in blocks of so many images the number at `at` of `[image][outputs][pixels]` lies.
fn in_blocks(conv: &Conv, of_block: usize, at: usize) -> usize {
    let (image, at) = (at / conv.image_out(), at % conv.image_out());
    let (output, pixel) = (at / conv.out_pixels(), at % conv.out_pixels());
    let (block, row) = (image / of_block, image % of_block);
    let line = (block * conv.out_pixels() + pixel) * conv.blocks().1 + output / 32;
    (line * of_block + row) * 32 + output % 32
}

/// Outputs in blocks → `[image][outputs][pixels]`.
unsafe fn flatten(conv: &Conv, of_block: usize, from: *const u16, to: &mut [u16]) {
    for (at, to) in to.iter_mut().enumerate() {
        *to = *from.add(in_blocks(conv, of_block, at));
    }
}

/// The gradient of `[image][outputs][pixels]` through rectified units → blocks, with zeros where they are not filled.
unsafe fn unflatten(conv: &Conv, blocks: usize, [y, of_y]: [&[u16]; 2], to: *mut u16) {
    to.write_bytes(0, blocks * 32 * conv.image_out());
    for (at, (y, of_y)) in y.iter().zip(of_y).enumerate() {
        if y.cast_signed() > 0 {
            *to.add(in_blocks(conv, 32, at)) = *of_y;
        }
    }
}
