//! The passes through all stages and the layer behind them.

use std::ptr;

use super::{
    PER_STAGE, Residual,
    stage::{Entry, Kept, Params, Stage},
    work::{Gradients, Work},
};
use crate::{
    amx::{
        activations::Activations,
        conv_passes::{Input, Weights},
        end::{Backward, End},
        images::{FEW, Images},
        network::Network,
        packed::PackedTrunk,
        tiles::Tiles,
    },
    tile::Scratch,
};

impl Network for Residual {
    fn image(&self) -> usize {
        self.image
    }

    fn num_convs(&self) -> usize {
        PER_STAGE * self.stages.len()
    }

    fn end(&self) -> &End {
        &self.end
    }

    fn lengths(&self) -> Vec<usize> {
        let of_stage = |stage: &Stage| {
            let branches = [stage.branch.lengths(); PER_STAGE - 1];
            [stage.entry.lengths()].into_iter().chain(branches)
        };
        let linear = self.end.linear.iter();
        let linear = linear.map(|linear| [linear.weights(), linear.outputs]);
        let all = self.stages.iter().flat_map(of_stage).chain(linear);
        all.flatten().collect()
    }

    fn room(&self) -> Vec<[usize; 2]> {
        let of_stage = |stage: &Stage| {
            let branches = [[stage.branch.weights(); 2]; PER_STAGE - 1];
            [stage.entry.room().0].into_iter().chain(branches)
        };
        let linear = self.end.linear.iter().map(|linear| [linear.weights(); 2]);
        self.stages
            .iter()
            .flat_map(of_stage)
            .chain(linear)
            .collect()
    }

    unsafe fn pack_conv<T: Tiles>(&self, number: usize, weight: &[f32], to: [*mut u16; 2]) {
        let stage = &self.stages[number / PER_STAGE];
        match (number % PER_STAGE, &stage.entry) {
            (0, Entry::Bytes(first)) => first.pack::<T>(weight, to[0]),
            (0, Entry::Cells(cells)) => cells.pack::<T>(weight, to),
            _ => stage.branch.pack::<T>(weight, to),
        }
    }

    fn is_whole(&self, made: &Activations, blocks: usize) -> bool {
        let stages = made.outputs.chunks(PER_STAGE).zip(&made.chosen);
        let is_whole = |(stage, (outputs, chosen)): (&Stage, (&[Scratch<u16>], &Scratch<u8>))| {
            let numbers = blocks * 32 * stage.branch.image();
            outputs.iter().all(|y| y.len() >= numbers) && chosen.len() >= numbers
        };
        made.outputs.len() == self.num_convs()
            && made.chosen.len() == self.stages.len()
            && self.stages.iter().zip(stages).all(is_whole)
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
        let blocks = count.div_ceil(of_block);
        let biases = self.biases(params);
        let mut made = self.activations(if is_kept { blocks } else { 1 }, blocks, of_block);
        let work = self.stages.iter();
        let mut work: Vec<_> = work
            .map(|stage| Work::new(stage, of_block, false))
            .collect();
        for block in 0..blocks {
            let pointers = images.pointers(block, of_block, self.image);
            let mut input = Input::Bytes(&pointers[..of_block]);
            for (number, (stage, work)) in self.stages.iter().zip(&mut work).enumerate() {
                let kept = self.kept(&mut made, number, block, of_block);
                let is_last = number + 1 == self.stages.len();
                let biases = &biases[number * PER_STAGE..][..PER_STAGE];
                let params = of_stage(packed, biases, number);
                stage.forward(tiles, work, (input, is_last), params, kept);
                input = Input::Blocks(kept.made[PER_STAGE - 1], of_block);
            }
        }
        let x = made.outputs[self.num_convs() - 1].start().cast_const();
        let number = self.num_convs();
        let weights = self.end.linear.as_ref().map(|_| Weights {
            packed: packed.layer(number)[0],
            bias: params[2 * number + 1],
            norm: None,
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
        made: &mut Activations,
        features: [&[u16]; 2],
        of_params: &mut [&mut [f32]],
    ) {
        let blocks = images.places.len().div_ceil(32);
        let mut of_last = Scratch::new(blocks * 32 * self.last().branch.image());
        let of_last = of_last.start();
        let number = self.num_convs();
        let layer = self.end.linear.as_ref().map(|_| {
            let of_layer = &mut of_params[2 * number..];
            of_layer[1].fill(0.0);
            Backward {
                packed: packed.layer(number)[1],
                norm: None,
                of_bias: of_layer[1].as_mut_ptr(),
                of_weight: of_layer[0],
            }
        });
        let ends = [made.outputs[number - 1].start(), of_last];
        self.end.backward(tiles, blocks, features, layer, ends);
        let work = self.stages.iter();
        let mut work: Vec<_> = work.map(|stage| Work::new(stage, 32, true)).collect();
        let mut sums: Vec<_> = self.stages.iter().map(Gradients::new).collect();
        for block in 0..blocks {
            let pointers = images.pointers(block, 32, self.image);
            let mut of = of_last.add(block * 32 * self.last().branch.image());
            for (number, stage) in self.stages.iter().enumerate().rev() {
                let kept = self.kept(made, number, block, 32);
                let before = number.checked_sub(1);
                let x = before.map(|before| self.kept(made, before, block, 32).made[PER_STAGE - 1]);
                let input = x.map_or(Input::Bytes(&pointers), |x| Input::Blocks(x, 32));
                let to = before.map_or(ptr::null_mut(), |before| work[before].x.start());
                let params = of_stage(packed, &[], number);
                let sums = (kept, &mut sums[number]);
                stage.backward(tiles, &mut work[number], (input, [to, of]), params, sums);
                of = to;
            }
        }
        for (number, sums) in sums.iter_mut().flat_map(|sums| &mut sums.0).enumerate() {
            let of = &mut of_params[2 * number..][..2];
            self.unpack(number, sums, of);
        }
    }
}

impl Residual {
    fn last(&self) -> &Stage {
        &self.stages[self.stages.len() - 1]
    }

    /// The biases of a cell's outputs, of each convolution.
    fn biases(&self, params: &[&[f32]]) -> Vec<Vec<f32>> {
        let of_conv = |number: usize| {
            let stage = &self.stages[number / PER_STAGE];
            let outs = match number % PER_STAGE {
                0 => stage.entry.room().1,
                _ => stage.branch.outs,
            };
            let bias = params[2 * number + 1].iter().copied();
            bias.cycle().take(32 * outs).collect()
        };
        (0..self.num_convs()).map(of_conv).collect()
    }

    /// Room for what so many blocks of so many images make; of what leaves the last stage all is wanted.
    fn activations(&self, kept: usize, blocks: usize, images: usize) -> Activations {
        let numbers = |stage: &Stage, blocks: usize| blocks * images * stage.branch.image();
        let output = |number: usize| {
            let stage = &self.stages[number / PER_STAGE];
            let is_last = number + 1 == self.num_convs();
            Scratch::new(numbers(stage, if is_last { blocks } else { kept }))
        };
        let chosen = self.stages.iter();
        Activations {
            outputs: (0..self.num_convs()).map(output).collect(),
            norms: Vec::new(),
            chosen: chosen
                .map(|stage| Scratch::new(numbers(stage, kept)))
                .collect(),
        }
    }

    /// Where a stage's part of them is, of a block of so many images; those that are not kept all lie in one place.
    fn kept(&self, made: &mut Activations, stage: usize, block: usize, images: usize) -> Kept {
        let numbers = images * self.stages[stage].branch.image();
        let start = |length: usize| block.min((length / numbers).max(1) - 1) * numbers;
        let outputs = &mut made.outputs[stage * PER_STAGE..];
        let chosen = &mut made.chosen[stage];
        Kept {
            made: std::array::from_fn(|number| {
                let start = start(outputs[number].len());
                outputs[number].start().wrapping_add(start)
            }),
            chosen: chosen.start().wrapping_add(start(chosen.len())),
        }
    }

    unsafe fn unpack(&self, number: usize, sums: &mut [Scratch<f32>; 2], of: &mut [&mut [f32]]) {
        let stage = &self.stages[number / PER_STAGE];
        let sums = sums.each_mut().map(|sums| sums.start().cast_const());
        match (number % PER_STAGE, &stage.entry) {
            (0, Entry::Bytes(first)) => first.unpack(sums, of),
            (0, Entry::Cells(cells)) => cells.unpack(sums, of),
            _ => stage.branch.unpack(sums, of),
        }
    }
}

fn of_stage<'a>(packed: &PackedTrunk, biases: &'a [Vec<f32>], stage: usize) -> Params<'a> {
    Params {
        packed: std::array::from_fn(|number| packed.layer(stage * PER_STAGE + number)),
        biases,
    }
}
