//! The body for images: the "Nature" CNN (Mnih et al. 2015).

use tch::{Kind, Tensor};

use super::{BodyStyle, Conv2d, LayerNorm, Linear, ParamsBuilder, pixels};
use crate::error::TrainerError;

/// Three convolutions and a layer of 512, with rectified linear units.
#[derive(Debug)]
pub struct NatureCnn {
    conv1: Conv2d,
    norm1: Option<LayerNorm>,
    conv2: Conv2d,
    norm2: Option<LayerNorm>,
    conv3: Conv2d,
    norm3: Option<LayerNorm>,
    hidden: Option<Linear>,
    hidden_norm: Option<LayerNorm>,
    features: i64,
}

/// Kernel size and stride of each convolution.
const CONV1: (i64, i64) = (8, 4);
const CONV2: (i64, i64) = (4, 2);
const CONV3: (i64, i64) = (3, 1);
/// Channels behind each.
const CHANNELS: [usize; 3] = [32, 64, 64];

/// Pixels of a side behind each convolution, as far as they are enough for it.
fn behind_each(pixels: i64) -> [Option<i64>; 3] {
    let mut left = Some(pixels);
    [CONV1, CONV2, CONV3].map(|(kernel, stride)| {
        let before = left.filter(|&pixels| pixels >= kernel);
        left = before.map(|pixels| (pixels - kernel) / stride + 1);
        left
    })
}

impl NatureCnn {
    /// Units of the last layer.
    pub const WIDTH: i64 = 512;

    /// Numbers that each layer makes of an image.
    pub(crate) fn outputs(height: usize, width: usize) -> Vec<usize> {
        let sides = [height, width].map(|pixels| behind_each(pixels as i64));
        let of_layer = |layer: usize| {
            let pixels = sides.map(|side| side[layer].unwrap_or(0) as usize);
            CHANNELS[layer] * pixels[0] * pixels[1]
        };
        let convolutions = (0..CHANNELS.len()).map(of_layer);
        convolutions.chain([Self::WIDTH as usize]).collect()
    }

    /// For images of `[channels, height, width]`; parameters `<scope>conv1` to `conv3` and `hidden`,
    /// with layer normalization a norm behind each of them; `hidden` only if the last layer is the body's.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for images too small for the convolutions.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        scope: &str,
        shape: [i64; 3],
        style: BodyStyle,
    ) -> Result<Self, TrainerError> {
        let [channels, height, width] = shape;
        let left = |pixels| behind_each(pixels)[2];
        let (Some(rows), Some(columns)) = (left(height), left(width)) else {
            return Err(TrainerError::Usage(format!(
                "images of {height}×{width} pixels are too small for the Nature CNN"
            )));
        };
        let mut conv = |number, channels, kernel| {
            let name = format!("{scope}conv{number}");
            let conv = Conv2d::new(params, &name, channels, kernel, 2_f64.sqrt());
            (
                conv,
                LayerNorm::behind(params, &name, channels.1, style.layer_norm),
            )
        };
        let (conv1, norm1) = conv(1, (channels, 32), CONV1);
        let conv1 = conv1.of_bytes();
        let (conv2, norm2) = conv(2, (32, 64), CONV2);
        let (mut conv3, norm3) = conv(3, (64, 64), CONV3);
        if norm3.is_none() {
            conv3 = conv3.channels_first();
        }
        let last = style.last_layer;
        let (name, inputs) = (format!("{scope}hidden"), 64 * rows * columns);
        Ok(Self {
            conv1,
            norm1,
            conv2,
            norm2,
            conv3,
            norm3,
            hidden: last.then(|| Linear::new(params, &name, inputs, Self::WIDTH, 2_f64.sqrt())),
            hidden_norm: LayerNorm::behind(params, &name, Self::WIDTH, last && style.layer_norm),
            features: if last { Self::WIDTH } else { inputs },
        })
    }

    /// Numbers that [`NatureCnn::forward`] makes of an image.
    #[must_use]
    pub fn features(&self) -> i64 {
        self.features
    }

    /// uint8 `[batch, channels, height, width]` → `[batch, features]`, computed in `kind`.
    ///
    /// Units without a norm before them are computed with their layer, the others in the memory of what
    /// they are given: nothing else needs it, and memory got anew takes longer than they do.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let units = |conv: &Conv2d, norm: &Option<LayerNorm>, x: &Tensor| match norm {
            Some(norm) => norm.forward(&conv.forward(x, kind)).relu_(),
            None => conv.rectified(x, kind),
        };
        let hidden = units(&self.conv1, &self.norm1, &pixels(obs));
        let hidden = units(&self.conv2, &self.norm2, &hidden);
        let hidden = units(&self.conv3, &self.norm3, &hidden);
        let hidden = hidden.flatten(1, -1);
        match (&self.hidden, &self.hidden_norm) {
            (Some(last), Some(norm)) => norm.forward(&last.forward(&hidden)).relu_(),
            (Some(last), None) => last.rectified(&hidden),
            (None, _) => hidden,
        }
    }
}
