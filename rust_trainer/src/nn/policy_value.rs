//! The network of actor-critic algorithms: a body with a policy head and a value head.
//!
//! Weights start orthogonal and biases at zero: gain √2 in the body, 0.01 for the policy and 1 for the
//! value (Huang et al., "The 37 Implementation Details of PPO").

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{
    agent_view::AgentView,
    body::{Body, BodyStyle, compute_kind},
    layers::{Activation, Linear},
    lstm::{Lstm, Memory},
    observed::Observed,
    params::{Network, Params, ParamsBuilder},
    policy_head::PolicyHead,
};
use crate::{
    distributions::Distribution,
    error::TrainerError,
    normalize::ObsNormalizer,
    parallel::ReadOnly,
    settings::{NetSettings, Precision},
};

/// What the network says of a batch of observations.
pub struct Output {
    /// What to do.
    pub policy: Distribution,
    /// State values, float32 `[batch]`.
    pub value: Tensor,
}

/// A policy and a value function over one set of parameters.
#[derive(Debug)]
pub struct PolicyValueNet {
    /// The weights.
    pub params: Params,
    /// What observations go through before they come here, where the settings say so.
    pub obs_normalizer: Option<ObsNormalizer>,
    /// One, or one for each agent.
    nets: Vec<Layers>,
    view: AgentView,
    compute: Kind,
    action_space: ActionSpace,
}

/// The layers of one policy and its value function.
#[derive(Debug)]
struct Layers {
    /// Of both heads, or of the policy alone.
    body: Body,
    /// The value's own.
    value_body: Option<Body>,
    /// What remembers, behind a body of both heads, or of the policy where the value reads more.
    lstm: Option<Lstm>,
    policy: PolicyHead,
    value: Linear,
}

const VALUE_GAIN: f64 = 1.0;

impl PolicyValueNet {
    /// A freshly initialized network, its weights drawn from `rng`: the heads share a body for images,
    /// and have one each for flat observations. With an `lstm_size` above 0 they share body and LSTM
    /// whatever the observations are.
    ///
    /// # Errors
    /// As [`Body::new`]; [`TrainerError::Usage`] for actions that are neither discrete nor continuous.
    pub fn new(
        spec: &ObsSpec,
        actions: &ActionSpace,
        settings: &NetSettings,
        lstm_size: i64,
        device: Device,
        precision: Precision,
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        let view = AgentView::single(spec);
        let on = (device, precision);
        Self::of_agents(view, actions, settings, lstm_size, on, rng)
    }

    /// The same for rows of which it reads what `view` says. A value function that reads more than the policy has a body
    /// of its own. The names of several networks' parameters begin with `agent0.` and so on.
    ///
    /// # Errors
    /// As [`PolicyValueNet::new`]; [`TrainerError::Setting`] for several networks with an LSTM.
    pub fn of_agents(
        view: AgentView,
        actions: &ActionSpace,
        settings: &NetSettings,
        lstm_size: i64,
        (device, precision): (Device, Precision),
        rng: &mut dyn Rng,
    ) -> Result<Self, TrainerError> {
        if lstm_size > 0 && view.num_nets > 1 {
            let problem = "must be 0 where each agent has a network of its own".to_owned();
            return Err(TrainerError::setting("lstm_size", lstm_size, problem));
        }
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let nets = (0..view.num_nets).map(|agent| {
            params.begin_agent(agent, view.num_nets);
            Layers::new(&mut params, &view, actions, settings, lstm_size)
        });
        let nets = nets.collect::<Result<_, TrainerError>>()?;
        Ok(Self {
            params: params.finish(device),
            obs_normalizer: None,
            nets,
            view,
            compute: compute_kind(precision, device),
            action_space: actions.clone(),
        })
    }

    /// The actions that it chooses from.
    #[must_use]
    pub fn action_space(&self) -> &ActionSpace {
        &self.action_space
    }

    /// `obs` as [`PolicyValueNet::forward`] takes them: normalized where the settings say so.
    pub fn normalized(&self, obs: &Tensor) -> Tensor {
        let normalizer = self.obs_normalizer.as_ref();
        normalizer.map_or_else(
            || obs.shallow_clone(),
            |normalizer| normalizer.normalized(obs),
        )
    }

    /// What it remembers where an episode starts in each of `num_envs` environments.
    #[must_use]
    pub fn new_memory(&self, num_envs: usize) -> Memory {
        let state = self.lstm().map(|lstm| lstm.zero_state(num_envs));
        state.map_or_else(Memory::default, Memory::of_lstm)
    }

    /// Policy and value of `obs`, `[batch, ...]` in the environment's own type (see
    /// [`PolicyValueNet::normalized`]); to a network with a memory each is an episode's first.
    #[must_use]
    pub fn forward(&self, obs: &Tensor) -> Output {
        let num_envs = obs.size()[0] as usize;
        self.step(obs, &self.new_memory(num_envs)).0
    }

    /// Policy and value of the next observation of each environment, `obs` `[num_envs, ...]`, and what is
    /// remembered behind it.
    #[must_use]
    pub fn step(&self, obs: &Tensor, memory: &Memory) -> (Output, Memory) {
        self.unroll(obs, memory, &vec![false; obs.size()[0] as usize])
    }

    /// Policy and value of sequences, `obs` `[steps · sequences, ...]`, step-major, that begin with `memory`
    /// and go on with none where an episode starts; and what is remembered behind them.
    ///
    /// LSTM and heads are computed in float32 whatever the precision: bfloat16 knows a value of 3 to 1/64,
    /// and what a state is wrong by is carried on to the end of the episode.
    #[must_use]
    pub fn unroll(
        &self,
        obs: impl Into<Observed>,
        memory: &Memory,
        episode_starts: &[bool],
    ) -> (Output, Memory) {
        let obs = obs.into();
        let (own, shown) = (self.view.own(&obs), self.view.shown(&obs));
        let said =
            |layers: &Layers| layers.unroll([&own, &shown], memory, episode_starts, self.compute);
        if let [layers] = self.nets.as_slice() {
            return said(layers);
        }
        let agents = self.view.agents(&obs.tensor()).to_kind(Kind::Float);
        let of_agents = self.nets.iter().zip(0..).map(|(layers, agent)| {
            let (output, _) = said(layers);
            let table = Tensor::cat(&[output.policy.numbers(), output.value.unsqueeze(1)], 1);
            table * agents.narrow(1, agent, 1)
        });
        let table: Tensor = of_agents.sum();
        let width = table.size()[1] - 1;
        let output = Output {
            policy: Distribution::of_numbers(&table.narrow(1, 0, width), &self.action_space),
            value: table.select(1, width),
        };
        (output, Memory::default())
    }

    fn lstm(&self) -> Option<&Lstm> {
        self.nets.first().and_then(|layers| layers.lstm.as_ref())
    }
}

impl Layers {
    fn new(
        params: &mut ParamsBuilder<'_>,
        view: &AgentView,
        actions: &ActionSpace,
        settings: &NetSettings,
        lstm_size: i64,
    ) -> Result<Self, TrainerError> {
        let new_body = |params: &mut ParamsBuilder<'_>, scope, spec| {
            Body::new(params, scope, spec, settings, BodyStyle::ACTOR_CRITIC)
        };
        let is_shared = (view.own.is_image() || lstm_size > 0) && !view.is_central();
        let scope = if is_shared { "" } else { "policy." };
        let body = new_body(params, scope, &view.own)?;
        let lstm = (lstm_size > 0).then(|| Lstm::new(params, "lstm", body.features, lstm_size));
        let features = lstm.as_ref().map_or(body.features, Lstm::size);
        let policy = PolicyHead::new(params, features, actions)?;
        let own = (!is_shared).then(|| new_body(params, "value.", &view.shown));
        let value_body = own.transpose()?;
        let for_value = value_body.as_ref().map_or(features, |body| body.features);
        let value = Linear::new(params, "value", for_value, 1, VALUE_GAIN);
        Ok(Self {
            body,
            value_body,
            lstm,
            policy,
            value,
        })
    }

    /// [`PolicyValueNet::unroll`] of what the policy and the value function read.
    fn unroll(
        &self,
        [own, shown]: [&Observed; 2],
        memory: &Memory,
        episode_starts: &[bool],
        compute: Kind,
    ) -> (Output, Memory) {
        let mut features = self.body.forward(own, compute);
        let mut after = Memory::default();
        if let Some(lstm) = &self.lstm {
            let state = match memory.state() {
                Some(state) => state.shallow_clone(),
                None => lstm.zero_state(episode_starts.len()),
            };
            let sequences = features.to_kind(Kind::Float);
            let sequences = sequences.view([-1, state.size()[1], self.body.features]);
            let (outputs, state) = lstm.forward(&sequences, &state, episode_starts);
            after = Memory::of_lstm(state);
            features = outputs.flatten(0, 1);
        }
        let of_value = self.value_body.as_ref();
        let of_value = of_value.map(|body| body.forward(shown, compute));
        let for_value = of_value.as_ref().unwrap_or(&features).to_kind(Kind::Float);
        let value = self.value.forward(&for_value, Activation::None);
        let output = Output {
            policy: self.policy.forward(&features),
            value: value.squeeze_dim(-1),
        };
        (output, after)
    }
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors, numbers and lists of them, which only `&mut self` changes; what a body makes of its weights lies behind
// a lock.
unsafe impl ReadOnly for PolicyValueNet {}

impl Network for PolicyValueNet {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}
