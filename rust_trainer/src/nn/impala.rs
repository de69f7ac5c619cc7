//! The deeper body for images: the residual network of IMPALA (Espeholt et al. 2018, figure 3, right).

use learner_kernels::ResidualShape;
use tch::{Kind, Tensor};

use super::{
    layers::{Activation, Conv2d},
    params::ParamsBuilder,
};

/// Three stages of a convolution, max-pooling and two residual blocks; a fully connected layer follows.
///
/// Weights start orthogonal, with gain √2 where a rectified linear unit follows and 1 where the output is
/// summed: with √2 everywhere, each of the six blocks would double the variance of what passes.
#[derive(Debug)]
pub struct ImpalaResNet {
    stages: [Stage; 3],
}

/// A convolution, max-pooling that halves height and width, two residual blocks.
#[derive(Debug)]
struct Stage {
    conv: Conv2d,
    blocks: [Block; 2],
}

/// Two convolutions, each behind a rectified linear unit; what they make is added to what comes in.
#[derive(Debug)]
struct Block {
    conv1: Conv2d,
    conv2: Conv2d,
}

/// Channels of each stage.
const CHANNELS: [usize; 3] = [16, 32, 32];
const SUMMED_GAIN: f64 = 1.0;

impl ImpalaResNet {
    /// Numbers that each convolution, and the last layer with so many `units`, makes of an image.
    pub(crate) fn outputs(height: usize, width: usize, units: i64) -> Vec<usize> {
        let mut sides = [height, width];
        let mut outputs = Vec::new();
        for channels in CHANNELS {
            let of_pixels = |[height, width]: [usize; 2]| channels * height * width;
            outputs.push(of_pixels(sides));
            sides = sides.map(|pixels| pixels.div_ceil(2));
            outputs.extend([of_pixels(sides); 4]);
        }
        outputs.push(units as usize);
        outputs
    }

    /// For images of so many channels; parameters `<scope>stage1` to `stage3`, with `norm` layer normalization
    /// behind each convolution.
    pub fn new(params: &mut ParamsBuilder<'_>, scope: &str, channels: i64, norm: bool) -> Self {
        let outputs = CHANNELS.map(|channels| channels as i64);
        let inputs = [channels, outputs[0], outputs[1]];
        let stages = [0, 1, 2].map(|stage: usize| {
            let name = format!("{scope}stage{}", stage + 1);
            Stage::new(params, &name, [inputs[stage], outputs[stage]], norm)
        });
        Self { stages }
    }

    /// Its extents for such images, with a layer of `hidden` behind it.
    pub(super) fn shape(
        [channels, height, width]: [usize; 3],
        hidden: Option<i64>,
    ) -> ResidualShape<'static> {
        ResidualShape {
            channels,
            height,
            width,
            stages: &CHANNELS,
            hidden: hidden.map(|units| units as usize),
        }
    }

    /// Weights and biases of all convolutions, in turn; with norms their scales and shifts, too.
    pub(super) fn weights(&self) -> Vec<Tensor> {
        let convolutions = self.stages.iter().flat_map(|stage| {
            let branches = stage.blocks.iter();
            let branches = branches.flat_map(|block| [&block.conv1, &block.conv2]);
            [&stage.conv].into_iter().chain(branches)
        });
        convolutions.flat_map(Conv2d::weights).collect()
    }

    /// uint8 `[batch, channels, height, width]` → `[batch, 32, ...]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let [first, second, third] = &self.stages;
        let hidden = first.forward(obs, kind);
        third.forward(&second.forward(&hidden, kind), kind).relu()
    }
}

impl Stage {
    fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        [inputs, outputs]: [i64; 2],
        norm: bool,
    ) -> Self {
        Self {
            conv: conv(
                params,
                &format!("{name}.conv"),
                [inputs, outputs],
                SUMMED_GAIN,
                norm,
            ),
            blocks: [1, 2].map(|number| {
                let mut conv = |layer, gain| {
                    let name = format!("{name}.block{number}.conv{layer}");
                    conv(params, &name, [outputs, outputs], gain, norm)
                };
                Block {
                    conv1: conv(1, 2_f64.sqrt()),
                    conv2: conv(2, SUMMED_GAIN),
                }
            }),
        }
    }

    /// `[batch, inputs, height, width]` → `[batch, outputs, ⌈height / 2⌉, ⌈width / 2⌉]`.
    fn forward(&self, x: &Tensor, kind: Kind) -> Tensor {
        let x = self.conv.forward(x, kind, Activation::None);
        let x = x.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        self.blocks.iter().fold(x, |x, Block { conv1, conv2 }| {
            let inner = conv1.forward(&x.relu(), kind, Activation::Relu);
            x + conv2.forward(&inner, kind, Activation::None)
        })
    }
}

fn conv(
    params: &mut ParamsBuilder<'_>,
    name: &str,
    [inputs, outputs]: [i64; 2],
    gain: f64,
    norm: bool,
) -> Conv2d {
    Conv2d::new(params, name, (inputs, outputs), (3, 1), gain)
        .padded(1)
        .normed(params, name, norm)
}
