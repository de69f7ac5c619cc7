//! Policies that learn from critics: a body, and one action for each observation, or the logits of discrete ones.

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

/// π(observation), an action within the bounds of a `Box`, or a softmax over discrete actions; of one agent, or of each of
/// those whose rows stand side by side.
#[derive(Debug)]
pub struct Actor {
    /// The weights.
    pub params: Params,
    /// The body and the last layer of each agent.
    nets: Vec<(Body, Linear)>,
    /// Half of the distance of the bounds, and their middle, `[dims]`; none where actions are discrete.
    bounds: Option<(Tensor, Tensor)>,
    compute: Kind,
    action_space: ActionSpace,
}

/// Gain of the last orthogonal weights: all actions start near the middle of their bounds.
const GAIN: f64 = 0.01;

impl Actor {
    /// A freshly initialized network, its weights drawn from `rng`: two hidden layers with rectified linear units, and
    /// a hyperbolic tangent between the bounds. Its parameters are `policy.hidden1`, `policy.hidden2` and `policy`; those of
    /// several agents begin with `agent0.` and so on.
    ///
    /// # Errors
    /// As [`Body::new`]; [`TrainerError::Usage`] for images, and for actions that are no `Box` with finite bounds nor, with
    /// `discrete`, discrete.
    pub fn new(
        spec: &ObsSpec,
        actions: &ActionSpace,
        Agents { count, discrete }: Agents,
        settings: &NetSettings,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let on_device = |numbers: &[f32]| Tensor::from_slice(numbers).to_device(device);
        let (bounds, outputs) = match actions {
            ActionSpace::Discrete { n } if discrete => (None, *n),
            _ => {
                let (scale, middle) = scale_and_middle(actions)?;
                let bounds = (on_device(&scale), on_device(&middle));
                (Some(bounds), scale.len() as i64)
            }
        };
        if spec.is_image() {
            return Err(TrainerError::Usage(
                "ddpg, td3 and maddpg learn from flat observations, and these are images: take ppo or a2c, or \
                 obs_type = ram"
                    .to_owned(),
            ));
        }
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let nets = (0..count).map(|agent| {
            params.begin_agent(agent, count);
            let body = Body::new(&mut params, "policy.", spec, settings, STYLE)?;
            let policy = Linear::new(&mut params, "policy", body.features, outputs, GAIN);
            Ok((body, policy))
        });
        let nets = nets.collect::<Result<_, TrainerError>>()?;
        Ok(Self {
            params: params.finish(device),
            nets,
            bounds,
            compute: compute_kind(precision, device),
            action_space: actions.clone(),
        })
    }

    /// The actions that it chooses from.
    #[must_use]
    pub fn action_space(&self) -> &ActionSpace {
        &self.action_space
    }

    /// Half of the distance of the bounds of each number of an action, float32 `[dims]`; `None` where actions are discrete.
    #[must_use]
    pub fn scale(&self) -> Option<&Tensor> {
        self.bounds.as_ref().map(|(scale, _)| scale)
    }

    /// Numbers that an action of an agent has for a critic: those of a `Box`, or one for each discrete action.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.action_space {
            ActionSpace::Box { low, .. } => low.len(),
            space => space.num_actions() as usize,
        }
    }

    /// Actions for `obs`, `[rows, ...]` in the environment's own type → float32 `[rows, dims]`; of discrete actions the
    /// logits, `[rows, n]`.
    pub fn forward(&self, obs: &Tensor) -> Tensor {
        let count = self.nets.len() as i64;
        let said = |(body, policy): &(Body, Linear), obs: &Tensor| {
            let features = body.forward(obs, self.compute).to_kind(Kind::Float);
            match &self.bounds {
                None => policy.forward(&features, Activation::None),
                Some((scale, middle)) => {
                    policy.forward(&features, Activation::Tanh) * scale + middle
                }
            }
        };
        if let [net] = self.nets.as_slice() {
            return said(net, obs);
        }
        let of_agents = self.nets.iter().zip(0..);
        let of_agents = of_agents.map(|(net, agent)| said(net, &rows_of_agent(obs, agent, count)));
        let of_agents = Tensor::stack(&of_agents.collect::<Vec<_>>(), 1);
        of_agents.flatten(0, 1)
    }

    /// What critics read of what it does, with gradients: its actions; of discrete ones a draw, 1 in one place, with the
    /// gradient of the softmax (Gumbel-softmax, straight through: Jang et al. 2017). `said` is [`Actor::forward`]'s, and
    /// `noise` Gumbel's, `[rows, n]`.
    pub fn done(said: &Tensor, noise: Option<&Tensor>) -> Tensor {
        let Some(noise) = noise else {
            return said.shallow_clone();
        };
        let soft = (said + noise).softmax(-1, Kind::Float);
        let hard = one_hot(&soft.argmax(-1, false), soft.size()[1]);
        hard - soft.detach() + soft
    }

    /// Actions taken as critics read them: `[rows, dims]` as they are, int64 `[rows]` as `[rows, n]`, 1 in one place.
    pub fn as_read(&self, actions: &Tensor) -> Tensor {
        match self.bounds {
            Some(_) => actions.shallow_clone(),
            None => one_hot(actions, self.width() as i64),
        }
    }

    /// `actions`, `[rows, dims]`, within their bounds.
    pub fn bounded(&self, actions: &Tensor) -> Tensor {
        match &self.bounds {
            None => actions.shallow_clone(),
            Some((scale, middle)) => {
                let (low, high) = (middle - scale, middle + scale);
                actions.maximum(&low).minimum(&high)
            }
        }
    }
}

/// Whose networks they are.
#[derive(Clone, Copy, Debug)]
pub struct Agents {
    /// Agents, each with networks of its own.
    pub count: usize,
    /// Whether their actions may be discrete.
    pub discrete: bool,
}

/// The rows of an agent, of rows `agents · env + agent`.
pub(super) fn rows_of_agent(rows: &Tensor, agent: i64, count: i64) -> Tensor {
    rows.reshape([-1, count, rows.size()[1]]).select(1, agent)
}

/// float32 `[rows, n]`, 1 in the places that are named, int64 `[rows]`.
fn one_hot(places: &Tensor, n: i64) -> Tensor {
    places.one_hot(n).to_kind(Kind::Float)
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
            "ddpg, td3 and maddpg need actions that are a Box with finite bounds (maddpg: or discrete), and {actions} \
             {problem}"
        )))
    };
    let ActionSpace::Box { low, high, .. } = actions else {
        return refused("is none");
    };
    if !low.iter().chain(high).all(|bound| bound.is_finite()) {
        return refused("has infinite ones");
    }
    let bounds = || low.iter().zip(high);
    if !bounds().all(|(low, high)| (high - low).is_finite()) {
        return refused("has bounds too far apart for float32");
    }
    let scale = bounds().map(|(low, high)| (high - low) / 2.0).collect();
    let middle = bounds()
        .map(|(low, high)| f32::midpoint(*low, *high))
        .collect();
    Ok((scale, middle))
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors, numbers and lists of them, which only `&mut self` changes; what a body makes of its weights lies behind
// a lock.
unsafe impl ReadOnly for Actor {}

impl Network for Actor {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
