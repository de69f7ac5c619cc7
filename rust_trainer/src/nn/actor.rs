//! A deterministic policy: a body and one action for each observation.

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{
    body::{Body, BodyStyle, compute_kind},
    layers::{Activation, Linear},
    params::{Network, Params, ParamsBuilder},
};
use crate::{
    error::TrainerError,
    parallel::ReadOnly,
    settings::{NetSettings, Precision},
};

/// π(observation), an action within the bounds of a `Box`.
#[derive(Debug)]
pub struct Actor {
    /// The weights.
    pub params: Params,
    body: Body,
    policy: Linear,
    /// Half of the distance of the bounds, and their middle, `[dims]`.
    scale: Tensor,
    middle: Tensor,
    compute: Kind,
    action_space: ActionSpace,
}

/// Gain of the last orthogonal weights: all actions start near the middle of their bounds.
const GAIN: f64 = 0.01;

impl Actor {
    /// A freshly initialized network, its weights drawn from `rng`: two hidden layers with rectified linear units, and
    /// a hyperbolic tangent between the bounds. Its parameters are `policy.hidden1`, `policy.hidden2` and `policy`.
    ///
    /// # Errors
    /// As [`Body::new`]; [`TrainerError::Usage`] for images, and for actions that are no `Box` with finite bounds.
    pub fn new(
        spec: &ObsSpec,
        actions: &ActionSpace,
        settings: &NetSettings,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let (scale, middle) = scale_and_middle(actions)?;
        if spec.is_image() {
            return Err(TrainerError::Usage(
                "ddpg and td3 learn from flat observations, and these are images: take ppo or a2c, or obs_type = ram"
                    .to_owned(),
            ));
        }
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let body = Body::new(&mut params, "policy.", spec, settings, STYLE)?;
        let outputs = scale.len() as i64;
        let policy = Linear::new(&mut params, "policy", body.features, outputs, GAIN);
        let on_device = |numbers: &[f32]| Tensor::from_slice(numbers).to_device(device);
        Ok(Self {
            params: params.finish(device),
            body,
            policy,
            scale: on_device(&scale),
            middle: on_device(&middle),
            compute: compute_kind(precision, device),
            action_space: actions.clone(),
        })
    }

    /// The actions that it chooses from.
    #[must_use]
    pub fn action_space(&self) -> &ActionSpace {
        &self.action_space
    }

    /// Half of the distance of the bounds of each number of an action, float32 `[dims]`.
    pub fn scale(&self) -> &Tensor {
        &self.scale
    }

    /// Actions for `obs`, `[batch, ...]` in the environment's own type → float32 `[batch, dims]`.
    pub fn forward(&self, obs: &Tensor) -> Tensor {
        let features = self.body.forward(obs, self.compute).to_kind(Kind::Float);
        let sums = self.policy.forward(&features, Activation::Tanh);
        sums * &self.scale + &self.middle
    }

    /// `actions`, `[batch, dims]`, within their bounds.
    pub fn bounded(&self, actions: &Tensor) -> Tensor {
        let (low, high) = (&self.middle - &self.scale, &self.middle + &self.scale);
        actions.maximum(&low).minimum(&high)
    }
}

/// A body of rectified linear units, for a policy and its critics alike.
pub(super) const STYLE: BodyStyle = BodyStyle {
    rectified: true,
    layer_norm: false,
    last_layer: true,
};

/// Half of the distance of the bounds of each number, and the middle.
fn scale_and_middle(actions: &ActionSpace) -> Result<(Vec<f32>, Vec<f32>), TrainerError> {
    let refused = |problem: &str| {
        Err(TrainerError::Usage(format!(
            "ddpg and td3 need actions that are a Box with finite bounds, and {actions} {problem}"
        )))
    };
    let ActionSpace::Box { low, high, .. } = actions else {
        return refused("is none");
    };
    if !low.iter().chain(high).all(|bound| bound.is_finite()) {
        return refused("has infinite ones");
    }
    let bounds = || low.iter().zip(high);
    let scale = bounds().map(|(low, high)| (high - low) / 2.0).collect();
    let middle = bounds()
        .map(|(low, high)| f32::midpoint(*low, *high))
        .collect();
    Ok((scale, middle))
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors, numbers and lists of them, which only `&mut self` changes.
unsafe impl ReadOnly for Actor {}

impl Network for Actor {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
