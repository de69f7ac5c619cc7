//! What tests of algorithms share: training, and for those against PyTorch environments whose part the test
//! plays, made-up steps, and the scripts that do the same again.

#![allow(dead_code, reason = "no test program uses everything")]

use std::{collections::HashMap, ffi::OsStr, path::Path, process::Command};

use rand_pcg::Pcg64;
use rust_trainer::algorithms::{Algorithm, State};
use tch::{Tensor, kind::Element};
use vec_env::{
    ActionSpace, Actions, Env, ObsSpec, StepBatch, Transition, VecEnv,
    env::{Random, write_floats},
};

/// Lets `learner` learn in `env` for so many agent steps; the raw returns of the episodes.
pub fn train(learner: &mut dyn Algorithm, env: &mut dyn VecEnv, total_steps: u64) -> Vec<f64> {
    let (mut step, mut returns) = (StepBatch::default(), Vec::new());
    env.reset(Some(1), &mut learner.next_obs()).unwrap();
    for _ in 0..total_steps / env.num_envs() as u64 {
        let actions = learner.act().unwrap();
        env.send(actions.as_actions(), learner.next_obs()).unwrap();
        env.recv(&mut step).unwrap();
        learner.observe(&step).unwrap();
        learner.learn(&mut || false).unwrap();
        returns.extend(step.episodes.iter().map(|episode| episode.raw_return));
    }
    returns
}

/// Says what observations and actions are like; the test plays the environment's part itself.
#[derive(Clone)]
pub struct Spaces {
    pub obs: ObsSpec,
    pub actions: ActionSpace,
}

impl Env for Spaces {
    fn obs_spec(&self) -> ObsSpec {
        self.obs.clone()
    }

    fn action_space(&self) -> ActionSpace {
        self.actions.clone()
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) {}

    fn step(&mut self, _action: Actions<'_>, _obs: &mut [u8]) -> Transition {
        Transition::default()
    }
}

/// `count` images of squares with a brightness each: pure noise looks all the same to a network, and its
/// gradients are then differences of equal numbers.
pub fn images(random: &mut Random, count: usize, shape: [usize; 3]) -> Vec<u8> {
    const SQUARE: usize = 6;
    let [channels, height, width] = shape;
    let mut bytes = Vec::new();
    for _ in 0..count * channels * height / SQUARE {
        let squares = (0..width / SQUARE).map(|_| random.below(256) as u8);
        let row: Vec<u8> = squares.flat_map(|square| [square; SQUARE]).collect();
        bytes.extend(row.repeat(SQUARE));
    }
    bytes
}

/// A step of `num_envs` environments: rewards from `least` up, of `rewards` values; one in so many ends,
/// one in so many is cut off, each with its row of `last_obs`.
pub fn made_up_step(
    dice: &mut Random,
    num_envs: usize,
    (rewards, least): (usize, f32),
    [ends, cuts]: [usize; 2],
    last_obs: &[u8],
) -> StepBatch {
    let mut step = StepBatch::default();
    step.clear(num_envs, 1);
    let rows = last_obs.chunks_exact(last_obs.len() / num_envs);
    for (env, row) in rows.enumerate() {
        step.reward[env] = dice.below(rewards) as f32 + least;
        step.terminated[env] = dice.below(ends) == 0;
        step.truncated[env] = dice.below(cuts) == 0;
        if step.is_done(env) {
            step.final_obs.push((env, row.to_vec()));
        }
    }
    step
}

/// What an algorithm saw and did, step by step, for a script to do again.
#[derive(Default)]
pub struct Played<Number, Action> {
    pub obs: Vec<Number>,
    pub actions: Vec<Action>,
    pub rewards: Vec<f32>,
    pub terminated: Vec<bool>,
    pub truncated: Vec<bool>,
    pub last_obs: Vec<Number>,
}

impl<Number: Element, Action: Element> Played<Number, Action> {
    pub fn note(&mut self, step: &StepBatch, last_obs: Vec<Number>) {
        self.rewards.extend(&step.reward);
        self.terminated.extend(&step.terminated);
        self.truncated.extend(&step.truncated);
        self.last_obs.extend(last_obs);
    }

    /// By name: observations in parts of the shape `obs`, and the rest in parts of the shape `steps`.
    pub fn tensors(&self, obs: &[i64], steps: &[i64]) -> Vec<(String, Tensor)> {
        assert!(self.truncated.contains(&true) && self.terminated.contains(&true));
        let parts = |tensor: Tensor, shape: &[i64]| tensor.view(&*[&[-1], shape].concat());
        let mut actions = steps.to_vec();
        match self.actions.len() / self.rewards.len() {
            1 => {}
            dims => actions.push(dims as i64),
        }
        let named = [
            ("obs", parts(Tensor::from_slice(&self.obs), obs)),
            (
                "actions",
                parts(Tensor::from_slice(&self.actions), &actions),
            ),
            ("rewards", parts(Tensor::from_slice(&self.rewards), steps)),
            (
                "terminated",
                parts(Tensor::from_slice(&self.terminated), steps),
            ),
            (
                "truncated",
                parts(Tensor::from_slice(&self.truncated), steps),
            ),
            ("last_obs", parts(Tensor::from_slice(&self.last_obs), obs)),
        ];
        named.map(|(name, tensor)| (name.to_owned(), tensor)).into()
    }
}

/// Writes tensors for a script, and the weights of a state, before whose names stands `prefix`.
pub fn save(mut tensors: Vec<(String, Tensor)>, start: &State, prefix: &str, path: &Path) {
    let weights = start.tensors.iter().filter(|(name, _)| is_weight(name));
    tensors.extend(weights.map(|(name, x)| (format!("{prefix}{name}"), x.shallow_clone())));
    Tensor::write_safetensors(&tensors, path).unwrap();
}

/// Runs a script of this folder.
pub fn python(script: &str, arguments: &[impl AsRef<OsStr>]) {
    let python = std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test");
    let status = Command::new(python + "/bin/python")
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests")
                .join(script),
        )
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success());
}

/// The generator is part of a state, so what it draws next is known beforehand.
pub fn generator(state: &State) -> Pcg64 {
    serde_json::from_str(state.values["rng"].as_str().unwrap()).unwrap()
}

/// Whether a tensor of a state is the network's, and not the optimizer's or the target network's.
pub fn is_weight(name: &str) -> bool {
    let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind);
    let is_kind = kind.starts_with("weight") || kind.starts_with("bias") || kind == "log_std";
    is_kind && !name.starts_with("target.")
}

/// All weights among `tensors` in the order of their names, in one row.
pub fn weights<'a>(tensors: impl IntoIterator<Item = (&'a String, &'a Tensor)>) -> Tensor {
    let all = tensors.into_iter();
    let mut weights: Vec<_> = all.filter(|(name, _)| is_weight(name)).collect();
    weights.sort_by_key(|(name, _)| name.as_str());
    let parts: Vec<Tensor> = weights.iter().map(|(_, x)| x.reshape(-1)).collect();
    Tensor::cat(&parts, 0)
}

/// Those of a state.
pub fn weights_of(state: &State) -> Tensor {
    weights(state.tensors.iter().map(|(name, tensor)| (name, tensor)))
}

/// The tensors of a file by name.
pub fn read(path: &Path) -> HashMap<String, Tensor> {
    let tensors = Tensor::read_safetensors(path).unwrap();
    tensors.into_iter().collect()
}

pub fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

pub fn floats(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.reshape(-1)).unwrap()
}

/// The bytes of an observation of these numbers.
pub fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; 4 * numbers.len()];
    write_floats(&mut bytes, numbers.iter().copied());
    bytes
}
