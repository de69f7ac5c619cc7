//! The deeper body for images: the residual network of IMPALA (Espeholt et al. 2018, figure 3, right).

use tch::{Kind, Tensor};

use super::{BodyStyle, Conv2d, LayerNorm, Linear, ParamsBuilder, pixels};
use crate::error::TrainerError;

/// Three stages of a convolution, max-pooling and two residual blocks, and a layer of 256.
///
/// Weights start orthogonal, with gain √2 where a rectified linear unit follows and 1 where the output is
/// summed: with √2 everywhere, each of the six blocks would double the variance of what passes.
#[derive(Debug)]
pub struct ImpalaResNet {
    stage1: Stage,
    stage2: Stage,
    stage3: Stage,
    hidden: Option<Linear>,
    hidden_norm: Option<LayerNorm>,
    features: i64,
}

/// A convolution, max-pooling that halves height and width, two residual blocks.
#[derive(Debug)]
struct Stage {
    conv: Conv2d,
    norm: Option<LayerNorm>,
    block1: Block,
    block2: Block,
}

/// Two convolutions, each behind a rectified linear unit; what they make is added to what comes in.
#[derive(Debug)]
struct Block {
    conv1: Conv2d,
    norm1: Option<LayerNorm>,
    conv2: Conv2d,
    norm2: Option<LayerNorm>,
}

/// Channels of each stage.
const CHANNELS: [i64; 3] = [16, 32, 32];
const SUMMED_GAIN: f64 = 1.0;

impl ImpalaResNet {
    /// Units of the last layer.
    pub const WIDTH: i64 = 256;

    /// Numbers that each convolution, and the last layer, makes of an image.
    pub(crate) fn outputs(height: usize, width: usize) -> Vec<usize> {
        let mut sides = [height, width];
        let mut outputs = Vec::new();
        for channels in CHANNELS {
            let of_pixels = |[height, width]: [usize; 2]| channels as usize * height * width;
            outputs.push(of_pixels(sides));
            sides = sides.map(|pixels| pixels.div_ceil(2));
            outputs.extend([of_pixels(sides); 4]);
        }
        outputs.push(Self::WIDTH as usize);
        outputs
    }

    /// For images of `[channels, height, width]`; parameters `<scope>stage1` to `stage3` and `hidden`,
    /// with layer normalization a norm behind each convolution and the last layer; `hidden` only if
    /// that layer is the body's.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for images of no pixels.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        scope: &str,
        shape: [i64; 3],
        style: BodyStyle,
    ) -> Result<Self, TrainerError> {
        let [channels, height, width] = shape;
        if shape.contains(&0) {
            return Err(TrainerError::Usage(format!(
                "images of {height}×{width} pixels are too small for the IMPALA network"
            )));
        }
        // Pooling with padding rounds up, three times.
        let inputs = CHANNELS[2] * (height + 7).div_euclid(8) * (width + 7).div_euclid(8);
        let mut stage = |number, channels| {
            Stage::new(
                params,
                &format!("{scope}stage{number}"),
                channels,
                style.layer_norm,
            )
        };
        let mut stage1 = stage(1, (channels, CHANNELS[0]));
        stage1.conv = stage1.conv.of_bytes();
        let stage2 = stage(2, (CHANNELS[0], CHANNELS[1]));
        let stage3 = stage(3, (CHANNELS[1], CHANNELS[2]));
        let last = style.last_layer;
        let (name, gain) = (format!("{scope}hidden"), 2_f64.sqrt());
        Ok(Self {
            stage1,
            stage2,
            stage3,
            hidden: last.then(|| Linear::new(params, &name, inputs, Self::WIDTH, gain)),
            hidden_norm: LayerNorm::behind(params, &name, Self::WIDTH, last && style.layer_norm),
            features: if last { Self::WIDTH } else { inputs },
        })
    }

    /// Numbers that [`ImpalaResNet::forward`] makes of an image.
    #[must_use]
    pub fn features(&self) -> i64 {
        self.features
    }

    /// uint8 `[batch, channels, height, width]` → `[batch, features]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let hidden = self.stage1.forward(&pixels(obs), kind);
        let hidden = self.stage2.forward(&hidden, kind);
        let hidden = self.stage3.forward(&hidden, kind).relu();
        let hidden = hidden.flatten(1, -1);
        match (&self.hidden, &self.hidden_norm) {
            (Some(last), Some(norm)) => norm.forward(&last.forward(&hidden)).relu_(),
            (Some(last), None) => last.rectified(&hidden),
            (None, _) => hidden,
        }
    }
}

impl Stage {
    fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        (inputs, outputs): (i64, i64),
        layer_norm: bool,
    ) -> Self {
        let conv = format!("{name}.conv");
        let block = |params: &mut ParamsBuilder<'_>, number| {
            Block::new(
                params,
                &format!("{name}.block{number}"),
                outputs,
                layer_norm,
            )
        };
        Self {
            conv: Conv2d::new(params, &conv, (inputs, outputs), (3, 1), SUMMED_GAIN).padded(1),
            norm: LayerNorm::behind(params, &conv, outputs, layer_norm),
            block1: block(params, 1),
            block2: block(params, 2),
        }
    }

    /// `[batch, inputs, height, width]` → `[batch, outputs, ⌈height / 2⌉, ⌈width / 2⌉]`.
    fn forward(&self, x: &Tensor, kind: Kind) -> Tensor {
        let x = LayerNorm::apply(self.norm.as_ref(), self.conv.forward(x, kind));
        let x = x.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        self.block2.forward(&self.block1.forward(&x))
    }
}

impl Block {
    fn new(params: &mut ParamsBuilder<'_>, name: &str, channels: i64, layer_norm: bool) -> Self {
        let mut conv = |number, gain| {
            let name = format!("{name}.conv{number}");
            let conv = Conv2d::new(params, &name, (channels, channels), (3, 1), gain).padded(1);
            (conv, LayerNorm::behind(params, &name, channels, layer_norm))
        };
        let (conv1, norm1) = conv(1, 2_f64.sqrt());
        let (conv2, norm2) = conv(2, SUMMED_GAIN);
        Self {
            conv1,
            norm1,
            conv2,
            norm2,
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let kind = x.kind();
        let inner = LayerNorm::apply(self.norm1.as_ref(), self.conv1.forward(&x.relu(), kind));
        x + LayerNorm::apply(self.norm2.as_ref(), self.conv2.forward(&inner.relu(), kind))
    }
}
