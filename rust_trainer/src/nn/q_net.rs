//! A network of action values: a body and a linear head.

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{Body, BodyStyle, Linear, Params, ParamsBuilder, compute_kind};
use crate::{
    error::TrainerError,
    settings::{NetSettings, Precision},
};

/// Q(observation, action) for every action.
#[derive(Debug)]
pub struct QNet {
    /// The weights.
    pub params: Params,
    body: Body,
    head: Linear,
    compute: Kind,
}

impl QNet {
    /// A freshly initialized network, its weights drawn from `rng`: a body with rectified linear units,
    /// with `layer_norm` a norm behind each of its layers, and a head `q` that starts orthogonal with
    /// gain 1.
    ///
    /// # Errors
    /// As [`Body::new`]; [`TrainerError::Usage`] for actions that are not discrete.
    pub fn new(
        spec: &ObsSpec,
        actions: &ActionSpace,
        settings: &NetSettings,
        layer_norm: bool,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let ActionSpace::Discrete { n: num_actions } = actions else {
            return Err(TrainerError::Usage(format!(
                "no action values for the actions {actions:?}: they must be Discrete"
            )));
        };
        let mut params = ParamsBuilder::new(rng);
        let style = BodyStyle {
            rectified: true,
            layer_norm,
        };
        let body = Body::new(&mut params, "", spec, settings, style)?;
        let head = Linear::new(&mut params, "q", body.features(), *num_actions, 1.0);
        Ok(Self {
            params: params.finish(device),
            body,
            head,
            compute: compute_kind(precision),
        })
    }

    /// Action values of `obs`, `[batch, ...]` in the environment's own type → float32
    /// `[batch, num_actions]`. The head is computed in float32 whatever the precision.
    pub fn forward(&self, obs: &Tensor) -> Tensor {
        let features = self.body.forward(obs, self.compute);
        self.head.forward(&features.to_kind(Kind::Float))
    }
}
