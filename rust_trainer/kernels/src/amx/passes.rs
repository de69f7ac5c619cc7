//! The passes through all layers of a trunk.

use std::iter;

use super::{
    activations::Activations,
    blocks::BLOCK,
    conv::Layer,
    conv_passes::{Input, Room, Weights},
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

    fn features(&self) -> usize {
        match (&self.linear, self.convs.last()) {
            (Some(linear), _) => linear.outputs,
            (None, last) => last.map_or(0, |layer| layer.conv.image_out()),
        }
    }

    fn lengths(&self) -> Vec<usize> {
        let convs = self.convs.iter().map(|layer| layer.conv.terms());
        let terms = convs.chain(self.linear.iter().map(Linear::terms));
        let others = self.per_layer() - 1;
        let of_layer = |(terms, (_, outputs)): (usize, (usize, usize))| {
            iter::once(terms * outputs).chain(iter::repeat_n(outputs, others))
        };
        terms.zip(self.extents()).flat_map(of_layer).collect()
    }

    fn room(&self) -> Vec<[usize; 2]> {
        let convs = self.convs.iter().map(|layer| layer.conv.weights());
        let linear = self.linear.iter().map(Linear::weights);
        convs.chain(linear).map(|weights| [weights; 2]).collect()
    }

    fn num_pieces(&self) -> usize {
        self.convs.len() + self.linear.as_ref().map_or(0, Linear::num_pieces)
    }

    unsafe fn pack<T: Tiles>(
        &self,
        _: &mut T,
        piece: usize,
        packed: &PackedTrunk,
        params: &[&[f32]],
    ) {
        let of_linear = self
            .linear
            .as_ref()
            .filter(|linear| piece < linear.num_pieces());
        let number = match of_linear {
            Some(_) => self.convs.len(),
            None => piece - (self.num_pieces() - self.convs.len()),
        };
        let (weight, to) = (self.of_layer(params, number)[0], packed.layer(number));
        match of_linear {
            Some(linear) => linear.pack::<T>(piece, weight, to),
            None => self.convs[number].pack::<T>(weight, to),
        }
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
        match &self.linear {
            Some(linear) => {
                let number = self.convs.len();
                let weights = Weights {
                    packed: packed.layer(number)[0],
                    bias: self.of_layer(params, number)[1],
                    norm: norms.get_mut(number).map(|norm| norm.from(0)),
                };
                if of_block == 32 {
                    linear.forward(tiles, x, weights, features);
                } else {
                    linear.act(tiles, count, x, weights, features.as_mut_ptr());
                }
            }
            None => flatten(self.convs[last].conv.pixels_out(), of_block, x, features),
        }
        made
    }

    unsafe fn back<T: Tiles>(
        &self,
        tiles: &mut T,
        images: Images<'_>,
        packed: &PackedTrunk,
        Activations { outputs, norms, .. }: &mut Activations,
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
        if let Some(linear) = &self.linear {
            let number = self.convs.len();
            let of_layer = self.of_layer_mut(of_params, number);
            let norm = norms.get_mut(number).map(|norm| norm.from(0));
            let norm = norm.zip(of_norm(of_layer));
            let of_bias = of_layer[1].as_mut_ptr();
            let mut of = linear.of_outputs::<T>(features, of_features, norm, of_bias);
            let packed = packed.layer(number)[1];
            linear.of_weights(tiles, blocks, (x, &mut of), of_layer[0]);
            linear.of_inputs(tiles, blocks, (&mut of, packed), x, to);
        } else {
            let pixels = self.convs[last].conv.pixels_out();
            unflatten(pixels, blocks, [features, of_features], to);
        }
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

/// Where in blocks of so many images the number at `at` of `[image][outputs][pixels]` lies.
fn in_blocks((pixels, outputs): (usize, usize), of_block: usize, at: usize) -> usize {
    let (image, at) = (at / (pixels * outputs), at % (pixels * outputs));
    let (output, pixel) = (at / pixels, at % pixels);
    let (block, row) = (image / of_block, image % of_block);
    let line = (block * pixels + pixel) * (outputs / 32) + output / 32;
    (line * of_block + row) * 32 + output % 32
}

/// Outputs in blocks, so many pixels of so many each → `[image][outputs][pixels]`.
pub unsafe fn flatten(from: (usize, usize), of_block: usize, y: *const u16, to: &mut [u16]) {
    for (at, to) in to.iter_mut().enumerate() {
        *to = *y.add(in_blocks(from, of_block, at));
    }
}

/// The gradient of `[image][outputs][pixels]` through rectified units → blocks, with zeros where they are not filled.
pub unsafe fn unflatten(to: (usize, usize), blocks: usize, [y, of_y]: [&[u16]; 2], of: *mut u16) {
    of.write_bytes(0, blocks * 32 * to.0 * to.1);
    for (at, (y, of_y)) in y.iter().zip(of_y).enumerate() {
        if y.cast_signed() > 0 {
            *of.add(in_blocks(to, 32, at)) = *of_y;
        }
    }
}
