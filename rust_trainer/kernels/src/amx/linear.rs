//! The fully connected layer behind the convolutions, over all blocks of images at once: its weights are more than a
//! core's nearest caches hold.
//!
//! Its inputs are `[block of images][pixel][channels / 32]` blocks; terms are counted in that order, by pixels and
//! channels, and not by channels and pixels as PyTorch flattens them.

use super::{
    blocks::{self, BLOCK, BYTES, For, Target},
    conv_passes::Weights,
    norm::Norm,
    tiles::{Factors, Step, Sums, Tiles},
};
use crate::tile::Scratch;

/// Blocks of terms whose weights stay in the nearest cache.
const TOGETHER: usize = 14;

/// The extents.
#[derive(Debug)]
pub struct Linear {
    /// Pixels and channels of an input.
    pub pixels: usize,
    pub channels: usize,
    pub outputs: usize,
}

/// Memory for the backward pass: the gradient of the outputs before their rectified units,
/// `[block of images][outputs / 32]` rows and `[outputs / 32][block of images]` turned pairs.
pub struct OfOutputs {
    rows: Scratch<u16>,
    turned: Scratch<u16>,
}

fn step(number: usize) -> Step {
    let at = (number * BYTES) as u32;
    Step { a: at, b: at }
}

impl Linear {
    /// Numbers of an input.
    pub fn terms(&self) -> usize {
        self.pixels * self.channels
    }

    pub fn weights(&self) -> usize {
        self.terms() * self.outputs
    }

    /// Pieces in which its weights are packed.
    pub fn num_pieces(&self) -> usize {
        self.outputs / 32
    }

    /// Blocks of terms, and of outputs.
    fn blocks(&self) -> (usize, usize) {
        (self.terms() / 32, self.outputs / 32)
    }

    /// Packs 32 outputs' weights, `[outputs, channels · pixels]`, as `[outputs / 32][terms / 32]` and
    /// `[terms / 32][outputs / 32]` blocks.
    pub unsafe fn pack<T: Tiles>(
        &self,
        output: usize,
        weight: &[f32],
        [forward, backward]: [*mut u16; 2],
    ) {
        let ((terms, outs), count) = (self.blocks(), self.terms());
        let mut ordered = Scratch::<f32>::new(32 * count);
        let ordered = ordered.start();
        for row in 0..32 {
            let from = weight[(output * 32 + row) * count..].as_ptr();
            let to = ordered.add(row * count);
            blocks::transpose::<T>(from, self.channels, self.pixels, to, count);
        }
        for term in 0..terms {
            let forward = forward.add((output * terms + term) * BLOCK);
            let backward = backward.add((term * outs + output) * BLOCK);
            blocks::pack::<T>(ordered.add(term * 32), count, 1.0, forward, backward);
        }
    }

    /// `x` in blocks of 32 images → `y`: `[image][outputs]`, rectified behind the norm.
    pub unsafe fn forward<T: Tiles>(
        &self,
        tiles: &mut T,
        x: *const u16,
        weights: Weights<'_>,
        y: &mut [u16],
    ) {
        let Weights { packed, bias, norm } = weights;
        let (made, least) = weights.finished(y.as_mut_ptr());
        let ((terms, outs), images) = (self.blocks(), y.len() / self.outputs);
        let blocks = images.div_ceil(32);
        let steps: Vec<_> = (0..TOGETHER).map(step).collect();
        let mut sums = Scratch::<f32>::new(outs * blocks * BLOCK);
        for first in (0..terms).step_by(TOGETHER) {
            let count = TOGETHER.min(terms - first);
            for output in 0..outs {
                let b = packed.add((output * terms + first) * BLOCK);
                let next = b.wrapping_add(if output + 1 < outs { terms * BLOCK } else { 0 });
                let share = count.div_ceil(blocks);
                for image in 0..blocks {
                    let next = next.wrapping_add(image * share * BLOCK);
                    blocks::fetch::<T>(For::Later, next, share * 32);
                    let at = (output * blocks + image) * BLOCK;
                    let sums = Sums::block(sums.start().add(at));
                    let a = x.add((image * terms + first) * BLOCK);
                    let a_second = BYTES / 2;
                    let from = if first == 0 {
                        Sums::bias(bias, output)
                    } else {
                        sums
                    };
                    tiles.product(from, sums, Factors { a, a_second, b }, &steps[..count]);
                    if first + count == terms {
                        // Of the norm's sums all rows are there, in blocks.
                        let (count, at, stride) = if norm.is_some() {
                            (32, (image * outs + output) * BLOCK, 32)
                        } else {
                            let count = (images - image * 32).min(32);
                            (count, (image * 32 * outs + output) * 32, self.outputs)
                        };
                        blocks::finish::<T>(sums.start, count, least, made.add(at), stride);
                    }
                }
            }
        }
        if let Some(norm) = norm {
            for (image, y) in y.chunks_mut(32 * self.outputs).enumerate() {
                norm.forward::<T>(image, self.target(y.as_mut_ptr(), y.len() / self.outputs));
            }
        }
    }

    /// Outputs of so many images.
    fn target(&self, start: *mut u16, rows: usize) -> Target {
        Target {
            start,
            rows,
            to_row: self.outputs,
            to_block: 32,
        }
    }

    /// The forward pass of up to 16 images: `x` `[terms / 32][images][32]` → `y` `[image][outputs]`.
    pub unsafe fn act<T: Tiles>(
        &self,
        tiles: &mut T,
        images: usize,
        x: *const u16,
        weights: Weights<'_>,
        y: *mut u16,
    ) {
        let Weights { packed, bias, norm } = weights;
        let (made, least) = weights.finished(y);
        let (block, stride) = match norm {
            Some(_) => (images * 32, 32),
            None => (32, self.outputs),
        };
        let (terms, outs) = self.blocks();
        let step = |number: usize| Step {
            a: (number * images * 64) as u32,
            b: (number * BYTES) as u32,
        };
        let steps: Vec<_> = (0..terms).map(step).collect();
        let mut sums = Scratch::<f32>::new(BLOCK);
        for output in 0..outs {
            let sums = Sums::block(sums.start());
            let b = packed.add(output * terms * BLOCK);
            let factors = Factors {
                a: x,
                a_second: 0,
                b,
            };
            tiles.product(Sums::bias(bias, output), sums, factors, &steps);
            let to = made.add(output * block);
            blocks::finish::<T>(sums.start, images, least, to, stride);
        }
        if let Some(norm) = norm {
            norm.forward::<T>(0, self.target(y, images));
        }
    }

    /// Takes the gradient `[image][outputs]` of outputs `y` through their rectified units and the norm and puts it in order
    /// for the functions below; adds to those of bias, scale and shift. Images that fill the last block count for nothing.
    pub unsafe fn of_outputs<T: Tiles>(
        &self,
        y: &[u16],
        of_y: &[u16],
        norm: Option<(Norm<'_>, [*mut f32; 2])>,
        of_bias: *mut f32,
    ) -> OfOutputs {
        let outs = self.outputs / 32;
        let blocks = of_y.len().div_ceil(32 * self.outputs);
        let mut made = OfOutputs {
            rows: Scratch::new(blocks * 32 * self.outputs),
            turned: Scratch::new(blocks * 32 * self.outputs),
        };
        for image in 0..blocks {
            let rows = made.rows.start().add(image * outs * BLOCK);
            for output in 0..outs {
                for row in 0..32 {
                    let at = ((image * 32 + row) * outs + output) * 32;
                    let to = rows.add(output * BLOCK + row * 32).cast::<[u16; 32]>();
                    to.write(match (y.get(at..at + 32), of_y.get(at..at + 32)) {
                        (Some(y), Some(of_y)) => {
                            let on = |at: usize| if y[at].cast_signed() > 0 { !0 } else { 0 };
                            std::array::from_fn(|at| of_y[at] & on(at))
                        }
                        _ => [0; 32],
                    });
                }
            }
            if let Some((norm, of_params)) = norm {
                norm.backward::<T>(image, rows, of_params);
            }
            for output in 0..outs {
                let turned = made.turned.start().add((output * blocks + image) * BLOCK);
                let of_bias = of_bias.add(output * 32);
                blocks::turn_rows::<T>(rows.add(output * BLOCK), turned, of_bias);
            }
        }
        made
    }

    /// The gradient of the weights, as PyTorch orders them. What 32 channels have in common stays in the second cache.
    pub unsafe fn of_weights<T: Tiles>(
        &self,
        tiles: &mut T,
        blocks: usize,
        (x, of): (*const u16, &mut OfOutputs),
        to: &mut [f32],
    ) {
        let ((_, outs), ins) = (self.blocks(), self.channels / 32);
        let steps: Vec<_> = (0..blocks).map(step).collect();
        let mut pairs = Scratch::<u16>::new(self.pixels * blocks * BLOCK);
        let mut ordered = Scratch::<f32>::new(32 * self.pixels * 32);
        let (pairs, ordered) = (pairs.start(), ordered.start());
        for channel in 0..ins {
            for image in 0..blocks {
                for pixel in 0..self.pixels {
                    let from = x.add(((image * self.pixels + pixel) * ins + channel) * BLOCK);
                    blocks::to_pairs::<T>(from, pairs.add((pixel * blocks + image) * BLOCK));
                }
            }
            for output in 0..outs {
                let a = of.turned.start().add(output * blocks * BLOCK);
                for pixel in 0..self.pixels {
                    let factors = Factors {
                        a,
                        a_second: BYTES / 2,
                        b: pairs.add(pixel * blocks * BLOCK),
                    };
                    let sums = Sums {
                        start: ordered.add(pixel * 32),
                        stride: self.pixels * 32,
                    };
                    tiles.product(Sums::ZERO, sums, factors, &steps);
                }
                for row in 0..32 {
                    let from = ordered.add(row * self.pixels * 32);
                    let at = (output * 32 + row) * self.terms() + channel * 32 * self.pixels;
                    let to = to[at..].as_mut_ptr();
                    blocks::transpose::<T>(from, self.pixels, 32, to, self.terms());
                }
            }
        }
    }

    /// The gradient of the inputs, which are outputs of rectified units, before those.
    pub unsafe fn of_inputs<T: Tiles>(
        &self,
        tiles: &mut T,
        blocks: usize,
        (of, packed): (&mut OfOutputs, *const u16),
        x: *const u16,
        to: *mut u16,
    ) {
        let (terms, outs) = self.blocks();
        let steps: Vec<_> = (0..outs).map(step).collect();
        let mut sums = Scratch::<f32>::new(BLOCK);
        let share = outs.div_ceil(blocks);
        for (term, image) in (0..terms).flat_map(|term| (0..blocks).map(move |i| (term, i))) {
            let b = packed.add(term * outs * BLOCK);
            let at = (image * terms + term) * BLOCK;
            let next = b.wrapping_add((outs + image * share) * BLOCK);
            blocks::fetch::<T>(For::Later, next, share * 32);
            blocks::fetch::<T>(For::Reading, x.add(at), 32);
            let sums = Sums::block(sums.start());
            let a = of.rows.start().add(image * outs * BLOCK);
            let a_second = BYTES / 2;
            tiles.product(Sums::ZERO, sums, Factors { a, a_second, b }, &steps);
            blocks::pass::<T>(sums.start, x.add(at), to.add(at));
        }
    }
}
