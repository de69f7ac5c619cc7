//! Critics of continuous actions: what an observation and an action are worth together, one opinion or several.

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{
    actor::STYLE,
    body::{Body, compute_kind},
    layers::{Activation, Linear},
    params::{Network, Params, ParamsBuilder},
};
use crate::{
    error::TrainerError,
    parallel::ReadOnly,
    settings::{NetSettings, Precision},
};

/// Q(observation, action), by networks that share nothing.
#[derive(Debug)]
pub struct Critics {
    /// The weights of all.
    pub params: Params,
    /// Their bodies and last layers.
    layers: Vec<(Body, Linear)>,
    compute: Kind,
}

const VALUE_GAIN: f64 = 1.0;

impl Critics {
    /// `count` freshly initialized networks, their weights drawn from `rng`: observation and action go side by side into
    /// two hidden layers. Their parameters are `q1.hidden1`, `q1.hidden2` and `q1`, and so on.
    ///
    /// # Errors
    /// As [`Body::new`].
    pub fn new(
        count: usize,
        (spec, actions): (&ObsSpec, &ActionSpace),
        settings: &NetSettings,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let mut both = spec.clone();
        if let (ActionSpace::Box { low, .. }, [numbers]) = (actions, both.shape.as_mut_slice()) {
            *numbers += low.len();
        }
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let layers = (1..=count).map(|number| {
            let name = format!("q{number}");
            let body = Body::new(&mut params, &format!("{name}."), &both, settings, STYLE)?;
            let value = Linear::new(&mut params, &name, body.features, 1, VALUE_GAIN);
            Ok((body, value))
        });
        let layers = layers.collect::<Result<_, TrainerError>>()?;
        Ok(Self {
            params: params.finish(device),
            layers,
            compute: compute_kind(precision, device),
        })
    }

    /// What each critic says of `obs`, `[batch, numbers]`, with `actions`, float32 `[batch, dims]` → float32 `[batch]`
    /// each.
    #[must_use]
    pub fn forward(&self, obs: &Tensor, actions: &Tensor) -> Vec<Tensor> {
        let both = joined(obs, actions);
        let layers = self.layers.iter();
        layers.map(|layers| self.value(layers, &both)).collect()
    }

    /// The same of the first critic alone.
    pub fn first(&self, obs: &Tensor, actions: &Tensor) -> Tensor {
        self.value(&self.layers[0], &joined(obs, actions))
    }

    fn value(&self, (body, value): &(Body, Linear), both: &Tensor) -> Tensor {
        let features = body.forward(both, self.compute).to_kind(Kind::Float);
        value.forward(&features, Activation::None).squeeze_dim(-1)
    }
}

/// Observations, bytes as 0 to 1, and actions side by side.
fn joined(obs: &Tensor, actions: &Tensor) -> Tensor {
    let numbers = obs.to_kind(Kind::Float);
    let is_bytes = obs.kind() == Kind::Uint8;
    let numbers = if is_bytes { numbers / 255.0 } else { numbers };
    Tensor::cat(&[&numbers, actions], 1)
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors, numbers and lists of them, which only `&mut self` changes.
unsafe impl ReadOnly for Critics {}

impl Network for Critics {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
