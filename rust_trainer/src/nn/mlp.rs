//! The body for flat observations.

use tch::{Kind, Tensor};

use super::{Linear, ParamsBuilder, scaled};

/// Two layers of 64 tanh units.
#[derive(Debug)]
pub struct Mlp {
    hidden1: Linear,
    hidden2: Linear,
}

impl Mlp {
    /// Numbers in the last layer.
    pub const FEATURES: i64 = 64;

    /// Parameters `<name>.hidden1` and `<name>.hidden2`.
    pub fn new(params: &mut ParamsBuilder<'_>, name: &str, inputs: i64) -> Self {
        let gain = 2_f64.sqrt();
        let mut layer = |layer: &str, inputs| {
            Linear::new(
                params,
                &format!("{name}.{layer}"),
                inputs,
                Self::FEATURES,
                gain,
            )
        };
        Self {
            hidden1: layer("hidden1", inputs),
            hidden2: layer("hidden2", Self::FEATURES),
        }
    }

    /// `[batch, inputs]`, float32 or uint8 → `[batch, 64]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let hidden = self.hidden1.forward(&scaled(obs, kind)).tanh();
        self.hidden2.forward(&hidden).tanh()
    }
}
