//! Convolutions of 3 by 3 with padding over cells of 32 numbers: a pixel of 32 channels, or two of 16 beside one another.

use crate::amx::{
    blocks::{self, BLOCK, BYTES},
    tiles::{Step, Tiles},
};

/// Where no weight stands.
const NONE: u32 = u32::MAX;

/// The extents, and which weights stand in which block.
#[derive(Debug)]
pub struct Cells {
    pub height: usize,
    /// Cells in a row, of the inputs and of the outputs.
    pub width: usize,
    /// Blocks of outputs of a cell.
    pub outs: usize,
    /// Channels of a pixel, in and out.
    channels: [usize; 2],
    /// Of each block of outputs, the cells that it sees: how far below and beside the one above and to the left.
    pub seen: Vec<Vec<[usize; 2]>>,
    /// For each number of the packed blocks, `[seen][outputs][inputs]`, the weight's place in `[outputs, inputs, 3, 3]`.
    order: Vec<u32>,
}

impl Cells {
    /// For rows of so many pixels of so many channels, in and out.
    pub fn new(height: usize, width: usize, channels: [usize; 2]) -> Self {
        let [inputs, outputs] = channels;
        let pixels = 32 / inputs;
        let outs = pixels * outputs / 32;
        let weight = |output: usize, [below, beside]: [usize; 2], input: usize| {
            let column = beside * pixels + input / inputs + 1;
            let at = column.checked_sub(pixels + output / outputs)?;
            let place = (output % outputs * inputs + input % inputs) * 3 + below;
            (at < 3).then_some((place * 3 + at) as u32)
        };
        let (mut seen, mut order) = (Vec::new(), Vec::new());
        for out in 0..outs {
            let places = (0..9).map(|place| [place / 3, place % 3]);
            let of_block = |place| {
                let numbers = (0..BLOCK).map(move |at| (out * 32 + at / 32, at % 32));
                numbers.map(move |(output, input)| weight(output, place, input))
            };
            let places: Vec<_> = places
                .filter(|place| of_block(*place).any(|weight| weight.is_some()))
                .collect();
            let weights = places.iter().flat_map(|place| of_block(*place));
            order.extend(weights.map(|weight| weight.unwrap_or(NONE)));
            seen.push(places);
        }
        Self {
            height,
            width: width / pixels,
            outs,
            channels,
            seen,
            order,
        }
    }

    /// Lengths of weight and bias.
    pub fn lengths(&self) -> [usize; 2] {
        let [inputs, outputs] = self.channels;
        [outputs * inputs * 9, outputs]
    }

    /// Numbers of the packed weights.
    pub fn weights(&self) -> usize {
        self.order.len()
    }

    /// Numbers of an image.
    pub fn image(&self) -> usize {
        self.height * self.width * 32
    }

    /// The places that blocks of weights are for, in their order: block of outputs, and what it sees.
    pub fn places(&self) -> impl Iterator<Item = (usize, &[usize; 2])> {
        let outs = self.seen.iter().enumerate();
        outs.flat_map(|(out, seen)| seen.iter().map(move |place| (out, place)))
    }

    /// Where the first block of a block of outputs stands among the packed ones.
    pub fn first(&self, out: usize) -> usize {
        self.seen[..out].iter().map(Vec::len).sum()
    }

    /// Packs weights as blocks in the order of what is seen.
    pub unsafe fn pack<T: Tiles>(&self, weight: &[f32], [forward, backward]: [*mut u16; 2]) {
        let ordered = ordered(&self.order, weight);
        for at in (0..self.order.len()).step_by(BLOCK) {
            let to = [forward, backward].map(|to| to.add(at));
            blocks::pack::<T>(ordered[at..].as_ptr(), 32, 1.0, to[0], to[1]);
        }
    }

    /// Puts the gradients of blocks and of the outputs of cells in PyTorch's order.
    pub unsafe fn unpack(&self, [weights, bias]: [*const f32; 2], of: &mut [&mut [f32]]) {
        sum_up(&self.order, (weights, 1.0), of[0]);
        of[1].fill(0.0);
        for output in 0..32 * self.outs {
            of[1][output % self.channels[1]] += *bias.add(output);
        }
    }

    /// Steps of each cell of a row and block of its outputs, of inputs of so many images, from the first row that is
    /// seen.
    pub fn forward_steps(&self, images: usize, edge: Edge) -> Vec<Vec<Step>> {
        let of_cell = |at: usize| {
            let (column, out) = (at / self.outs, at % self.outs);
            let seen = self.seen[out].iter().enumerate();
            let there = seen.filter_map(|(number, [below, beside])| {
                let row = edge.row(*below)?;
                let column = self.column(column + beside)?;
                Some(Step {
                    a: ((row * self.width + column) * images * 64) as u32,
                    b: (number * BYTES) as u32,
                })
            });
            there.collect()
        };
        (0..self.width * self.outs).map(of_cell).collect()
    }

    /// Those of the gradient of each cell of a row of inputs: of 32 images.
    pub fn input_steps(&self, edge: Edge) -> Vec<Vec<Step>> {
        let of_cell = |column: usize| {
            let there = self
                .places()
                .enumerate()
                .filter_map(|(number, (out, [below, beside]))| {
                    let row = edge.row(2 - below)?;
                    let column = self.column(column + 2 - beside)?;
                    Some(Step {
                        a: (((row * self.width + column) * self.outs + out) * BYTES) as u32,
                        b: (number * BYTES) as u32,
                    })
                });
            there.collect()
        };
        (0..self.width).map(of_cell).collect()
    }

    /// A column, counted from the one before the first.
    fn column(&self, from_before: usize) -> Option<usize> {
        let column = from_before.checked_sub(1)?;
        (column < self.width).then_some(column)
    }
}

/// Which rows beside a row there are.
#[derive(Clone, Copy)]
pub struct Edge {
    pub is_above: bool,
    pub is_below: bool,
}

impl Edge {
    /// All that there can be.
    pub const ALL: [Self; 4] = [
        Self::new(false, false),
        Self::new(false, true),
        Self::new(true, false),
        Self::new(true, true),
    ];

    const fn new(is_above: bool, is_below: bool) -> Self {
        Self { is_above, is_below }
    }

    /// Of a row of so many.
    pub fn of(row: usize, rows: usize) -> Self {
        Self::new(row > 0, row + 1 < rows)
    }

    /// Its place among all.
    pub fn number(self) -> usize {
        2 * usize::from(self.is_above) + usize::from(self.is_below)
    }

    /// Of the rows above, beside and below, counted from 0, where one lies behind the first that is there.
    fn row(self, number: usize) -> Option<usize> {
        let is_there = [self.is_above, true, self.is_below][number];
        is_there.then(|| number - usize::from(!self.is_above))
    }
}

/// The weights in this order, and zeros where none stands.
pub fn ordered(order: &[u32], weight: &[f32]) -> Vec<f32> {
    let number = |at: &u32| weight.get(*at as usize).copied().unwrap_or(0.0);
    order.iter().map(number).collect()
}

/// Adds up what stands in several places, and divides it.
pub unsafe fn sum_up(order: &[u32], (sums, divisor): (*const f32, f32), to: &mut [f32]) {
    to.fill(0.0);
    for (number, at) in order.iter().enumerate() {
        if let Some(to) = to.get_mut(*at as usize) {
            *to += *sums.add(number);
        }
    }
    if divisor > 1.0 {
        for to in to {
            *to /= divisor;
        }
    }
}
