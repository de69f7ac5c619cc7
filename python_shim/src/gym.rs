//! [`VecGymEnv`]: a batch of Gymnasium environments, made and stepped by the Python package
//! `atari_wrappers`.
//!
//! The GIL is attached for the two Python calls of a step only. Both return or wait without it while
//! the environments work, and observations are copied after it has been let go.

mod contract;
mod spaces;
mod transfer;

use std::{
    cell::{Cell, RefCell},
    mem,
};

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*};

use contract::Scratch;
pub use contract::Step;
use spaces::Spaces;
use transfer::ActionArray;

use crate::{EnvError, MakeOptions, ObsSpec, StepBatch, VecEnv, interpreter};

/// A batch of Gymnasium environments with discrete actions.
///
/// Two interfaces, and one pair of methods with the same name: the inherent ones (`new`, `reset`,
/// `step`, …) speak in float tensors and `PyResult`; those of [`VecEnv`] write bytes into memory of
/// the caller's. On a value or a `&VecGymEnv`, `env.reset()` is the inherent one; write
/// `VecEnv::reset(&mut env, seed, &mut obs)` for the other. Generic code and `dyn VecEnv` see the
/// trait only.
///
/// Dropping it closes the environments and ends their worker processes.
pub struct VecGymEnv {
    id: String,
    env: Py<PyAny>,
    send: Py<PyAny>,
    recv: Py<PyAny>,
    spaces: Spaces,
    actions: ActionArray,
    /// The observations last received: their memory is given back within the next call, which saves
    /// attaching the GIL once more for that alone.
    received: Option<PyUntypedBuffer>,
    phase: Cell<Phase>,
    scratch: RefCell<Scratch>,
}

/// Which calls are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Made, or failed within a step: only a reset helps.
    Fresh,
    Ready,
    InFlight,
    Closed,
}

impl VecGymEnv {
    /// Makes `num_envs` environments with id `env_id`, of Atari or of any other kind that Gymnasium
    /// knows, with `options` as keyword arguments of `atari_wrappers.make_vec`.
    ///
    /// ```no_run
    /// # use python_shim::{EnvError, MakeOptions, VecGymEnv};
    /// let options = MakeOptions::new().with("episodic_life", false).with("noop_max", 0);
    /// let env = VecGymEnv::make_vec("SpaceInvadersNoFrameskip-v4", 8, &options)?;
    /// # Ok::<(), EnvError>(())
    /// ```
    ///
    /// # Errors
    /// [`EnvError::Interpreter`] when Python or a package is missing, [`EnvError::Python`] for an id
    /// or a setting that `atari_wrappers` refuses, [`EnvError::Unsupported`] for other spaces than
    /// discrete actions and boxes of uint8 or float32 observations, or another autoreset mode than
    /// same-step.
    pub fn make_vec(
        env_id: &str,
        num_envs: usize,
        options: &MakeOptions,
    ) -> Result<Self, EnvError> {
        interpreter::start()?;
        Python::attach(|py| {
            let make_vec = interpreter::atari_wrappers(py)?.getattr(intern!(py, "make_vec"))?;
            let env = make_vec.call((env_id, num_envs), Some(&options.to_dict(py)?))?;
            Self::from_python(env_id, &env)
        })
    }

    /// Takes over an `atari_wrappers.VecEnv`; closes it again where it cannot be used.
    fn from_python(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, EnvError> {
        Self::wrap(id, env).inspect_err(|_| {
            // The reason for refusing matters more than what closing might add.
            let _ = env.call_method0(intern!(env.py(), "close"));
        })
    }

    fn wrap(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, EnvError> {
        let py = env.py();
        let spaces = Spaces::read(id, env)?;
        Ok(Self {
            id: id.to_owned(),
            send: env.getattr(intern!(py, "send"))?.unbind(),
            recv: env.getattr(intern!(py, "recv"))?.unbind(),
            env: env.clone().unbind(),
            actions: ActionArray::new(py, spaces.num_envs)?,
            spaces,
            received: None,
            phase: Cell::new(Phase::Fresh),
            scratch: RefCell::default(),
        })
    }

    /// The Gymnasium id that the environments were made with.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Bytes of a whole batch of observations.
    fn num_bytes(&self) -> usize {
        self.spaces.num_envs * self.spaces.obs.num_bytes()
    }

    fn check_buffer(&self, got: usize) -> Result<(), EnvError> {
        let expected = self.num_bytes();
        if got == expected {
            Ok(())
        } else {
            Err(EnvError::BufferSize { expected, got })
        }
    }

    /// Resets and returns the first observations; `&self` for the contract's sake.
    fn reset_python(&self, seed: Option<u64>) -> Result<PyUntypedBuffer, EnvError> {
        match self.phase.replace(Phase::Fresh) {
            Phase::Closed => {
                self.phase.set(Phase::Closed);
                return Err(EnvError::Closed);
            }
            // The step in flight is dropped, and with it what it may have raised: what still matters
            // of that, the reset will raise too.
            Phase::InFlight => drop(Python::attach(|py| self.recv.call0(py))),
            Phase::Fresh | Phase::Ready => {}
        }
        let buffer = Python::attach(|py| {
            let kwargs = pyo3::types::PyDict::new(py);
            kwargs.set_item(intern!(py, "seed"), seed)?;
            let result = self
                .env
                .bind(py)
                .call_method(intern!(py, "reset"), (), Some(&kwargs))?;
            transfer::observations(&self.id, &self.spaces, &result.get_item(0)?)
        })?;
        self.phase.set(Phase::Ready);
        Ok(buffer)
    }

    fn send_python(
        &self,
        actions: &[i64],
        received: Option<PyUntypedBuffer>,
    ) -> Result<(), EnvError> {
        Python::attach(|py| {
            if let Some(buffer) = received {
                buffer.release(py);
            }
            match self.phase.get() {
                Phase::Ready => {}
                Phase::Fresh => {
                    return Err(EnvError::Order(
                        "reset the environments before the first step and after a failed one",
                    ));
                }
                Phase::InFlight => {
                    return Err(EnvError::Order(
                        "a step is in flight already: receive it first",
                    ));
                }
                Phase::Closed => return Err(EnvError::Closed),
            }
            self.check_actions(actions)?;
            self.actions.write(py, actions);
            self.send.call1(py, (self.actions.array(py),))?;
            self.phase.set(Phase::InFlight);
            Ok(())
        })
    }

    fn check_actions(&self, actions: &[i64]) -> Result<(), EnvError> {
        let Spaces {
            num_envs,
            num_actions,
            ..
        } = self.spaces;
        if actions.len() != num_envs {
            return Err(EnvError::ActionCount {
                expected: num_envs,
                got: actions.len(),
            });
        }
        match actions
            .iter()
            .position(|action| !(0..num_actions).contains(action))
        {
            None => Ok(()),
            Some(env) => Err(EnvError::ActionRange {
                env,
                action: actions[env],
                num_actions,
            }),
        }
    }

    /// Waits for the step in flight and fills `batch`; the observations stay in Python's memory.
    fn recv_python(&self, batch: &mut StepBatch) -> Result<PyUntypedBuffer, EnvError> {
        match self.phase.get() {
            Phase::InFlight => {}
            Phase::Closed => return Err(EnvError::Closed),
            Phase::Fresh | Phase::Ready => {
                return Err(EnvError::Order("no step is in flight: send actions first"));
            }
        }
        self.phase.set(Phase::Fresh);
        let buffer = Python::attach(|py| {
            let result = self.recv.bind(py).call0()?;
            transfer::step(&self.id, &self.spaces, &result, batch)
        })?;
        self.phase.set(Phase::Ready);
        Ok(buffer)
    }

    /// Closes once; what a closed environment held is freed by Python.
    fn close_python(&self) -> Result<(), EnvError> {
        if self.phase.replace(Phase::Closed) == Phase::Closed {
            return Ok(());
        }
        // No interpreter, no environment: a host that ended Python has freed it.
        let closed =
            Python::try_attach(|py| self.env.call_method0(py, intern!(py, "close")).map(drop));
        Ok(closed.unwrap_or(Ok(()))?)
    }
}

impl VecEnv for VecGymEnv {
    fn num_envs(&self) -> usize {
        self.spaces.num_envs
    }

    fn obs_spec(&self) -> &ObsSpec {
        &self.spaces.obs
    }

    fn num_actions(&self) -> i64 {
        self.spaces.num_actions
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        if self.phase.get() == Phase::Closed {
            return Err(EnvError::Closed);
        }
        self.check_buffer(obs.len())?;
        self.received = None;
        let buffer = self.reset_python(seed)?;
        transfer::copy(&buffer, obs);
        self.received = Some(buffer);
        Ok(())
    }

    fn send(&mut self, actions: &[i64]) -> Result<(), EnvError> {
        let received = mem::take(&mut self.received);
        self.send_python(actions, received)
    }

    fn recv(&mut self, obs: &mut [u8], batch: &mut StepBatch) -> Result<(), EnvError> {
        if self.phase.get() == Phase::InFlight {
            self.check_buffer(obs.len())?;
        }
        let buffer = self.recv_python(batch)?;
        transfer::copy(&buffer, obs);
        self.received = Some(buffer);
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.received = None;
        self.close_python()
    }
}

impl Drop for VecGymEnv {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; close first to hear of it.
        let _ = self.close_python();
    }
}

impl std::fmt::Debug for VecGymEnv {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("VecGymEnv")
            .field("id", &self.id)
            .field("spaces", &self.spaces)
            .finish_non_exhaustive()
    }
}
