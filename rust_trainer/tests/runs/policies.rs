//! Checkpoints as PyTorch modules: `load_policy` of the Python package computes what the network here computes, without
//! the program (`policies.py`).

use std::process::Command;

use rand::RngExt;
use rust_trainer::{
    algorithms::State,
    distributions::Distribution,
    nn::{Actor, AgentView, Agents, Network, Output, QNet, QStyle},
    normalize::ObsNormalizer,
    policy::Policy,
    run::{Counters, EnvStates},
    settings::{AlgorithmSettings, PpoSettings},
};
use serde_json::json;
use tch::{Kind, no_grad_guard};
use vec_env::{Dtype, ObsSpec};

use super::*;

/// Of three agents two each.
const ROWS: usize = 6;
const FLAT: &[usize] = &[7];
const IMAGE: &[usize] = &[4, 84, 84];
const RAM: &[usize] = &[128];
const SELF_PLAY: &[usize] = &[5, 84, 84];

/// A line for each architecture: name, algorithm, shape of observations, continuous actions, settings.
#[rustfmt::skip]
const CASES: &[(&str, Algorithm, &[usize], bool, &str)] = &[
    ("nature", Algorithm::Ppo, IMAGE, false, ""),
    ("nature-continuous", Algorithm::A2c, IMAGE, true, ""),
    ("nature-lstm", Algorithm::Ppo, IMAGE, false, "lstm_size = 24"),
    ("self-play", Algorithm::Ppo, SELF_PLAY, false, "num_players = 2"),
    ("impala", Algorithm::Ppo, IMAGE, false, "net = 'impala'"),
    ("ram", Algorithm::Ppo, RAM, false, ""),
    ("mlp", Algorithm::A2c, FLAT, false, "mlp_width = 32"),
    ("mlp-normalized", Algorithm::Ppo, FLAT, true, "norm_obs = true"),
    ("mlp-lstm", Algorithm::Ppo, FLAT, true, "lstm_size = 8"),
    ("dqn", Algorithm::Dqn, IMAGE, false, ""),
    ("dqn-dueling", Algorithm::Dqn, FLAT, false, "dueling = true"),
    ("dqn-quantiles", Algorithm::Dqn, FLAT, false, "distributional = 'quantile'\nnum_quantiles = 20"),
    ("dqn-iqn", Algorithm::Dqn, FLAT, false, "distributional = 'iqn'\nnum_quantile_samples = 5\nquantile_embedding_dim = 12"),
    ("dqn-iqn-impala", Algorithm::Dqn, IMAGE, false, "distributional = 'iqn'\ndueling = true\nnet = 'impala'\nimpala_width = 48"),
    ("dqn-noisy", Algorithm::Dqn, FLAT, false, "noisy = true"),
    ("rainbow", Algorithm::Dqn, IMAGE, false, "dueling = true\nnoisy = true\ndistributional = 'c51'\nv_min = -3.0\nv_max = 9.0"),
    ("pqn", Algorithm::Pqn, IMAGE, false, ""),
    ("pqn-impala", Algorithm::Pqn, IMAGE, false, "net = 'impala'"),
    ("pqn-plain", Algorithm::Pqn, FLAT, false, "layer_norm = false"),
    ("td3", Algorithm::Td3, FLAT, true, ""),
    ("ddpg-ram", Algorithm::Ddpg, RAM, true, ""),
    ("mappo", Algorithm::Ppo, &[21], false, "num_agents = 3\ncentral_critic = true\nnorm_obs = true"),
    ("mappo-own", Algorithm::Ppo, &[24], true, "num_agents = 3\ncentral_critic = true\nshare_weights = false"),
    ("mappo-images", Algorithm::Ppo, &[12, 84, 84], false, "num_agents = 3\ncentral_critic = true"),
    ("ippo-own", Algorithm::Ppo, &[10], false, "num_agents = 3\nshare_weights = false"),
    ("maddpg", Algorithm::Maddpg, FLAT, true, "num_agents = 3"),
    ("maddpg-discrete", Algorithm::Maddpg, FLAT, false, "num_agents = 3"),
];

#[test]
fn python_computes_what_the_networks_of_checkpoints_compute() {
    let folder = tempfile::tempdir().unwrap();
    tch::set_num_threads(1);
    for (number, (name, algorithm, shape, is_continuous, changes)) in CASES.iter().enumerate() {
        let dtype = if shape.len() == 1 && *shape != RAM {
            Dtype::Float32
        } else {
            Dtype::Uint8
        };
        let spec = ObsSpec {
            shape: shape.to_vec(),
            dtype,
        };
        let actions = if *is_continuous {
            let is_bounded = !matches!(algorithm, Algorithm::Ppo | Algorithm::A2c);
            let (low, high) = if is_bounded {
                (vec![-0.5, 1.0], vec![0.5, 4.0])
            } else {
                (vec![-0.5, f32::NEG_INFINITY], vec![0.5, f32::INFINITY])
            };
            ActionSpace::Box {
                shape: vec![2],
                low,
                high,
            }
        } else {
            ActionSpace::Discrete { n: 6 }
        };
        let settings = with(&Settings::defaults(*algorithm), changes);
        let case = Case {
            settings,
            spec,
            actions,
            seed: number as u64,
        };
        case.write(folder.path(), name);
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test");
    let status = Command::new(python + "/bin/python")
        .arg(tests.join("tests/runs/policies.py"))
        .arg(folder.path())
        .env("PYTHONPATH", tests.join("python"))
        .status()
        .unwrap();
    assert!(status.success());
}

struct Case {
    settings: Settings,
    spec: ObsSpec,
    actions: ActionSpace,
    seed: u64,
}

impl Case {
    /// Writes a checkpoint of a network with weights of any size, and what that network says of observations.
    fn write(&self, folder: &Path, name: &str) {
        let _guard = no_grad_guard();
        let mut rng = seeded_rng(self.seed);
        let numbers: usize = ROWS * self.spec.shape.iter().product::<usize>();
        let numbers: Vec<f32> = (0..numbers).map(|_| rng.random::<f32>()).collect();
        let flat = Tensor::from_slice(&numbers).view([ROWS as i64, -1]);
        let obs = if self.spec.dtype == Dtype::Uint8 {
            // Of a brightness each: noise alone looks all the same to a network.
            let options = (Kind::Float, Device::Cpu);
            let brightness = Tensor::linspace(50.0, 255.9, ROWS as i64, options);
            (&flat * brightness.unsqueeze(1)).to_kind(Kind::Uint8)
        } else {
            &flat * 8.0 - 4.0
        };
        let sides = self.spec.shape.iter().map(|&side| side as i64);
        let shape: Vec<i64> = [ROWS as i64].into_iter().chain(sides).collect();
        let obs = obs.view(shape.as_slice());
        if self.has_nets_each() {
            // Whose row it is.
            let agents = self.num_agents() as i64;
            let which = Tensor::eye(agents, (Kind::Float, Device::Cpu)).repeat([2, 1]);
            let width = obs.size()[1];
            obs.narrow(1, width - agents, agents).copy_(&which);
        }
        let mut state = State::default();
        let mut said = match &self.settings.algorithm {
            AlgorithmSettings::Dqn(dqn) => self.q_values(dqn.style(), &obs, &mut state),
            AlgorithmSettings::Pqn(pqn) => self.q_values(pqn.style(), &obs, &mut state),
            AlgorithmSettings::Ddpg(_)
            | AlgorithmSettings::Td3(_)
            | AlgorithmSettings::Maddpg(_) => self.actions(&obs, &mut state),
            AlgorithmSettings::Ppo(ppo) => {
                let moments = ppo.norm_obs.then_some(&flat);
                let view = self.view(ppo);
                self.policy_and_value(view, ppo.lstm_size, moments, &obs, &mut state)
            }
            AlgorithmSettings::A2c(a2c) => {
                let view = AgentView::single(&self.spec);
                self.policy_and_value(view, a2c.lstm_size, None, &obs, &mut state)
            }
        };
        said.push(("obs".to_owned(), obs));
        // As safetensors has them.
        let said = said
            .into_iter()
            .map(|(name, said)| (name, said.contiguous()));
        let said: Vec<_> = said.collect();
        let checkpoint = Checkpoint {
            settings: self.settings.clone(),
            counters: Counters::default(),
            arithmetic: [].into(),
            obs_spec: self.spec.clone(),
            action_space: self.actions.clone(),
            state,
            envs: EnvStates::Missing("none ran".to_owned()),
            replay: None,
            evaluation: None,
        };
        let path = folder.join(format!("{name}.safetensors"));
        checkpoint.write(&path).unwrap();
        let said_of = folder.join(format!("{name}.said.safetensors"));
        Tensor::write_safetensors(&said, said_of).unwrap();
        // What needs no run's folder in Rust: the policy of the file alone.
        let policy = Checkpoint::read(&path)
            .unwrap()
            .policy(Device::Cpu)
            .unwrap();
        assert_eq!(policy.device(), Device::Cpu);
    }

    fn num_agents(&self) -> usize {
        self.settings.env.num_agents.max(1)
    }

    /// Whether rows say which agent they are of.
    fn has_nets_each(&self) -> bool {
        matches!(&self.settings.algorithm, AlgorithmSettings::Ppo(ppo) if !ppo.share_weights)
    }

    /// What the networks read of rows, written out.
    fn view(&self, ppo: &PpoSettings) -> AgentView {
        let count = self.num_agents();
        let mut shown = self.spec.clone();
        shown.shape[0] -= if ppo.share_weights { 0 } else { count };
        let mut own = shown.clone();
        own.shape[0] /= if ppo.central_critic { count } else { 1 };
        AgentView {
            own,
            shown,
            num_nets: if ppo.share_weights { 1 } else { count },
        }
    }

    fn policy_and_value(
        &self,
        view: AgentView,
        lstm_size: i64,
        moments: Option<&Tensor>,
        obs: &Tensor,
        state: &mut State,
    ) -> Vec<(String, Tensor)> {
        let mut rng = seeded_rng(self.seed);
        let (spec, actions, net) = (&self.spec, &self.actions, &self.settings.net);
        let on = (Device::Cpu, Precision::Fp32);
        let mut net =
            PolicyValueNet::of_agents(view, actions, net, lstm_size, on, &mut rng).unwrap();
        unsettle(&mut net, state);
        if let Some(numbers) = moments {
            let mut normalizer = ObsNormalizer::new(spec).unwrap();
            let numbers = Vec::<f32>::try_from(numbers.flatten(0, -1) * 0.8 + 3.0).unwrap();
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
            normalizer.update(&bytes);
            let name = ObsNormalizer::NAME.to_owned();
            state.values.insert(name, json!(normalizer));
            net.obs_normalizer = Some(normalizer);
        }
        let obs = net.normalized(obs);
        let first = net.step(&obs, &Policy::new_memory(&net, ROWS));
        let (Output { policy, value }, memory) = net.step(&obs, &first.1);
        let mut said = vec![("value".to_owned(), value)];
        said.push(match policy {
            Distribution::Categorical { log_probs } => ("log_probs".to_owned(), log_probs),
            Distribution::DiagonalGaussian { mean, .. } => ("mean".to_owned(), mean),
        });
        let states = [("state", &first.1), ("state_out", &memory)].into_iter();
        let states = states.filter_map(|(name, memory)| Some((name, memory.state()?.copy())));
        said.extend(states.map(|(name, state)| (name.to_owned(), state)));
        said
    }

    fn actions(&self, obs: &Tensor, state: &mut State) -> Vec<(String, Tensor)> {
        let mut rng = seeded_rng(self.seed);
        let (spec, actions, net) = (&self.spec, &self.actions, &self.settings.net);
        let on = (Device::Cpu, Precision::Fp32);
        let discrete = matches!(actions, ActionSpace::Discrete { .. });
        let agents = Agents {
            count: self.num_agents(),
            discrete,
        };
        let mut net = Actor::new(spec, actions, agents, net, on, &mut rng).unwrap();
        unsettle(&mut net, state);
        let said = net.forward(obs);
        if discrete {
            return vec![("log_probs".to_owned(), said.log_softmax(-1, Kind::Float))];
        }
        vec![("actions".to_owned(), said)]
    }

    fn q_values(&self, style: QStyle, obs: &Tensor, state: &mut State) -> Vec<(String, Tensor)> {
        let mut rng = seeded_rng(self.seed);
        let (spec, actions, net) = (&self.spec, &self.actions, &self.settings.net);
        let on = (Device::Cpu, Precision::Fp32);
        let mut net = QNet::new(spec, actions, net, style, on, &mut rng).unwrap();
        unsettle(&mut net, state);
        vec![
            ("q_values".to_owned(), net.values(obs)),
            (
                "returns".to_owned(),
                net.forward(obs, None, None).contiguous(),
            ),
        ]
    }
}

/// Moves the weights off what they start with, which says nothing of biases and little of heads.
fn unsettle(net: &mut impl Network, state: &mut State) {
    let mut rng = seeded_rng(9);
    let flat = net.params_mut().flat_mut();
    let noise: Vec<f32> = (0..flat.numel())
        .map(|_| 0.06 * rng.random::<f32>() - 0.03)
        .collect();
    *flat += Tensor::from_slice(&noise);
    let named = net.params().named();
    state.tensors = named
        .map(|(name, tensor)| (name.to_owned(), tensor.detach().copy()))
        .collect();
}
