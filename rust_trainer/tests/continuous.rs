//! Continuous actions and normalization against PyTorch and Gymnasium (`continuous.py`), and a pendulum
//! that is swung up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::HashMap, ffi::OsStr, fmt::Write, path::Path, process::Command};

use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use rust_trainer::{
    algorithms::{self, Learning, State},
    data::normalize::{ObsNormalizer, RewardNormalizer},
    policy::{DiagonalGaussian, Policy, seeded_rng},
    settings::{Algorithm, AlgorithmSettings, Settings},
};
use tch::{Device, Kind, Tensor};
use vec_env::{
    ActionBatch, ActionSpace, Actions, Dtype, Env, ObsSpec, StepBatch, SyncVecEnv, Transition,
    VecEnv,
    env::{Random, write_floats},
    envs::Pendulum,
};

const NUM_ENVS: usize = 3;
const NUM_STEPS: usize = 7;
const NUM_SAMPLES: usize = NUM_ENVS * NUM_STEPS;
const NUM_UPDATES: usize = 4;
const WIDTH: usize = 5;
const DIMS: usize = 2;

/// Says what observations and actions are like; the test plays the environment's part itself.
#[derive(Clone, Copy)]
struct Spaces {
    /// Bound of the actions.
    bound: f32,
}

impl Env for Spaces {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![WIDTH],
            dtype: Dtype::Float32,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box {
            shape: vec![DIMS],
            low: vec![-self.bound; DIMS],
            high: vec![self.bound; DIMS],
        }
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) {}

    fn step(&mut self, _action: Actions<'_>, _obs: &mut [u8]) -> Transition {
        Transition::default()
    }
}

fn settings(algorithm: Algorithm, changes: &str) -> Settings {
    let settings = Settings::defaults(algorithm);
    settings.with(&toml::from_str(changes).unwrap()).unwrap()
}

/// `continuous.py` with these arguments.
fn python(arguments: &[impl AsRef<OsStr>]) {
    let python = std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test");
    let status = Command::new(python + "/bin/python")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/continuous.py"))
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success());
}

fn read(path: &Path) -> HashMap<String, Tensor> {
    Tensor::read_safetensors(path)
        .unwrap()
        .into_iter()
        .collect()
}

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.reshape(-1)).unwrap()
}

fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; 4 * numbers.len()];
    write_floats(&mut bytes, numbers.iter().copied());
    bytes
}

/// Everything that happened, step by step, and what was drawn.
#[derive(Default)]
struct Record {
    obs: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    last_obs: Vec<f32>,
    orders: Vec<i64>,
}

impl Record {
    fn save(&self, start: &State, path: &Path) {
        let (steps, envs) = (NUM_STEPS as i64, NUM_ENVS as i64);
        let flags = |flags: &[bool]| Tensor::from_slice(flags).view([-1, steps, envs]);
        let rows = |numbers: &[f32]| Tensor::from_slice(numbers).view([-1, envs, WIDTH as i64]);
        let updates = (self.rewards.len() / NUM_SAMPLES) as i64;
        let actions = Tensor::from_slice(&self.actions).view([updates, steps, envs, DIMS as i64]);
        let orders = Tensor::from_slice(&self.orders).view([updates, -1, NUM_SAMPLES as i64]);
        let rewards = Tensor::from_slice(&self.rewards).view([updates, steps, envs]);
        let mut tensors = vec![
            ("obs", rows(&self.obs)),
            ("actions", actions),
            ("rewards", rewards),
            ("terminated", flags(&self.terminated)),
            ("truncated", flags(&self.truncated)),
            ("last_obs", rows(&self.last_obs)),
            ("orders", orders),
        ];
        let weights = start.tensors.iter().filter(|(name, _)| is_weight(name));
        tensors.extend(weights.map(|(name, tensor)| (name.as_str(), tensor.shallow_clone())));
        Tensor::write_safetensors(&tensors, path).unwrap();
    }
}

/// Whether a tensor of a state is a layer's and not the optimizer's.
fn is_weight(name: &str) -> bool {
    matches!(
        name.rsplit_once('.'),
        Some((_, "weight" | "bias" | "log_std"))
    )
}

/// Several updates on made-up steps of environments of `spaces`; the states before and after, and what
/// happened.
fn learn(settings: &Settings, spaces: Spaces) -> ([State; 2], Record) {
    let shuffles = if let AlgorithmSettings::Ppo(ppo) = &settings.algorithm {
        ppo.update_epochs
    } else {
        0
    };
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces).unwrap();
    let mut ours = algorithms::new(settings, &env, Device::Cpu).unwrap();
    let start = ours.state().unwrap();
    let mut random = Random::new(5);
    let mut observations = || -> Vec<f32> {
        let numbers = (0..NUM_ENVS * WIDTH).map(|place| {
            let size = [1.0, 0.1, 3.0, 1.0, 0.5][place % WIDTH];
            (size * random.uniform(-1.0, 3.0)) as f32
        });
        numbers.collect()
    };
    let mut dice = Random::new(6);
    let mut record = Record::default();
    record.obs.extend(observations());
    ours.next_obs().copy_from_slice(&to_bytes(&record.obs));
    for _ in 0..NUM_UPDATES {
        for _ in 0..NUM_STEPS {
            let ActionBatch::Continuous(actions) = ours.act().unwrap() else {
                unreachable!("the space is a box")
            };
            assert!(actions.iter().all(|value| value.abs() <= spaces.bound));
            let next = observations();
            ours.next_obs().copy_from_slice(&to_bytes(&next));
            let mut step = StepBatch::default();
            step.clear(NUM_ENVS, 1);
            let last_obs = observations();
            for env in 0..NUM_ENVS {
                step.reward[env] = dice.below(30) as f32 - 10.0;
                step.terminated[env] = dice.below(5) == 0;
                step.truncated[env] = dice.below(4) == 0;
                if step.is_done(env) {
                    let last = to_bytes(&last_obs[env * WIDTH..][..WIDTH]);
                    step.final_obs.push((env, last));
                }
            }
            ours.observe(&step).unwrap();
            record.actions.extend(actions);
            record.obs.extend(next);
            record.rewards.extend(&step.reward);
            record.terminated.extend(&step.terminated);
            record.truncated.extend(&step.truncated);
            record.last_obs.extend(last_obs);
        }
        // The generator is part of the state, so what it shuffles is known beforehand.
        let state = ours.state().unwrap();
        let mut rng: Pcg64 = serde_json::from_str(state.values["rng"].as_str().unwrap()).unwrap();
        let mut order: Vec<i64> = (0..NUM_SAMPLES as i64).collect();
        for _ in 0..shuffles {
            order.shuffle(&mut rng);
            record.orders.extend(&order);
        }
        let learned = ours.learn(&mut || false).unwrap();
        assert!(matches!(learned, Learning::Done(_)), "it is time");
    }
    assert!(record.truncated.contains(&true) && record.terminated.contains(&true));
    ([start, ours.state().unwrap()], record)
}

fn weights<'a>(tensors: impl IntoIterator<Item = (&'a String, &'a Tensor)>) -> Tensor {
    let all = tensors.into_iter();
    let mut weights: Vec<_> = all.filter(|(name, _)| is_weight(name)).collect();
    weights.sort_by_key(|(name, _)| name.as_str());
    let parts: Vec<Tensor> = weights.iter().map(|(_, x)| x.reshape(-1)).collect();
    Tensor::cat(&parts, 0)
}

fn weights_of(state: &State) -> Tensor {
    weights(state.tensors.iter().map(|(name, tensor)| (name, tensor)))
}

fn changes() -> String {
    format!(
        "num_envs = {NUM_ENVS}\nnum_steps = {NUM_STEPS}\ntotal_steps = {}\ntorch_threads = 1\n",
        NUM_SAMPLES * (NUM_UPDATES + 1)
    )
}

#[test]
fn whole_updates() {
    let ppo = "num_minibatches = 4\nupdate_epochs = 3\nlearning_rate = 3e-3\n";
    let a2c = "gae_lambda = 0.9\nlearning_rate = 0.1\n";
    let normalized = "norm_obs = true\nnorm_reward = true\n";
    let cases = [
        (Algorithm::Ppo, ppo, ""),
        (Algorithm::Ppo, ppo, normalized),
        (Algorithm::A2c, a2c, normalized),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (mut arguments, mut results) = (vec![folder.path().as_os_str().to_owned()], Vec::new());
    for (number, (algorithm, own, scale)) in cases.into_iter().enumerate() {
        let settings = settings(algorithm, &(changes() + own + scale));
        // Without bounds, what is sent is what was drawn.
        let bound = f32::INFINITY;
        let ([start, end], record) = learn(&settings, Spaces { bound });
        let name = format!("case{number}");
        record.save(&start, &folder.path().join(format!("{name}.safetensors")));
        let table = serde_json::to_string(&settings.table()).unwrap();
        arguments.extend([name.clone().into(), table.into()]);
        results.push((name, start, end));
    }
    python(&arguments);
    let mut report = String::new();
    for (name, start, end) in &results {
        let theirs = read(&folder.path().join(format!("{name}-after.safetensors")));
        let (ours, before) = (weights_of(end), weights_of(start));
        let (difference, moved) = (
            largest(&(&ours - weights(&theirs))),
            largest(&(&ours - before)),
        );
        writeln!(
            report,
            "{name}: differs by {difference:e}, moved by {moved:e}"
        )
        .unwrap();
        assert!(difference < 1e-5 && moved > 1e-2, "{report}");
        let log_std = |state: &State| {
            let found = state
                .tensors
                .iter()
                .find(|(name, _)| name == "policy.log_std");
            found.unwrap().1.copy()
        };
        assert!(largest(&(log_std(end) - log_std(start))) > 1e-3, "{name}");
    }
}

/// The environment's bounds change what is sent to it and nothing that is learned from what it gives.
#[test]
fn actions_are_sent_within_their_bounds_and_learned_from_as_they_were_drawn() {
    let settings = settings(Algorithm::Ppo, &changes());
    let [(free, drawn), (bound, sent)] = [f32::INFINITY, 0.5].map(|bound| {
        let ([_, end], record) = learn(&settings, Spaces { bound });
        (weights_of(&end), record.actions)
    });
    assert_eq!(free, bound);
    let clipped: Vec<f32> = drawn.iter().map(|value| value.clamp(-0.5, 0.5)).collect();
    assert_eq!(sent, clipped);
    assert!(drawn.iter().any(|value| value.abs() > 0.5));
}

#[test]
fn whoever_plays_takes_the_statistics_as_they_are() {
    let settings = settings(Algorithm::Ppo, &(changes() + "norm_obs = true"));
    let spaces = Spaces { bound: 1.0 };
    let ([_, mut state], record) = learn(&settings, spaces);
    let env = SyncVecEnv::new(NUM_ENVS, |_| spaces).unwrap();
    let obs = Tensor::from_slice(&record.obs).view([-1, WIDTH as i64]);
    let mut ours = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    ours.load_state(&state).unwrap();
    let load = |state: &State| {
        let (spec, actions) = (env.obs_spec(), env.action_space());
        algorithms::load_policy(&settings, spec, actions, Device::Cpu, state)
    };
    let act = |policy: &dyn Policy| {
        let mut memory = policy.new_memory(NUM_ENVS);
        policy.act(&obs, &mut memory, &mut seeded_rng(1), false)
    };
    let learned = act(ours.policy());
    assert_eq!(act(ours.policy()), learned, "nothing changes by playing");
    assert_eq!(ours.state().unwrap().values, state.values);
    assert_eq!(act(&*load(&state).unwrap()), learned);

    let statistics = state.values.remove("norm_obs").unwrap();
    assert_ne!(act(&*load(&state).unwrap()), learned);
    let message = ours.load_state(&state).unwrap_err().to_string();
    assert!(message.contains("`norm_obs`"), "{message}");
    let mut foreign = statistics;
    foreign["mean"] = vec![0.0; WIDTH + 1].into();
    state.values.insert("norm_obs".to_owned(), foreign);
    for message in [ours.load_state(&state).err(), load(&state).err()] {
        let message = message.unwrap().to_string();
        assert!(message.contains("`norm_obs`: is of other"), "{message}");
    }
}

#[test]
fn distributions_and_normalizers() {
    let folder = tempfile::tempdir().unwrap();
    python(&[folder.path().as_os_str()]);
    let theirs = read(&folder.path().join("distribution.safetensors"));
    for (kind, tolerance) in [(Kind::Double, 1e-13), (Kind::Float, 1e-5)] {
        let ours = |name: &str| theirs[name].to_kind(kind);
        let policy = DiagonalGaussian::new(ours("mean"), ours("log_std"));
        let results = [
            ("log_prob", policy.log_prob(&ours("actions"))),
            ("entropy", policy.entropy()),
        ];
        for (name, ours) in results {
            assert_eq!(ours.size(), theirs[name].size());
            let relative = (ours - &theirs[name]) / theirs[name].abs().clamp_min(1.0);
            let worst = largest(&relative);
            assert!(worst < tolerance, "{name} in {kind:?} differs by {worst:e}");
        }
    }

    let stream = read(&folder.path().join("stream.safetensors"));
    let [steps, envs, width] = stream["last_obs"].size()[..] else {
        unreachable!("three axes")
    };
    let spec = ObsSpec {
        shape: vec![width as usize],
        dtype: Dtype::Float32,
    };
    let mut of_obs = ObsNormalizer::new(&spec).unwrap();
    let mut of_rewards = RewardNormalizer::new(envs as usize);
    let at = |name: &str, time: i64| stream[name].get(time);
    let compare = |what: &str, time: i64, ours: &[f32]| {
        let theirs = at(what, time).reshape(-1);
        let worst = largest(&(Tensor::from_slice(ours) - theirs));
        assert!(worst < 2e-5, "{what} differs by {worst:e} at {time}");
    };
    let scaled = |normalizer: &ObsNormalizer, obs: &Tensor| floats(&normalizer.normalized(obs));
    for time in 0..=steps {
        let obs = at("obs", time);
        of_obs.update(&to_bytes(&floats(&obs)));
        compare("normalized_obs", time, &scaled(&of_obs, &obs));
        if time == 0 {
            continue;
        }
        let last = at("last_obs", time - 1);
        compare("normalized_last_obs", time - 1, &scaled(&of_obs, &last));
        let flags = |name| -> Vec<bool> {
            let flags = Vec::<f32>::try_from(at(name, time - 1).to_kind(Kind::Float)).unwrap();
            flags.into_iter().map(|flag| flag > 0.0).collect()
        };
        let step = StepBatch {
            reward: floats(&at("rewards", time - 1)),
            terminated: flags("terminated"),
            truncated: flags("truncated"),
            ..StepBatch::default()
        };
        let rewards = of_rewards.normalize(&step, 0.97);
        compare("normalized_rewards", time - 1, &rewards);
    }
}

#[test]
fn a_pendulum_is_swung_up() {
    let mut env = SyncVecEnv::new(16, |index| Pendulum::new(index as u64)).unwrap();
    let settings = settings(Algorithm::Ppo, PENDULUM);
    let mut ppo = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let (mut step, mut returns) = (StepBatch::default(), Vec::new());
    env.reset(Some(1), &mut ppo.next_obs()).unwrap();
    for _ in 0..settings.run.total_steps / env.num_envs() as u64 {
        let actions = ppo.act().unwrap();
        env.send(actions.as_actions(), ppo.next_obs()).unwrap();
        env.recv(&mut step).unwrap();
        ppo.observe(&step).unwrap();
        ppo.learn(&mut || false).unwrap();
        returns.extend(step.episodes.iter().map(|episode| episode.raw_return));
    }
    let mean = |returns: &[f64]| returns.iter().sum::<f64>() / returns.len() as f64;
    let (first, last) = (mean(&returns[..32]), mean(&returns[returns.len() - 64..]));
    assert!(first < -1000.0 && last > -400.0, "from {first} to {last}");
}

/// What swings a pendulum up in seconds.
const PENDULUM: &str = "
num_envs = 16
total_steps = 100_000
num_steps = 128
num_minibatches = 16
update_epochs = 10
learning_rate = 1e-3
gamma = 0.9
gae_lambda = 0.95
clip_coef = 0.2
clip_vloss = false
ent_coef = 0.0
torch_threads = 1
";
