//! The body for images: the "Nature" CNN (Mnih et al. 2015).

use learner_kernels::TrunkShape;
use tch::{Kind, Tensor};

use super::{
    layers::{Activation, Conv2d},
    params::ParamsBuilder,
};

/// Three convolutions with rectified linear units; a layer of 512 follows.
#[derive(Debug)]
pub struct NatureCnn {
    conv1: Conv2d,
    conv2: Conv2d,
    conv3: Conv2d,
    norm: bool,
}

/// Channels, kernel size and stride of each convolution.
const CONV1: [i64; 3] = [32, 8, 4];
const CONV2: [i64; 3] = [64, 4, 2];
const CONV3: [i64; 3] = [64, 3, 1];

impl NatureCnn {
    /// Units of the layer that follows.
    pub const WIDTH: i64 = 512;

    /// Numbers that each layer makes of an image; none, if it is too small for the convolutions.
    pub(crate) fn outputs(height: usize, width: usize) -> Vec<usize> {
        let mut sides = [height, width];
        let convolutions = [CONV1, CONV2, CONV3].map(|layer| {
            let [channels, kernel, stride] = layer.map(|number| number as usize);
            sides = sides.map(|pixels| (pixels + stride).saturating_sub(kernel) / stride);
            channels * sides[0] * sides[1]
        });
        convolutions
            .into_iter()
            .chain([Self::WIDTH as usize])
            .collect()
    }

    /// For images of so many channels; parameters `<scope>conv1` to `conv3`, with `norm` layer normalization
    /// behind each of them.
    pub fn new(params: &mut ParamsBuilder<'_>, scope: &str, channels: i64, norm: bool) -> Self {
        let mut conv = |number, inputs, [outputs, kernel, stride]: [i64; 3]| {
            let name = format!("{scope}conv{number}");
            Conv2d::new(
                params,
                &name,
                (inputs, outputs),
                (kernel, stride),
                2_f64.sqrt(),
            )
            .normed(params, &name, norm)
        };
        Self {
            conv1: conv(1, channels, CONV1),
            conv2: conv(2, CONV1[0], CONV2),
            conv3: conv(3, CONV2[0], CONV3).channels_first(),
            norm,
        }
    }

    /// Its extents for such images, with a layer of `hidden` behind it.
    pub(super) fn shape(
        &self,
        [channels, height, width]: [usize; 3],
        hidden: Option<i64>,
    ) -> TrunkShape<'static> {
        const CONVOLUTIONS: [[usize; 3]; 3] = [usizes(CONV1), usizes(CONV2), usizes(CONV3)];
        TrunkShape {
            channels,
            height,
            width,
            convolutions: &CONVOLUTIONS,
            hidden: hidden.map(|units| units as usize),
            norm: self.norm,
        }
    }

    /// Weights and biases of all three, in turn, each with scale and shift of its norm, where there is one.
    pub(super) fn weights(&self) -> Vec<Tensor> {
        let layers = [&self.conv1, &self.conv2, &self.conv3];
        layers.into_iter().flat_map(Conv2d::weights).collect()
    }

    /// uint8 `[batch, channels, height, width]` → `[batch, 64, ...]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let hidden = self.conv1.forward(obs, kind, Activation::Relu);
        let hidden = self.conv2.forward(&hidden, kind, Activation::Relu);
        self.conv3.forward(&hidden, kind, Activation::Relu)
    }
}

const fn usizes([outputs, kernel, stride]: [i64; 3]) -> [usize; 3] {
    [outputs as usize, kernel as usize, stride as usize]
}
