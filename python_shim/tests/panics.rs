//! A panic of an environment in Rust that Python calls.
#![allow(clippy::panic, clippy::unwrap_used, missing_docs)]

use python_shim::{
    interpreter,
    pyo3::{exceptions::PyRuntimeError, prelude::*},
};
use vec_env::{
    ActionSpace, Actions, Agent, Dtype, Env, MultiAgentEnv, ObsSpec, Picture, Transition,
};
use vec_env_python::{Agents, Batch};

/// Cannot be drawn before its first reset, and panics where it is tried.
struct Broken(Vec<Agent>);

impl Broken {
    fn new() -> Self {
        let obs_spec = ObsSpec {
            shape: vec![1],
            dtype: Dtype::Float32,
        };
        Self(vec![Agent {
            name: "it".to_owned(),
            obs_spec,
            action_space: ActionSpace::Discrete { n: 2 },
        }])
    }
}

impl Env for Broken {
    fn obs_spec(&self) -> ObsSpec {
        self.0[0].obs_spec.clone()
    }

    fn action_space(&self) -> ActionSpace {
        self.0[0].action_space.clone()
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) {}

    fn step(&mut self, _action: Actions<'_>, _obs: &mut [u8]) -> Transition {
        Transition::default()
    }

    fn render(&self) -> Option<Picture> {
        panic!("as it was told")
    }
}

impl MultiAgentEnv for Broken {
    fn agents(&self) -> &[Agent] {
        &self.0
    }

    fn takes_part(&self) -> &[bool] {
        &[true]
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [Vec<u8>]) {}

    fn step(
        &mut self,
        _actions: &[Option<Actions<'_>>],
        _obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>> {
        vec![None]
    }

    fn obs_bounds(&self, _agent: usize) -> Option<[Vec<f32>; 2]> {
        panic!("as it was told")
    }
}

fn assert_panicked(called: PyResult<Bound<'_, PyAny>>) {
    let error = called.unwrap_err();
    Python::attach(|py| assert!(error.is_instance_of::<PyRuntimeError>(py), "{error}"));
    let told = "an environment panicked, which is a bug of its own: as it was told";
    assert!(error.to_string().ends_with(told), "{error}");
}

#[test]
fn it_is_a_runtime_error_from_then_on() {
    interpreter::start().unwrap();
    Python::attach(|py| {
        let batch = Batch::new(2, "SameStep", 1, || Ok(Broken::new())).unwrap();
        let batch = Bound::new(py, batch).unwrap();
        assert_panicked(batch.call_method1("render", (1,)));
        assert_panicked(batch.call_method0("save_state"));
        batch.call_method0("close").unwrap();
        let agents = Bound::new(py, Agents::new(|| Ok(Broken::new())).unwrap()).unwrap();
        assert_panicked(agents.call_method0("describe"));
        assert_panicked(agents.call_method1("reset", (1,)));
        let breaks = || -> Result<Broken, String> { panic!("as it was told") };
        let batch = Batch::new(2, "SameStep", 1, breaks);
        assert_panicked(batch.map(|_| py.None().into_bound(py)));
        assert_panicked(Agents::new(breaks).map(|_| py.None().into_bound(py)));
    });
}
