//! Forward and backward pass of a convolution over a block of images.

use super::{
    blocks::{self, BLOCK, BYTES, For, Target},
    conv::Layer,
    norm::Norm,
    tiles::{Factors, Step, Sums, Tiles},
};
use crate::tile::Scratch;

/// Memory to work in, for the largest of several layers.
pub struct Room {
    /// Two blocks, in turns.
    sums: Scratch<f32>,
    /// The image, or rows of it, as rows or pairs.
    kept: Scratch<u16>,
    turned: Scratch<u16>,
}

impl Room {
    /// For blocks of so many images.
    pub fn new(layers: &[Layer], images: usize, is_backward: bool) -> Self {
        let kept = |layer: &Layer| layer.rows() * layer.conv.width * layer.conv.channels;
        let needed = |layer: &&Layer| is_backward || layer.squares.is_some();
        let kept = layers.iter().filter(needed).map(kept).max();
        let turned = layers.iter().map(|layer| layer.conv.image_out()).max();
        Self {
            sums: Scratch::new(2 * BLOCK),
            kept: Scratch::new(kept.unwrap_or(0) * images),
            turned: Scratch::if_needed(is_backward, turned.unwrap_or(0) * images),
        }
    }

    fn sums(&mut self, turn: usize) -> *mut f32 {
        self.sums.start().wrapping_add(turn * BLOCK)
    }
}

/// Images that go through a layer, and how many they are: 32, of which each tile has half; or up to 16, and the second
/// tile is the pixel beside.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    Bytes(&'a [*const u8]),
    Blocks(*const u16, usize),
}

impl Input<'_> {
    pub fn images(self) -> usize {
        match self {
            Self::Bytes(images) => images.len(),
            Self::Blocks(_, images) => images,
        }
    }
}

/// What a layer computes with in the forward pass.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// `[outputs / 32][place][channels / 32]` blocks.
    pub packed: *const u16,
    pub bias: &'a [f32],
    pub norm: Option<Norm<'a>>,
}

impl Weights<'_> {
    /// Where sums go that are finished, and the least that they become: to the norm as they are, or rectified to `y`.
    pub fn finished(&self, y: *mut u16) -> (*mut u16, f32) {
        match self.norm {
            Some(norm) => (norm.sums, f32::NEG_INFINITY),
            None => (y, 0.0),
        }
    }
}

impl Layer {
    /// Packs weights, `[outputs, channels, kernel, kernel]`, for the passes below.
    pub unsafe fn pack<T: Tiles>(&self, weight: &[f32], [forward, backward]: [*mut u16; 2]) {
        let (conv, (ins, outs)) = (&self.conv, self.conv.blocks());
        let (places, terms) = (conv.places(), conv.terms());
        let ordered: Vec<f32> = self.order.iter().map(|at| weight[*at as usize]).collect();
        for (output, column) in (0..outs).flat_map(|out| (0..terms / 32).map(move |at| (out, at))) {
            let (place, channel) = (column / ins, column % ins);
            let forward = forward.add((output * places * ins + column) * BLOCK);
            let backward = backward.add(((channel * places + place) * outs + output) * BLOCK);
            let from = ordered[output * 32 * terms + column * 32..].as_ptr();
            blocks::pack::<T>(from, terms, self.divisor(), forward, backward);
        }
    }

    /// A block of images through convolution, bias, norm and rectified units.
    pub unsafe fn forward<T: Tiles>(
        &self,
        tiles: &mut T,
        room: &mut Room,
        x: Input<'_>,
        weights: Weights<'_>,
        y: *mut u16,
    ) {
        let (conv, count) = (&self.conv, x.images());
        match x {
            Input::Blocks(x, _) => {
                let steps = conv.forward_steps(count, conv.height, 0);
                let row = conv.width * conv.channels * count;
                for out in 0..conv.out_height() {
                    let x = x.add(out * conv.stride * row);
                    self.forward_row(tiles, room, (x, count, &steps), weights, y, out);
                }
            }
            // As many rows of pixels are kept as numbers as the kernel sees.
            Input::Bytes(images) => {
                let rows = conv.kernel;
                let steps = |first| conv.forward_steps(count, rows, first);
                let steps: Vec<_> = (0..rows).map(steps).collect();
                for row in 0..conv.height {
                    self.read::<T>(room, row, count * 32, |bytes, to| {
                        blocks::bytes_to_rows::<T>(images, bytes, to);
                    });
                    if let Some(out) = (row + 1).checked_sub(rows) {
                        let x = (room.kept.start().cast_const(), count, &*steps[out % rows]);
                        self.forward_row(tiles, room, x, weights, y, out);
                    }
                }
            }
        }
    }

    /// Reads the blocks of a row of pixels from bytes into the room, `numbers` a block.
    fn read<T: Tiles>(
        &self,
        room: &mut Room,
        row: usize,
        numbers: usize,
        read: impl Fn(blocks::Bytes, *mut u16),
    ) {
        let Some(squares) = self.squares else { return };
        let count = self.conv.width * self.conv.blocks().0;
        let to = row % self.conv.kernel * count;
        for block in 0..count {
            let at = room.kept.start().wrapping_add((to + block) * numbers);
            read(self.bytes(squares, row, block), at);
        }
    }

    #[inline]
    unsafe fn forward_row<T: Tiles>(
        &self,
        tiles: &mut T,
        room: &mut Room,
        (x, images, steps): (*const u16, usize, &[Step]),
        weights: Weights<'_>,
        y: *mut u16,
        row: usize,
    ) {
        let ((ins, outs), width) = (self.conv.blocks(), self.conv.out_width());
        let block = images * 32;
        let pixel = self.conv.stride * ins * block;
        let (together, a_second) = match images {
            32 => (1, BYTES / 2),
            _ if width == 1 => (1, 0),
            _ => (2, 2 * pixel),
        };
        let (made, least) = weights.finished(y);
        let finish = |(sums, to): (*const f32, *mut u16)| {
            for second in 0..together {
                let to = to.add(second * outs * block);
                blocks::finish::<T>(sums.add(second * BLOCK / 2), images, least, to, 32);
            }
        };
        // The sums of a tile are finished while the next ones are added up.
        let (mut before, mut turn) = (None, 0);
        for output in 0..outs {
            for column in (0..width).step_by(together) {
                let column = column.min(width - together);
                let to = made.add(((row * width + column) * outs + output) * block);
                blocks::fetch::<T>(For::Writing, to, block / 32);
                let sums = Sums::block(room.sums(turn));
                let b = weights.packed.add(output * steps.len() * BLOCK);
                let a = x.add(column * pixel);
                let factors = Factors { a, a_second, b };
                tiles.product(Sums::bias(weights.bias, output), sums, factors, steps);
                if let Some(before) = before.replace((sums.start.cast_const(), to)) {
                    finish(before);
                }
                turn = 1 - turn;
            }
        }
        if let Some(before) = before {
            finish(before);
        }
        if let Some(norm) = weights.norm {
            for pixel in row * width..(row + 1) * width {
                let to = Target {
                    start: y.add(pixel * outs * block),
                    rows: images,
                    to_row: 32,
                    to_block: block,
                };
                norm.forward::<T>(pixel, to);
            }
        }
    }

    /// What a block of 32 images adds to the gradient of the weights, `[outputs / 32][place][channels / 32]` blocks, and
    /// of the bias, from the gradient of its outputs.
    pub unsafe fn of_weights<T: Tiles>(
        &self,
        tiles: &mut T,
        room: &mut Room,
        x: Input<'_>,
        of_y: *const u16,
        (to, of_bias): (*mut f32, *mut f32),
    ) {
        let conv = &self.conv;
        for (number, at) in (0..32 * conv.image_out()).step_by(BLOCK).enumerate() {
            let of_bias = of_bias.add(number % conv.blocks().1 * 32);
            blocks::turn_rows::<T>(of_y.add(at), room.turned.start().add(at), of_bias);
        }
        match x {
            Input::Blocks(x, _) => {
                for at in (0..32 * conv.image()).step_by(BLOCK) {
                    blocks::to_pairs::<T>(x.add(at), room.kept.start().add(at));
                }
                for row in 0..conv.out_height() {
                    self.add_row(tiles, room, row, to);
                }
            }
            Input::Bytes(images) => {
                for row in 0..conv.height {
                    self.read::<T>(room, row, BLOCK, |bytes, to| {
                        blocks::bytes_to_pairs::<T>(images, bytes, to);
                    });
                    if let Some(out) = (row + 1).checked_sub(conv.kernel) {
                        self.add_row(tiles, room, out, to);
                    }
                }
            }
        }
    }

    /// A row of outputs: what else they have in common stays in the nearest cache.
    unsafe fn add_row<T: Tiles>(&self, tiles: &mut T, room: &mut Room, row: usize, to: *mut f32) {
        let (conv, (ins, outs)) = (&self.conv, self.conv.blocks());
        for place in 0..conv.places() {
            let seen = (row * conv.stride + place / conv.kernel) % self.rows() * conv.width;
            let seen = (seen + place % conv.kernel) * ins;
            for (output, channel) in (0..outs).flat_map(|out| (0..ins).map(move |ch| (out, ch))) {
                let at = (output * conv.places() + place) * ins + channel;
                let sums = Sums::block(to.add(at * BLOCK));
                let a = row * conv.out_width() * outs + output;
                let factors = Factors {
                    a: room.turned.start().add(a * BLOCK),
                    a_second: BYTES / 2,
                    b: room.kept.start().add((seen + channel) * BLOCK),
                };
                tiles.product(sums, sums, factors, &self.of_weights);
            }
        }
    }

    /// The gradient of a block of 32 images `x`, which are outputs of rectified units, before those units. `packed` are
    /// the weights as `[channels / 32][place][outputs / 32]` blocks.
    pub unsafe fn of_inputs<T: Tiles>(
        &self,
        tiles: &mut T,
        room: &mut Room,
        (of_y, packed): (*const u16, *const u16),
        x: *const u16,
        to: *mut u16,
    ) {
        let (conv, (ins, outs)) = (&self.conv, self.conv.blocks());
        let pass = |(sums, at): (*const f32, usize)| {
            blocks::pass::<T>(sums, x.add(at), to.add(at));
        };
        let (mut before, mut turn) = (None, 0);
        for (y, channel) in (0..conv.height).flat_map(|y| (0..ins).map(move |ch| (y, ch))) {
            let b = packed.add(channel * conv.places() * outs * BLOCK);
            // Pixels that the same weights are for come one after the other.
            let columns = |first| (first..conv.width).step_by(conv.stride);
            for column in (0..conv.stride).flat_map(columns) {
                let pixel = y * conv.width + column;
                let at = (pixel * ins + channel) * BLOCK;
                let steps = &self.of_inputs[pixel];
                if steps.is_empty() {
                    // No output sees it.
                    to.add(at).write_bytes(0, BLOCK);
                    continue;
                }
                blocks::fetch::<T>(For::Reading, x.add(at), 32);
                let sums = Sums::block(room.sums(turn));
                let a_second = BYTES / 2;
                let factors = Factors {
                    a: of_y,
                    a_second,
                    b,
                };
                tiles.product(Sums::ZERO, sums, factors, steps);
                if let Some(before) = before.replace((sums.start.cast_const(), at)) {
                    pass(before);
                }
                turn = 1 - turn;
            }
        }
        if let Some(before) = before {
            pass(before);
        }
    }
}
