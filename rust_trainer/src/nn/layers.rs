//! Layers with weights. Each computes in the type of its input, whatever the type of its weights.

use learner_kernels::{Convolution, TrunkShape};
use tch::{Device, Kind, Tensor, utils};

use super::{convolution::convolved, params::ParamsBuilder};

/// What follows the sums of a layer and their norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    None,
    /// Rectified linear units.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// `sums` through the norm, where there is one, and the activation: rectified in their own memory, for nothing
    /// else needs it, and memory got anew takes longer than the units do.
    fn behind(self, norm: Option<&LayerNorm>, sums: Tensor) -> Tensor {
        let mut y = match norm {
            Some(norm) => norm.forward(&sums),
            None => sums,
        };
        match self {
            Self::None => y,
            Self::Relu => y.relu_(),
            Self::Tanh => y.tanh(),
        }
    }
}

/// `x · Wᵀ + b`.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Tensor,
    norm: Option<LayerNorm>,
}

impl Linear {
    /// Weights `<name>.weight`, `[outputs, inputs]`, and a bias `<name>.bias`; `gain` is that of orthogonal weights.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        inputs: i64,
        outputs: i64,
        gain: f64,
    ) -> Self {
        Self {
            weight: params.weight(&format!("{name}.weight"), &[outputs, inputs], inputs, gain),
            bias: params.bias(&format!("{name}.bias"), outputs, inputs),
            norm: None,
        }
    }

    /// The same with layer normalization `<name>_norm` behind it, if that is `wanted`; to be said before another
    /// layer is made.
    #[must_use]
    pub fn normed(mut self, params: &mut ParamsBuilder<'_>, name: &str, wanted: bool) -> Self {
        let outputs = self.bias.numel() as i64;
        self.norm = wanted.then(|| LayerNorm::new(params, &format!("{name}_norm"), outputs));
        self
    }

    /// Weight and bias, and behind them scale and shift of the norm, where there is one.
    pub(super) fn weights(&self) -> Vec<Tensor> {
        with_norm([&self.weight, &self.bias], self.norm.as_ref())
    }

    /// `[batch, inputs]` → `[batch, outputs]`.
    pub fn forward(&self, x: &Tensor, activation: Activation) -> Tensor {
        let rectified = self.norm.is_none() && activation == Activation::Relu;
        let sums = match self.by_kernel(x, rectified) {
            Some(y) if rectified => return y,
            Some(sums) => sums,
            None => self.by_libtorch(x),
        };
        activation.behind(self.norm.as_ref(), sums)
    }

    /// A large layer: its rows as the pixels of one image.
    fn by_kernel(&self, x: &Tensor, rectified: bool) -> Option<Tensor> {
        let &[rows, inputs] = x.size().as_slice() else {
            return None;
        };
        if !self.is_large() {
            return None;
        }
        let conv = Convolution {
            images: 1,
            height: 1,
            width: rows as usize,
            channels: inputs as usize,
            kernel: 1,
            stride: 1,
            outputs: self.bias.numel(),
            rectified,
            channels_first: false,
        };
        let pixels = x.view([1, 1, rows, inputs]);
        let y = convolved(&conv, &pixels, [&self.weight, &self.bias], x.kind())?;
        Some(y.view([rows, -1]))
    }

    /// By oneDNN by name where that pays: libtorch gives float32 products to MKL, which on processors that are not
    /// Intel's reaches 84 GFLOP/s a core where oneDNN reaches 150 to 200. Convolutions and bfloat16 go there by
    /// themselves; with few rows, what passing them over takes is not earned back.
    fn by_libtorch(&self, x: &Tensor) -> Tensor {
        const ROWS: i64 = 64;
        let kind = x.kind();
        if kind == Kind::Float
            && x.device() == Device::Cpu
            && x.size()[0] >= ROWS
            && self.is_large()
            && utils::has_mkldnn()
        {
            let product = x.g_to_mkldnn(Kind::Float);
            let product = product.mkldnn_linear(&self.weight, Some(&self.bias));
            return product.to_dense(Kind::Float, false);
        }
        x.linear(&self.weight.to_kind(kind), Some(&self.bias.to_kind(kind)))
    }

    fn is_large(&self) -> bool {
        self.weight.numel() >= 1 << 16
    }
}

fn with_norm(weights: [&Tensor; 2], norm: Option<&LayerNorm>) -> Vec<Tensor> {
    let of_norm = norm.map(|norm| [&norm.weight, &norm.bias]);
    let all = weights.into_iter().chain(of_norm.into_iter().flatten());
    all.map(Tensor::shallow_clone).collect()
}

/// A convolution with square kernels.
#[derive(Debug)]
pub struct Conv2d {
    weight: Tensor,
    bias: Tensor,
    norm: Option<LayerNorm>,
    stride: i64,
    padding: i64,
    channels_first: bool,
}

impl Conv2d {
    /// Weights `<name>.weight`, `[outputs, inputs, kernel, kernel]`, and a bias `<name>.bias`; `gain` is that
    /// of orthogonal weights.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        (inputs, outputs): (i64, i64),
        (kernel, stride): (i64, i64),
        gain: f64,
    ) -> Self {
        let shape = [outputs, inputs, kernel, kernel];
        let fan_in = inputs * kernel * kernel;
        Self {
            weight: params.weight(&format!("{name}.weight"), &shape, fan_in, gain),
            bias: params.bias(&format!("{name}.bias"), outputs, fan_in),
            norm: None,
            stride,
            padding: 0,
            channels_first: false,
        }
    }

    /// As [`Linear::normed`].
    #[must_use]
    pub fn normed(mut self, params: &mut ParamsBuilder<'_>, name: &str, wanted: bool) -> Self {
        let outputs = self.bias.numel() as i64;
        self.norm = wanted.then(|| LayerNorm::new(params, &format!("{name}_norm"), outputs));
        self
    }

    /// The same with `padding` zeros on each side of the input.
    #[must_use]
    pub fn padded(self, padding: i64) -> Self {
        Self { padding, ..self }
    }

    /// The same with outputs that lie channels first in memory where that costs nothing, for who flattens
    /// them.
    #[must_use]
    pub fn channels_first(self) -> Self {
        Self {
            channels_first: true,
            ..self
        }
    }

    /// Weight and bias, and behind them scale and shift of the norm, where there is one.
    pub(super) fn weights(&self) -> Vec<Tensor> {
        with_norm([&self.weight, &self.bias], self.norm.as_ref())
    }

    /// `[batch, inputs, height, width]` → `[batch, outputs, ...]`, computed in `kind`, in the memory layout
    /// of `x` where nothing else was said. Bytes count as 0 to 1: the weights are divided by 255, not the numbers, of
    /// which there are a thousand times as many.
    pub fn forward(&self, x: &Tensor, kind: Kind, activation: Activation) -> Tensor {
        let rectified = self.norm.is_none() && activation == Activation::Relu;
        let sums = match self.by_kernel(x, kind, rectified) {
            Some(y) if rectified => return y,
            Some(sums) => sums,
            None => self.by_libtorch(x, kind),
        };
        activation.behind(self.norm.as_ref(), sums)
    }

    fn by_kernel(&self, x: &Tensor, kind: Kind, rectified: bool) -> Option<Tensor> {
        if self.padding > 0 {
            return None;
        }
        let pixels = x.permute([0, 2, 3, 1]);
        let lengths = pixels.size();
        let [images, height, width, channels] =
            [0, 1, 2, 3].map(|axis: usize| lengths[axis] as usize);
        let conv = Convolution {
            images,
            height,
            width,
            channels,
            kernel: self.weight.size()[2] as usize,
            stride: self.stride as usize,
            outputs: self.bias.numel(),
            rectified,
            channels_first: self.channels_first && self.norm.is_none(),
        };
        let weights = [&self.weight, &self.bias];
        let y = convolved(&conv, &pixels, weights, kind)?;
        Some(if conv.channels_first {
            y
        } else {
            y.permute([0, 3, 1, 2])
        })
    }

    fn by_libtorch(&self, x: &Tensor, kind: Kind) -> Tensor {
        let weight = if x.kind() == Kind::Uint8 {
            (&self.weight / 255.0).to_kind(kind)
        } else {
            self.weight.to_kind(kind)
        };
        let (x, bias) = (x.to_kind(kind), self.bias.to_kind(kind));
        x.conv2d(&weight, Some(&bias), self.stride, self.padding, 1, 1)
    }
}

/// Layer normalization over axis 1, with a scale and a shift for each of its places (Ba et al. 2016).
///
/// Over features for `[batch, features]`, and over the channels of each pixel for
/// `[batch, channels, height, width]`, as `flax.linen.LayerNorm` has it and so PQN as published; `CleanRL`'s
/// PQN takes all pixels of an image together, with a scale for each of them.
#[derive(Debug)]
pub struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
}

impl LayerNorm {
    /// Added to the variance under the root; flax's.
    pub const EPS: f64 = TrunkShape::EPS;

    /// Parameters `<name>.weight`, ones, and `<name>.bias`, zeros.
    pub fn new(params: &mut ParamsBuilder<'_>, name: &str, features: i64) -> Self {
        Self {
            weight: params.constant(&format!("{name}.weight"), &[features], 1.0),
            bias: params.constant(&format!("{name}.bias"), &[features], 0.0),
        }
    }

    /// `[batch, features, ...]` → the same shape and type, in the memory layout of `x`.
    ///
    /// Computed in float32 whatever the type: libtorch adds up the gradients of scale and shift in the type of `x`,
    /// and a sum of bfloat16 stands still behind a few hundred rows. Of 51,200 rows, those of 128 images, the
    /// shift's was off by 89 % of its length; float32 takes no longer.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        // Free where channels come last in memory, as everywhere here.
        let features_last = x.movedim_int(1, -1).to_kind(Kind::Float);
        let (weight, bias) = (Some(&self.weight), Some(&self.bias));
        let features = [self.weight.numel() as i64];
        let normed = features_last.layer_norm(features, weight, bias, Self::EPS, true);
        normed.to_kind(x.kind()).movedim_int(-1, 1)
    }
}
