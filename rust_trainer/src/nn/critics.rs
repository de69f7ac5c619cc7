//! Critics of actions: what an observation and an action are worth together, one opinion or several; or what those of
//! several agents are worth to each of them.

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::ObsSpec;

use super::{
    actor::{STYLE, rows_of_agent},
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
    /// The bodies and last layers of each agent's.
    layers: Vec<Vec<(Body, Linear)>>,
    compute: Kind,
}

const VALUE_GAIN: f64 = 1.0;

impl Critics {
    /// `count` freshly initialized networks for each of `num_agents`, their weights drawn from `rng`: observations and
    /// actions of all agents, `width` numbers each, go side by side into two hidden layers. Their parameters are `q1.hidden1`,
    /// `q1.hidden2` and `q1`, and so on; those of several agents begin with `agent0.` and so on.
    ///
    /// # Errors
    /// As [`Body::new`].
    pub fn new(
        (count, num_agents): (usize, usize),
        (spec, width): (&ObsSpec, usize),
        settings: &NetSettings,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let mut both = spec.clone();
        if let [numbers] = both.shape.as_mut_slice() {
            *numbers = num_agents * (*numbers + width);
        }
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let layers = (0..num_agents).map(|agent| {
            params.begin_agent(agent, num_agents);
            let layers = (1..=count).map(|number| {
                let name = format!("q{number}");
                let body = Body::new(&mut params, &format!("{name}."), &both, settings, STYLE)?;
                let value = Linear::new(&mut params, &name, body.features, 1, VALUE_GAIN);
                Ok((body, value))
            });
            layers.collect()
        });
        let layers = layers.collect::<Result<_, TrainerError>>()?;
        Ok(Self {
            params: params.finish(device),
            layers,
            compute: compute_kind(precision, device),
        })
    }

    /// What each critic says of `obs`, `[rows, numbers]`, with `actions`, float32 `[rows, width]` → float32 `[rows]`
    /// each.
    #[must_use]
    pub fn forward(&self, obs: &Tensor, actions: &Tensor) -> Vec<Tensor> {
        let both = self.joined(obs, actions);
        let numbers = 0..self.layers[0].len();
        let said = numbers.map(|number| {
            let of_agents = self.layers.iter();
            let of_agents = of_agents.map(|layers| self.value(&layers[number], &both));
            let of_agents: Vec<Tensor> = of_agents.collect();
            match of_agents.as_slice() {
                [single] => single.shallow_clone(),
                several => Tensor::stack(several, 1).flatten(0, 1),
            }
        });
        said.collect()
    }

    /// What the first critic of each agent says where this agent does what `own` says, and the others what `actions` say,
    /// float32 `[rows, width]`; the mean over all rows of each, added.
    pub fn of_own(&self, obs: &Tensor, actions: &Tensor, own: &Tensor) -> Tensor {
        let count = self.layers.len() as i64;
        let of_agents = self.layers.iter().zip(0..).map(|(layers, agent)| {
            let taken = (0..count).map(|other| {
                let of = if other == agent { own } else { actions };
                rows_of_agent(of, other, count)
            });
            let taken = Tensor::stack(&taken.collect::<Vec<_>>(), 1).flatten(0, 1);
            let both = self.joined(obs, &taken);
            self.value(&layers[0], &both).mean(Kind::Float)
        });
        of_agents.sum()
    }

    /// Observations, bytes as 0 to 1, and actions of all agents of an environment side by side.
    fn joined(&self, obs: &Tensor, actions: &Tensor) -> Tensor {
        let numbers = obs.to_kind(Kind::Float);
        let is_bytes = obs.kind() == Kind::Uint8;
        let numbers = if is_bytes { numbers / 255.0 } else { numbers };
        let count = self.layers.len() as i64;
        let side_by_side = |rows: &Tensor| rows.reshape([-1, count * rows.size()[1]]);
        Tensor::cat(&[side_by_side(&numbers), side_by_side(actions)], 1)
    }

    fn value(&self, (body, value): &(Body, Linear), both: &Tensor) -> Tensor {
        let features = body.forward(both, self.compute).to_kind(Kind::Float);
        value.forward(&features, Activation::None).squeeze_dim(-1)
    }
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors, numbers and lists of them, which only `&mut self` changes; what a body makes of its weights lies behind
// a lock.
unsafe impl ReadOnly for Critics {}

impl Network for Critics {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
