//! The network of actor-critic algorithms: a body with a policy head and a value head.
//!
//! Weights start orthogonal and biases at zero: gain √2 in the body, 0.01 for the policy and 1 for the
//! value (Huang et al., "The 37 Implementation Details of PPO").

use rand::Rng;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, ObsSpec};

use super::{
    Body, BodyStyle, Linear, Lstm, Memory, Network, Params, ParamsBuilder, PolicyHead, compute_kind,
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
    bodies: Bodies,
    policy: PolicyHead,
    value: Linear,
    compute: Kind,
    action_space: ActionSpace,
}

#[derive(Debug)]
enum Bodies {
    /// One for both heads.
    Shared(Body),
    /// One for each head.
    Separate { policy: Body, value: Body },
    /// One for both heads, and behind it what remembers.
    Recurrent { body: Body, lstm: Lstm },
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
        let mut params = ParamsBuilder::new(rng).starting(settings.init);
        let new_body = |params: &mut ParamsBuilder<'_>, scope| {
            Body::new(params, scope, spec, settings, BodyStyle::ACTOR_CRITIC)
        };
        let (bodies, policy, value) = if lstm_size > 0 {
            let body = new_body(&mut params, "")?;
            let lstm = Lstm::new(&mut params, "lstm", body.features(), lstm_size);
            let policy = PolicyHead::new(&mut params, lstm_size, actions)?;
            let value = Linear::new(&mut params, "value", lstm_size, 1, VALUE_GAIN);
            (Bodies::Recurrent { body, lstm }, policy, value)
        } else if spec.is_image() {
            let body = new_body(&mut params, "")?;
            let policy = PolicyHead::new(&mut params, body.features(), actions)?;
            let value = Linear::new(&mut params, "value", body.features(), 1, VALUE_GAIN);
            (Bodies::Shared(body), policy, value)
        } else {
            let for_policy = new_body(&mut params, "policy.")?;
            let policy = PolicyHead::new(&mut params, for_policy.features(), actions)?;
            let for_value = new_body(&mut params, "value.")?;
            let value = Linear::new(&mut params, "value", for_value.features(), 1, VALUE_GAIN);
            let bodies = Bodies::Separate {
                policy: for_policy,
                value: for_value,
            };
            (bodies, policy, value)
        };
        Ok(Self {
            params: params.finish(device),
            obs_normalizer: None,
            bodies,
            policy,
            value,
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
        match &self.bodies {
            Bodies::Recurrent { lstm, .. } => Memory::of_lstm(lstm.zero_state(num_envs)),
            Bodies::Shared(_) | Bodies::Separate { .. } => Memory::default(),
        }
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
        obs: &Tensor,
        memory: &Memory,
        episode_starts: &[bool],
    ) -> (Output, Memory) {
        let mut after = Memory::default();
        let (for_policy, for_value) = match &self.bodies {
            Bodies::Shared(body) => {
                let features = body.forward(obs, self.compute);
                (features.shallow_clone(), features)
            }
            Bodies::Separate { policy, value } => {
                let features = |body: &Body| body.forward(obs, self.compute);
                (features(policy), features(value))
            }
            Bodies::Recurrent { body, lstm } => {
                let features = body.forward(obs, self.compute).to_kind(Kind::Float);
                let num_samples = episode_starts.len();
                let state = match memory.state() {
                    Some(state) => state.shallow_clone(),
                    None => lstm.zero_state(num_samples),
                };
                let sequences = features.view([-1, state.size()[1], body.features()]);
                let (outputs, state) = lstm.forward(&sequences, &state, episode_starts);
                after = Memory::of_lstm(state);
                let outputs = outputs.flatten(0, 1);
                (outputs.shallow_clone(), outputs)
            }
        };
        let value = self.value.forward(&for_value.to_kind(Kind::Float));
        let output = Output {
            policy: self.policy.forward(&for_policy),
            value: value.squeeze_dim(-1),
        };
        (output, after)
    }
}

#[expect(unsafe_code, reason = "says what the type holds")]
// SAFETY: tensors, numbers and lists of them, which only `&mut self` changes.
unsafe impl ReadOnly for PolicyValueNet {}

impl Network for PolicyValueNet {
    fn params(&self) -> &Params {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }
}

#[cfg(test)]
mod tests {
    use tch::no_grad;
    use vec_env::Dtype;

    use super::*;
    use crate::{random::seeded_rng, tensors::obs_tensor};

    fn spec(shape: &[usize], dtype: Dtype) -> ObsSpec {
        ObsSpec {
            shape: shape.to_vec(),
            dtype,
        }
    }

    fn net(spec: &ObsSpec, precision: Precision) -> PolicyValueNet {
        // Continuous actions: the output of their head is the mean, of which nothing is hidden.
        let actions = ActionSpace::Box {
            shape: vec![3],
            low: vec![-1.0; 3],
            high: vec![1.0; 3],
        };
        let (net, mut rng) = (NetSettings::default(), seeded_rng(1));
        PolicyValueNet::new(spec, &actions, &net, 0, Device::Cpu, precision, &mut rng).unwrap()
    }

    fn mean(output: &Output) -> Tensor {
        match &output.policy {
            Distribution::DiagonalGaussian(policy) => policy.mean().shallow_clone(),
            Distribution::Categorical(_) => unreachable!("the actions are continuous"),
        }
    }

    fn largest_difference(ours: &Tensor, theirs: &Tensor) -> f64 {
        (ours - theirs).abs().max().double_value(&[])
    }

    #[test]
    fn the_heads_are_exact_in_bfloat16() {
        for spec in [spec(&[2], Dtype::Float32), spec(&[1, 36, 36], Dtype::Uint8)] {
            let net = net(&spec, Precision::Bf16);
            no_grad(|| {
                for (name, tensor) in net.params.named() {
                    let value = match name {
                        "value.bias" => 3.001,
                        "policy.bias" => -1.001,
                        _ => 0.0,
                    };
                    let _ = tensor.shallow_clone().fill_(value);
                }
            });
            let obs = obs_tensor(&vec![0; 5 * spec.num_bytes()], 5, &spec).unwrap();
            let output = net.forward(&obs);
            for (tensor, expected) in [(mean(&output), -1.001), (output.value, 3.001)] {
                assert_eq!(tensor.kind(), Kind::Float);
                assert!(
                    largest_difference(&tensor, &tensor.full_like(expected)) < 1e-6,
                    "bfloat16 knows 3.001 as 3"
                );
            }
        }
    }

    #[test]
    fn bytes_of_ram_reach_the_network_as_numbers_from_0_to_1() {
        let net = net(&spec(&[128], Dtype::Uint8), Precision::Fp32);
        let ram = Tensor::arange(256, (Kind::Uint8, Device::Cpu)).view([2, 128]);
        let (bytes, numbers) = (
            net.forward(&ram),
            net.forward(&(ram.to_kind(Kind::Float) / 255.0)),
        );
        assert!(largest_difference(&bytes.value, &numbers.value) < 1e-6);
        assert!(largest_difference(&mean(&bytes), &mean(&numbers)) < 1e-6);
    }

    #[test]
    fn layers_are_views_of_the_flat_tensor_and_take_gradients() {
        let mut net = net(&spec(&[2], Dtype::Float32), Precision::Fp32);
        let obs = Tensor::ones([1, 2], (Kind::Float, Device::Cpu));
        let output = net.forward(&obs);
        let loss = output.value.sum(Kind::Float)
            + output.policy.entropy().sum(Kind::Float)
            + mean(&output).square().sum(Kind::Float);
        let gradient = net.params.gradient(&loss);
        assert_eq!(gradient.size(), [net.params.numel()]);
        assert!(gradient.abs().max().double_value(&[]) > 0.0);
        let _ = no_grad(|| net.params.flat_mut().fill_(0.5));
        for (name, tensor) in net.params.named() {
            assert!(
                (tensor.mean(Kind::Float).double_value(&[]) - 0.5).abs() < 1e-9,
                "{name}"
            );
        }
        // 0.5 · tanh(0.5 · 64 tanh(1.5) + 0.5) for each of 64 units, which are 1 to rounding, and the bias.
        assert!((net.forward(&obs).value.double_value(&[0]) - 32.5).abs() < 1e-4);
    }
}
