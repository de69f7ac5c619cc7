//! The body for flat observations.

use tch::{Kind, Tensor};

use super::{BodyStyle, LayerNorm, Linear, ParamsBuilder, scaled};

/// Two hidden layers.
#[derive(Debug)]
pub struct Mlp {
    hidden1: Linear,
    norm1: Option<LayerNorm>,
    hidden2: Option<Linear>,
    norm2: Option<LayerNorm>,
    width: i64,
    rectified: bool,
}

impl Mlp {
    /// Layers of `width` units with the parameters `<scope>hidden1` and `<scope>hidden2`, the second one
    /// only if the last layer is the body's.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        scope: &str,
        (inputs, width): (i64, i64),
        style: BodyStyle,
    ) -> Self {
        let mut layer = |number, inputs| {
            let name = format!("{scope}hidden{number}");
            let layer = Linear::new(params, &name, inputs, width, 2_f64.sqrt());
            (
                layer,
                LayerNorm::behind(params, &name, width, style.layer_norm),
            )
        };
        let (hidden1, norm1) = layer(1, inputs);
        let (hidden2, norm2) = style.last_layer.then(|| layer(2, width)).unzip();
        Self {
            hidden1,
            norm1,
            hidden2,
            norm2: norm2.flatten(),
            width,
            rectified: style.rectified,
        }
    }

    /// Units in each layer.
    #[must_use]
    pub fn features(&self) -> i64 {
        self.width
    }

    /// `[batch, inputs]`, float32 or uint8 → `[batch, width]`, computed in `kind`.
    pub fn forward(&self, obs: &Tensor, kind: Kind) -> Tensor {
        let units = |norm: &Option<LayerNorm>, x| {
            let x = LayerNorm::apply(norm.as_ref(), x);
            if self.rectified { x.relu() } else { x.tanh() }
        };
        let hidden = units(&self.norm1, self.hidden1.forward(&scaled(obs, kind)));
        match &self.hidden2 {
            Some(last) => units(&self.norm2, last.forward(&hidden)),
            None => hidden,
        }
    }
}
