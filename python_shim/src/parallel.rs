//! [`ParallelEnv`]: an environment of `PettingZoo`'s parallel API as one of several agents in Rust.

use std::ffi::CStr;

use pyo3::{
    ffi::c_str,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyList, PyModule},
};
use vec_env::{ActionSpace, Actions, Agent, Dtype, EnvError, MultiAgentEnv, ObsSpec, Transition};

use crate::{
    error::{CallError, gave, not_finite, setup_error, showed},
    interpreter,
};

const CODE: &CStr = c_str!(include_str!("parallel/parallel_env.py"));

/// What Python says of an agent: its name, shape and type of what it observes, and of its actions their number, or shape and
/// bounds.
type About = (
    String,
    Vec<usize>,
    String,
    i64,
    Vec<usize>,
    Vec<f32>,
    Vec<f32>,
);

/// Reward, terminated, truncated; `None` of an agent that took no part.
type Brought = Option<(f32, bool, bool)>;

/// An environment that a Python module's `parallel_env` makes, such as MPE2's `simple_spread_v3`. The GIL is attached for each
/// call.
///
/// What it raises ends the episode of all agents, and [`MultiAgentEnv::take_error`] has it. Its state cannot be saved.
#[derive(Debug)]
pub struct ParallelEnv {
    module: String,
    env: Py<PyAny>,
    agents: Vec<Agent>,
    takes_part: Vec<bool>,
    error: Option<EnvError>,
}

impl ParallelEnv {
    /// Makes one with so many agents, 0 for the usual, and `continuous` actions where that can be chosen.
    ///
    /// # Errors
    /// A module or a `parallel_env` that is not there; spaces that are no `Discrete` or `Box`; what it raises.
    pub fn new(module: &str, num_agents: usize, continuous: bool) -> Result<Self, EnvError> {
        interpreter::start()?;
        let make = |py: Python<'_>| -> Result<_, CallError> {
            let class = code(py)?.getattr("ParallelEnv")?;
            let env = class.call1((module, num_agents, continuous))?;
            let about: Vec<About> = env.call_method0("agents")?.extract()?;
            Ok((env.unbind(), about))
        };
        let (env, about) = Python::attach(make)?;
        let agents: Vec<Agent> = about.into_iter().map(agent).collect();
        Ok(Self {
            module: module.to_owned(),
            env,
            takes_part: vec![false; agents.len()],
            agents,
            error: None,
        })
    }

    /// How errors name an agent.
    fn who(&self, agent: &Agent) -> String {
        format!("agent `{}` of `{}`", agent.name, self.module)
    }

    /// Copies what agents observe, of those that do.
    fn copy_observed(
        &self,
        seen: &[Option<Bound<'_, PyBytes>>],
        obs: &mut [Vec<u8>],
    ) -> Result<(), EnvError> {
        for ((seen, obs), agent) in seen.iter().zip(obs).zip(&self.agents) {
            if let Some(seen) = seen {
                EnvError::check_length(seen.as_bytes(), obs.len())?;
                obs.copy_from_slice(seen.as_bytes());
                if let Some(what) = showed(&agent.obs_spec, obs) {
                    return Err(not_finite(&self.who(agent), &what));
                }
            }
        }
        Ok(())
    }

    /// Notes what a call raised, and ends the episode.
    fn fail(&mut self, error: CallError) {
        self.takes_part.fill(false);
        self.error.get_or_insert(error.into());
    }
}

fn agent((name, shape, dtype, n, of_action, low, high): About) -> Agent {
    let dtype = match dtype.as_str() {
        "uint8" => Dtype::Uint8,
        _ => Dtype::Float32,
    };
    Agent {
        name,
        obs_spec: ObsSpec { shape, dtype },
        action_space: match n {
            0 => ActionSpace::Box {
                shape: of_action,
                low,
                high,
            },
            n => ActionSpace::Discrete { n },
        },
    }
}

impl MultiAgentEnv for ParallelEnv {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn takes_part(&self) -> &[bool] {
        &self.takes_part
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [Vec<u8>]) {
        let reset = |py: Python<'_>| -> Result<Vec<bool>, CallError> {
            let observed = self.env.bind(py).call_method1("reset", (seed,))?;
            let observed: Vec<Option<Bound<'_, PyBytes>>> = observed.extract()?;
            self.copy_observed(&observed, obs)?;
            let takes_part: Vec<bool> = observed.iter().map(Option::is_some).collect();
            if !takes_part.contains(&true) {
                let module = &self.module;
                return Err(
                    setup_error(format!("`{module}`: nobody takes part after a reset")).into(),
                );
            }
            Ok(takes_part)
        };
        match Python::attach(reset) {
            Ok(takes_part) => self.takes_part = takes_part,
            Err(error) => self.fail(error),
        }
    }

    fn step(
        &mut self,
        actions: &[Option<Actions<'_>>],
        obs: &mut [Vec<u8>],
    ) -> Vec<Option<Transition>> {
        let step = |py: Python<'_>| -> Result<_, CallError> {
            let taken = PyList::empty(py);
            for action in actions {
                match action {
                    None => taken.append(py.None())?,
                    Some(Actions::Discrete(choice)) => taken.append(choice.first())?,
                    Some(Actions::Continuous(numbers)) => taken.append(numbers.to_vec())?,
                }
            }
            let stepped = self.env.bind(py).call_method1("step", (taken,))?;
            let (brought, seen, takes_part): (
                Vec<Brought>,
                Vec<Option<Bound<'_, PyBytes>>>,
                Vec<bool>,
            ) = stepped.extract()?;
            self.copy_observed(&seen, obs)?;
            for (brought, agent) in brought.iter().zip(&self.agents) {
                if let Some((reward, ..)) = brought
                    && !reward.is_finite()
                {
                    return Err(not_finite(&self.who(agent), &gave(*reward)).into());
                }
            }
            Ok((brought, takes_part))
        };
        match Python::attach(step) {
            Ok((brought, takes_part)) => {
                self.takes_part = takes_part;
                let transition = |(reward, terminated, truncated)| Transition {
                    reward,
                    terminated,
                    truncated,
                };
                let brought = brought.into_iter();
                brought.map(|each| each.map(transition)).collect()
            }
            Err(error) => {
                self.fail(error);
                vec![None; self.agents.len()]
            }
        }
    }

    fn take_error(&mut self) -> Option<EnvError> {
        self.error.take()
    }
}

impl Drop for ParallelEnv {
    fn drop(&mut self) {
        // Nobody is left to hear what that raises.
        let _closed = Python::try_attach(|py| self.env.bind(py).call_method0("close").is_ok());
    }
}

/// The Python side, made once.
fn code(py: Python<'_>) -> Result<&Bound<'_, PyModule>, CallError> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let (file, name) = (c"parallel_env.py", c"rust_trainer_parallel");
    interpreter::embedded_module(py, &MODULE, CODE, file, name)
}
