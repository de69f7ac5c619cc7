//! Layers with weights. Each computes in the type of its input, whatever the type of its weights.

use tch::Tensor;

use super::ParamsBuilder;

/// `x · Wᵀ + b`.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    /// Weights `<name>.weight`, `[outputs, inputs]`, orthogonal times `gain`; a bias `<name>.bias` of zeros.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        inputs: i64,
        outputs: i64,
        gain: f64,
    ) -> Self {
        Self {
            weight: params.orthogonal(&format!("{name}.weight"), &[outputs, inputs], gain),
            bias: params.zeros(&format!("{name}.bias"), outputs),
        }
    }

    /// `[batch, inputs]` → `[batch, outputs]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let kind = x.kind();
        x.linear(&self.weight.to_kind(kind), Some(&self.bias.to_kind(kind)))
    }
}

/// A convolution with square kernels and without padding.
#[derive(Debug)]
pub struct Conv2d {
    weight: Tensor,
    bias: Tensor,
    stride: i64,
}

impl Conv2d {
    /// Weights `<name>.weight`, `[outputs, inputs, kernel, kernel]`, orthogonal times `gain`; a bias
    /// `<name>.bias` of zeros.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        (inputs, outputs): (i64, i64),
        (kernel, stride): (i64, i64),
        gain: f64,
    ) -> Self {
        let shape = [outputs, inputs, kernel, kernel];
        Self {
            weight: params.orthogonal(&format!("{name}.weight"), &shape, gain),
            bias: params.zeros(&format!("{name}.bias"), outputs),
            stride,
        }
    }

    /// `[batch, inputs, height, width]` → `[batch, outputs, ...]`, in the memory layout of `x`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let kind = x.kind();
        let (weight, bias) = (self.weight.to_kind(kind), self.bias.to_kind(kind));
        x.conv2d(&weight, Some(&bias), self.stride, 0, 1, 1)
    }
}
