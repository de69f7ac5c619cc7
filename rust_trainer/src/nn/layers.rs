//! Layers with weights. Each computes in the type of its input, whatever the type of its weights.

use tch::{Device, Kind, Tensor, utils};

use super::{
    ParamsBuilder,
    convolution::{Convolution, convolved},
};

/// From how many weights on a layer is large.
const WEIGHTS: usize = 1 << 16;

/// `x · Wᵀ + b`.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Tensor,
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
        }
    }

    /// `[batch, inputs]` → `[batch, outputs]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.computed(x, false)
    }

    /// The same through rectified linear units.
    pub fn rectified(&self, x: &Tensor) -> Tensor {
        self.computed(x, true)
    }

    fn computed(&self, x: &Tensor, rectified: bool) -> Tensor {
        let kind = x.kind();
        if let Some(y) = self.as_convolution(x, rectified) {
            return y;
        }
        let mut y = if self.suits_onednn(x) {
            let product = x.g_to_mkldnn(Kind::Float);
            let product = product.mkldnn_linear(&self.weight, Some(&self.bias));
            product.to_dense(Kind::Float, false)
        } else {
            x.linear(&self.weight.to_kind(kind), Some(&self.bias.to_kind(kind)))
        };
        if rectified { y.relu_() } else { y }
    }

    /// A large layer: its rows as the pixels of one image.
    fn as_convolution(&self, x: &Tensor, rectified: bool) -> Option<Tensor> {
        let &[rows, inputs] = x.size().as_slice() else {
            return None;
        };
        if self.weight.numel() < WEIGHTS {
            return None;
        }
        let conv = Convolution {
            kernel: 1,
            stride: 1,
            of_bytes: false,
            rectified,
            channels_first: false,
        };
        let pixels = x.view([1, 1, rows, inputs]).permute([0, 3, 1, 2]);
        let y = convolved(&conv, &pixels, (&self.weight, &self.bias), x.kind())?;
        Some(y.permute([0, 2, 3, 1]).view([rows, -1]))
    }

    /// Whether oneDNN is asked by name: libtorch gives float32 products to MKL, which on processors that
    /// are not Intel's reaches 84 GFLOP/s a core where oneDNN reaches 150 to 200. Convolutions and
    /// bfloat16 go there by themselves; with few rows, what passing them over takes is not earned back.
    fn suits_onednn(&self, x: &Tensor) -> bool {
        const ROWS: i64 = 64;
        x.kind() == Kind::Float
            && x.device() == Device::Cpu
            && x.size()[0] >= ROWS
            && self.weight.numel() >= WEIGHTS
            && utils::has_mkldnn()
    }
}

/// A convolution with square kernels.
#[derive(Debug)]
pub struct Conv2d {
    weight: Tensor,
    bias: Tensor,
    stride: i64,
    padding: i64,
    of_bytes: bool,
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
            stride,
            padding: 0,
            of_bytes: false,
            channels_first: false,
        }
    }

    /// The same with `padding` zeros on each side of the input.
    #[must_use]
    pub fn padded(self, padding: i64) -> Self {
        Self { padding, ..self }
    }

    /// The same for numbers from 0 to 255 that count as 0 to 1: the weights are divided, not the
    /// numbers, of which there are a thousand times as many.
    #[must_use]
    pub fn of_bytes(self) -> Self {
        Self {
            of_bytes: true,
            ..self
        }
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

    /// `[batch, inputs, height, width]` → `[batch, outputs, ...]`, computed in `kind`, in the memory layout
    /// of `x` where nothing else was said.
    pub fn forward(&self, x: &Tensor, kind: Kind) -> Tensor {
        self.computed(x, kind, false)
    }

    /// The same through rectified linear units.
    pub fn rectified(&self, x: &Tensor, kind: Kind) -> Tensor {
        self.computed(x, kind, true)
    }

    fn computed(&self, x: &Tensor, kind: Kind, rectified: bool) -> Tensor {
        if self.padding == 0 {
            let conv = Convolution {
                kernel: self.weight.size()[2],
                stride: self.stride,
                of_bytes: self.of_bytes,
                rectified,
                channels_first: self.channels_first,
            };
            if let Some(y) = convolved(&conv, x, (&self.weight, &self.bias), kind) {
                return y;
            }
        }
        let weight = if self.of_bytes {
            (&self.weight / 255.0).to_kind(kind)
        } else {
            self.weight.to_kind(kind)
        };
        let (x, bias) = (x.to_kind(kind), self.bias.to_kind(kind));
        let mut y = x.conv2d(&weight, Some(&bias), self.stride, self.padding, 1, 1);
        if rectified { y.relu_() } else { y }
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
    pub const EPS: f64 = 1e-6;

    /// Parameters `<name>.weight`, ones, and `<name>.bias`, zeros.
    pub fn new(params: &mut ParamsBuilder<'_>, name: &str, features: i64) -> Self {
        Self {
            weight: params.ones(&format!("{name}.weight"), features),
            bias: params.zeros(&format!("{name}.bias"), features),
        }
    }

    /// The norm behind the layer of this name, `<layer>_norm`, if one is `wanted`.
    pub(super) fn behind(
        params: &mut ParamsBuilder<'_>,
        layer: &str,
        features: i64,
        wanted: bool,
    ) -> Option<Self> {
        wanted.then(|| Self::new(params, &format!("{layer}_norm"), features))
    }

    /// `x` through the norm, where there is one.
    pub(super) fn apply(norm: Option<&Self>, x: Tensor) -> Tensor {
        match norm {
            Some(norm) => norm.forward(&x),
            None => x,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::seeded_rng;

    /// The layer beside the formula in float64: of a size for our kernels and of one for libtorch's, on both
    /// sides of the numbers of rows from which it is computed otherwise. One row of libtorch's was seen to be
    /// off by 1.1e-6.
    #[test]
    fn a_large_linear_layer_and_its_gradients_are_exact_for_any_number_of_rows() {
        for (inputs, outputs) in [(320, 416), (300, 400)] {
            for rows in [1, 16, 17, 63, 64, 200] {
                let difference = largest_difference(inputs, outputs, rows);
                assert!(
                    difference < 2e-6,
                    "{rows} rows of {inputs}: off by {difference}"
                );
            }
        }
    }

    /// Of as many rows as a minibatch has pixels: sums of bfloat16 stood still.
    #[test]
    fn gradients_of_a_norm_are_exact_for_many_rows_in_bfloat16() {
        const CHANNELS: i64 = 32;
        let mut rng = seeded_rng(1);
        let mut params = ParamsBuilder::new(&mut rng);
        let norm = LayerNorm::new(&mut params, "norm", CHANNELS);
        let params = params.finish(Device::Cpu);
        let normal = |mean: f64| {
            let numbers = Tensor::randn([20_000, CHANNELS], (Kind::Float, Device::Cpu));
            (numbers + mean).to_kind(Kind::BFloat16)
        };
        let (x, of_y) = (normal(0.0), normal(0.2));
        let y = norm.forward(&x);
        assert_eq!(y.kind(), Kind::BFloat16);
        let ours = params.gradient(&(y.to_kind(Kind::Float) * &of_y).sum(Kind::Float));

        let (x, of_y) = (x.to_kind(Kind::Double), of_y.to_kind(Kind::Double));
        let centered = &x - x.mean_dim(1, true, Kind::Double);
        let variance = centered.square().mean_dim(1, true, Kind::Double);
        let normed = centered / (variance + LayerNorm::EPS).sqrt();
        let sums = |tensor: Tensor| tensor.sum_dim_intlist(0, false, Kind::Double);
        let theirs = Tensor::cat(&[sums(normed * &of_y), sums(of_y)], 0);
        let difference = (ours - &theirs).abs().max() / theirs.abs().max();
        let difference = difference.double_value(&[]);
        assert!(difference < 1e-5, "off by {difference:e}");
    }

    /// The largest of the output's and the gradients' differences, each beside the largest number there.
    fn largest_difference(inputs: i64, outputs: i64, rows: i64) -> f64 {
        let mut rng = seeded_rng(1);
        let mut params = ParamsBuilder::new(&mut rng);
        let layer = Linear::new(&mut params, "layer", inputs, outputs, 1.0);
        let params = params.finish(Device::Cpu);
        let normal = |columns| Tensor::randn([rows, columns], (Kind::Float, Device::Cpu));
        let (x, weights) = (normal(inputs).set_requires_grad(true), normal(outputs));
        let output = layer.forward(&x);
        let loss = (&output * &weights).sum(Kind::Float);
        let of_x = Tensor::run_backward(&[&loss], &[&x], true, false).remove(0);
        let of_params = params.gradient(&loss);

        let double = |tensor: &Tensor| tensor.detach().to_kind(Kind::Double);
        let (w, x, g) = (double(&layer.weight), double(&x), double(&weights));
        let expected = [
            (output, x.matmul(&w.tr()) + double(&layer.bias)),
            (of_x, g.matmul(&w)),
            (
                of_params,
                Tensor::cat(
                    &[
                        g.tr().matmul(&x).flatten(0, 1),
                        g.sum_dim_intlist(0, false, None),
                    ],
                    0,
                ),
            ),
        ];
        let difference = |(ours, theirs): (Tensor, Tensor)| {
            let difference = (double(&ours) - &theirs).abs().max() / theirs.abs().max();
            difference.double_value(&[])
        };
        expected.map(difference).into_iter().fold(0.0, f64::max)
    }
}
