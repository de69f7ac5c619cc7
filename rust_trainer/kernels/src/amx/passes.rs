//! The passes through all layers of a trunk.

use std::iter;

use super::{
    activations::Activations,
    blocks::BLOCK,
    conv::Layer,
    conv_passes::{Input, Room, Weights},
    end::{Backward, End},
    images::{FEW, Images},
    layers::Layers,
    linear::Linear,
    network::Network,
    norm::Kept,
    packed::PackedTrunk,
    tiles::Tiles,
};
use crate::tile::Scratch;

impl Network for Layers {
    fn image(&self) -> usize {
        self.image
    }

    fn num_convs(&self) -> usize {
        self.convs.len()
    }

    fn end(&self) -> &End {
        &self.end
    }

    fn lengths(&self) -> Vec<usize> {
        let convs = self.convs.iter().map(|layer| layer.conv.terms());
        let terms = convs.chain(self.end.linear.iter().map(Linear::terms));
        let others = self.per_layer() - 1;
        let of_layer = |(terms, (_, outputs)): (usize, (usize, usize))| {
            iter::once(terms * outputs).chain(iter::repeat_n(outputs, others))
        };
        terms.zip(self.extents()).flat_map(of_layer).collect()
    }

    fn room(&self) -> Vec<[usize; 2]> {
        let convs = self.convs.iter().map(|layer| layer.conv.weights());
        let linear = self.end.linear.iter().map(Linear::weights);
        convs.chain(linear).map(|weights| [weights; 2]).collect()
    }

    unsafe fn pack_conv<T: Tiles>(&self, number: usize, weight: &[f32], to: [*mut u16; 2]) {
        self.convs[number].pack::<T>(weight, to);
    }

    fn is_whole(&self, Activations { outputs, norms, .. }: &Activations, blocks: usize) -> bool {
        let has_output =
            |(y, layer): (&Scratch<u16>, &Layer)| y.len() >= blocks * 32 * layer.conv.image_out();
        let has_norm =
            |(kept, (pixels, outputs)): (&Kept, _)| kept.is_whole(blocks * pixels, outputs);
        let num_norms = if self.norm { self.extents().count() } else { 0 };
        outputs.len() == self.convs.len()
            && outputs.iter().zip(&self.convs).all(has_output)
            && norms.len() == num_norms
            && norms.iter().zip(self.extents()).all(has_norm)
    }

    unsafe fn through<T: Tiles>(
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
        let Activations { outputs, norms, .. } = &mut made;
        let mut room = Room::new(&self.convs, of_block, false);
        for block in 0..blocks {
            let pointers = images.pointers(block, of_block, self.image);
            let mut x = Input::Bytes(&pointers[..of_block]);
            for (number, layer) in self.convs.iter().enumerate() {
                let block = block.min(blocks_of(number) - 1);
                let y = outputs[number]
                    .start()
                    .add(block * of_block * layer.conv.image_out());
                let norm = norms.get_mut(number);
                let weights = Weights {
                    packed: packed.layer(number)[0],
                    bias: self.of_layer(params, number)[1],
                    norm: norm.map(|norm| norm.from(block * layer.conv.out_pixels())),
                };
                layer.forward(tiles, &mut room, x, weights, y);
                x = Input::Blocks(y, of_block);
            }
        }
        let x = outputs[last].start();
        let weights = self.end.linear.as_ref().map(|_| {
            let number = self.convs.len();
            Weights {
                packed: packed.layer(number)[0],
                bias: self.of_layer(params, number)[1],
                norm: norms.get_mut(number).map(|norm| norm.from(0)),
            }
        });
        self.end
            .forward(tiles, (count, of_block), x, weights, features);
        made
    }

    unsafe fn back<T: Tiles>(
        &self,
        tiles: &mut T,
        images: Images<'_>,
        packed: &PackedTrunk,
        Activations { outputs, norms, .. }: &mut Activations,
        features: [&[u16]; 2],
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
        let layer = self.end.linear.as_ref().map(|_| {
            let number = self.convs.len();
            let of_layer = self.of_layer_mut(of_params, number);
            let norm = norms.get_mut(number).map(|norm| norm.from(0));
            Backward {
                packed: packed.layer(number)[1],
                norm: norm.zip(of_norm(of_layer)),
                of_bias: of_layer[1].as_mut_ptr(),
                of_weight: of_layer[0],
            }
        });
        let ends = [outputs[last].start(), of_outputs[last].start()];
        self.end.backward(tiles, blocks, features, layer, ends);
        let sums = self
            .convs
            .iter()
            .map(|layer| Scratch::zeros(layer.conv.weights()));
        let mut sums: Vec<Scratch<f32>> = sums.collect();
        let mut room = Room::new(&self.convs, 32, true);
        for block in 0..blocks {
            let pointers = images.pointers(block, 32, self.image);
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
                    let packed = packed.layer(number)[1];
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
