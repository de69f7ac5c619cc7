//! What the tests share: making environments, and the same environments from Python's side.
#![allow(dead_code, reason = "no test program uses everything")]

pub mod twin;

use python_shim::{
    MakeOptions, Value, VecGymEnv, interpreter,
    pyo3::{conversion::FromPyObjectOwned, prelude::*, types::PyDict},
};
use vec_env::{Actions, EnvError, ObsBuffer, StepBatch, VecEnv};

pub const GAME: &str = "SpaceInvadersNoFrameskip-v4";

/// Starts Python and lets it, and the workers it starts, find `scripted_envs.py`.
pub fn start() {
    interpreter::start().unwrap();
    Python::attach(|py| {
        let path = py.import("sys").unwrap().getattr("path").unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
        if !path.contains(folder).unwrap() {
            path.call_method1("append", (folder,)).unwrap();
        }
    });
}

pub fn scripted(name: &str, num_envs: usize) -> Result<VecGymEnv, EnvError> {
    make(
        &format!("scripted_envs:{name}-v0"),
        num_envs,
        &MakeOptions::new(),
    )
}

pub fn make(id: &str, num_envs: usize, options: &MakeOptions) -> Result<VecGymEnv, EnvError> {
    start();
    VecGymEnv::make_vec(id, num_envs, options)
}

/// An environment behind the trait, with the memory that its calls fill.
pub struct Rollout {
    pub env: VecGymEnv,
    pub obs: Vec<u8>,
    pub batch: StepBatch,
    /// What the step in flight will be written to.
    pub next_obs: ObsBuffer,
}

impl Rollout {
    pub fn new(env: VecGymEnv) -> Self {
        let obs = vec![0; env.num_envs() * env.obs_spec().num_bytes()];
        Self {
            env,
            obs,
            batch: StepBatch::default(),
            next_obs: ObsBuffer::default(),
        }
    }

    pub fn reset(&mut self, seed: u64) -> Result<(), EnvError> {
        VecEnv::reset(&mut self.env, Some(seed), &mut self.obs)
    }

    pub fn send(&mut self, actions: &[i64]) -> Result<(), EnvError> {
        let next_obs = ObsBuffer::new(self.obs.len());
        self.env.send(Actions::Discrete(actions), next_obs.slot())?;
        self.next_obs = next_obs;
        Ok(())
    }

    pub fn recv(&mut self) -> Result<(), EnvError> {
        self.env.recv(&mut self.batch)?;
        self.obs = self.next_obs.take();
        Ok(())
    }

    pub fn step(&mut self, actions: &[i64]) -> Result<(), EnvError> {
        self.send(actions)?;
        self.recv()
    }
}

/// Actions that look random and are the same in every run.
pub fn actions(step: i64, num_envs: usize, num_actions: i64) -> Vec<i64> {
    (0..num_envs as i64)
        .map(|env| (step * step * 31 + step * 7 + env * 13) / 3 % num_actions)
        .collect()
}

/// `atari_wrappers.make_vec` as Python code calls it.
pub fn python_twin<'py>(py: Python<'py>, id: &str, num_envs: usize) -> Bound<'py, PyAny> {
    python_make(py, id, num_envs, &MakeOptions::new())
}

/// The same with settings.
pub fn python_make<'py>(
    py: Python<'py>,
    id: &str,
    num_envs: usize,
    options: &MakeOptions,
) -> Bound<'py, PyAny> {
    let kwargs = PyDict::new(py);
    for (name, value) in options.settings() {
        match value {
            Value::Bool(value) => kwargs.set_item(name, value),
            Value::Int(value) => kwargs.set_item(name, value),
            Value::Float(value) => kwargs.set_item(name, value),
            Value::Str(value) => kwargs.set_item(name, value),
            other => unreachable!("no test has a setting like {other:?}"),
        }
        .unwrap();
    }
    py.import("atari_wrappers")
        .unwrap()
        .call_method("make_vec", (id, num_envs), Some(&kwargs))
        .unwrap()
}

pub fn python_reset<'py>(env: &Bound<'py, PyAny>, seed: u64) -> Bound<'py, PyAny> {
    let kwargs = PyDict::new(env.py());
    kwargs.set_item("seed", seed).unwrap();
    env.call_method("reset", (), Some(&kwargs))
        .unwrap()
        .get_item(0)
        .unwrap()
}

/// The bytes of a numpy array, by numpy's own copy.
pub fn bytes(array: &Bound<'_, PyAny>) -> Vec<u8> {
    array.call_method0("tobytes").unwrap().extract().unwrap()
}

/// The items of a numpy array, by numpy's own conversion.
pub fn items<'py, T: FromPyObjectOwned<'py>>(array: &Bound<'py, PyAny>) -> Vec<T> {
    let flat = array.call_method0("ravel").unwrap();
    flat.call_method0("tolist").unwrap().extract().unwrap()
}
