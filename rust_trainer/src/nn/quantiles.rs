//! How an implicit quantile network reads the fraction at which it is asked for a quantile (Dabney et al. 2018,
//! "Implicit quantile networks", section 3.1).

use std::f64::consts::{PI, SQRT_2};

use tch::{Kind, Tensor};

use super::{
    layers::{Activation, Linear},
    params::ParamsBuilder,
};

/// A layer of rectified linear units behind `cos(π i τ)`, i = 0, 1, …: what it makes of a fraction τ is multiplied with
/// the features (eq. 4). Dopamine counts from 1: the first cosine here is 1 for every τ, as the bias is.
#[derive(Debug)]
pub struct QuantileEmbedding {
    layer: Linear,
    cosines: i64,
}

impl QuantileEmbedding {
    /// Parameters `quantiles.weight`, `[features, cosines]`, and `quantiles.bias`.
    pub fn new(params: &mut ParamsBuilder<'_>, cosines: i64, features: i64) -> Self {
        Self {
            layer: Linear::new(params, "quantiles", cosines, features, SQRT_2),
            cosines,
        }
    }

    /// `[batch, features]`, and fractions `[batch, quantiles]` or `[1, quantiles]` for all rows →
    /// `[batch · quantiles, features]`, the quantiles of a row one after another.
    pub fn forward(&self, features: &Tensor, fractions: &Tensor) -> Tensor {
        let (rows, quantiles) = fractions.size2().unwrap_or_default();
        let counts = Tensor::arange(self.cosines, (Kind::Float, fractions.device())) * PI;
        let cosines = (fractions.view([-1, 1]) * counts).cos();
        let embedded = self
            .layer
            .forward(&cosines.to_kind(features.kind()), Activation::Relu);
        let embedded = embedded.view([rows, quantiles, -1]);
        (features.unsqueeze(1) * embedded).flatten(0, 1)
    }
}
