//! The residual network of IMPALA (Espeholt et al. 2018, figure 3, right) in tiles.
//!
//! Its convolutions are 3 by 3 with padding, and its first stage has 16 channels, which would fill half a block. What is
//! multiplied are therefore [cells](cells::Cells) of 32 numbers: a pixel of 32 channels, or two of 16 beside one another,
//! with zeros among the weights where a cell's second pixel is beyond the kernel.

mod cell_passes;
mod cells;
mod first;
mod passes;
mod pool;
mod room;
mod stage;
mod stage_passes;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod turns;
mod work;

use super::{end::End, layers::is_near};
use cells::Cells;
use first::First;
use pool::Pool;
use stage::{Entry, Stage};

/// The extents of IMPALA's residual network: stages of a convolution, max-pooling that halves rows and columns, and two
/// residual branches of two convolutions; rectified units; a fully connected rectified layer.
///
/// Parameters are weight and bias of each stage's convolutions, those of the branches in turn behind the first one, and
/// those of the fully connected layer, in PyTorch's order.
#[derive(Clone, Copy, Debug)]
pub struct ResidualShape<'a> {
    /// Numbers of a pixel: 4.
    pub channels: usize,
    /// Rows of pixels, 2 at least.
    pub height: usize,
    /// Pixels in a row, a multiple of 4.
    pub width: usize,
    /// Channels of each stage: 16, and 32 from the second one on.
    pub stages: &'a [usize],
    /// Outputs of a fully connected layer behind them, a multiple of 32.
    pub hidden: Option<usize>,
}

/// Convolutions of a stage.
const PER_STAGE: usize = 5;

/// The layers.
#[derive(Debug)]
pub struct Residual {
    stages: Vec<Stage>,
    /// Behind them.
    end: End,
    /// Bytes of an image.
    image: usize,
}

impl Residual {
    /// Those of a trunk: see [`Trunk::residual`](crate::Trunk::residual).
    pub fn new(shape: ResidualShape<'_>) -> Option<Self> {
        let ResidualShape {
            channels,
            mut height,
            mut width,
            stages,
            hidden,
        } = shape;
        let (&first, deeper) = stages.split_first()?;
        let fits = channels == First::CHANNELS
            && first == First::OUTPUTS
            && deeper.iter().all(|outputs| *outputs == 32)
            && height >= 2
            && width >= 4
            && width.is_multiple_of(4)
            // With the rows and columns of padding.
            && is_near([height.saturating_add(2), width.saturating_add(4), first]);
        if !fits {
            return None;
        }
        let image = channels * height * width;
        let (mut inputs, mut made) = (channels, Vec::new());
        for &outputs in stages {
            let entry = match made.len() {
                0 => Entry::Bytes(First::new(height, width)),
                _ => Entry::Cells(Cells::new(height, width, [inputs, outputs])),
            };
            let pool = Pool::new(height, width, outputs);
            [height, width] = pool.sides_out();
            let branch = Cells::new(height, width, [outputs; 2]);
            made.push(Stage {
                entry,
                pool,
                branch,
            });
            inputs = outputs;
        }
        // The last stage's cells are one pixel, which is what a layer behind it takes.
        let end = End::new((height * width, inputs), hidden).filter(|_| inputs == 32)?;
        Some(Self {
            stages: made,
            end,
            image,
        })
    }
}
