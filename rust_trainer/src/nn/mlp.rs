//! The body for flat observations.

use tch::{Kind, Tensor};

use super::{Linear, ParamsBuilder, scaled};

/// Two layers of tanh units.
#[derive(Debug)]
pub struct Mlp {
    hidden1: Linear,
    hidden2: Linear,
    width: i64,
}

impl Mlp {
    /// Layers of `width` units with the parameters `<scope>hidden1` and `<scope>hidden2`.
    pub fn new(params: &mut ParamsBuilder<'_>, scope: &str, inputs: i64, width: i64) -> Self {
        let gain = 2_f64.sqrt();
        let mut layer = |layer: &str, inputs| {
            Linear::new(params, &format!("{scope}{layer}"), inputs, width, gain)
        };
        Self {
            hidden1: layer("hidden1", inputs),
            hidden2: layer("hidden2", width),
            width,
        }
    }

    /// Units in each layer.
    #[must_use]
    pub fn features(&self) -> i64 {
        self.width
    }

    /// `[batch, inputs]`, float32 or uint8 → `[batch, width]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let hidden = self.hidden1.forward(&scaled(obs, kind)).tanh();
        self.hidden2.forward(&hidden).tanh()
    }
}
