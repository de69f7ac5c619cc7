//! [`VecGymEnv`]: a batch of Gymnasium environments, made and stepped by the Python package
//! `atari_wrappers`. Here is what makes and ends it; `crossing` calls Python, `vec_env` has the trait's
//! methods, `contract` those of tch-rs' example.

mod contract;
mod convert;
mod crossing;
mod failure;
mod info;
mod spaces;
mod transfer;
mod vec_env;

use std::cell::RefCell;

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*};

use contract::Scratch;
pub use contract::Step;
use crossing::Flight;
use spaces::Spaces;
use transfer::ActionArray;

use crate::{EnvError, MakeOptions, interpreter};

/// A batch of Gymnasium environments.
///
/// Two interfaces, and some pairs of methods with the same name: the inherent ones (`new`, `reset`,
/// `step`, …) speak in float tensors and `PyResult`; those of [`VecEnv`](crate::VecEnv) write bytes
/// into memory of the caller's. On a value or a `&VecGymEnv`, `env.reset()` is the inherent one; write
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
    flight: Flight,
    scratch: RefCell<Scratch>,
}

impl VecGymEnv {
    /// Makes `num_envs` environments with id `env_id`, of Atari or of any other kind that Gymnasium
    /// knows, with `options` as keyword arguments of `atari_wrappers.make_vec`.
    ///
    /// ```no_run
    /// # use python_shim::{EnvError, MakeOptions, VecGymEnv};
    /// let options = MakeOptions::new().with("preset", "baselines").with("screen_size", vec![96, 72]);
    /// let env = VecGymEnv::make_vec("SpaceInvadersNoFrameskip-v4", 8, &options)?;
    /// # Ok::<(), EnvError>(())
    /// ```
    ///
    /// # Errors
    /// [`EnvError::Interpreter`] when Python or a package is missing, [`EnvError::Python`] for an id
    /// or a setting that `atari_wrappers` refuses, [`EnvError::Unsupported`] for other spaces than
    /// boxes of uint8 or float32 observations, or actions than those of
    /// [`ActionSpace`](crate::ActionSpace).
    pub fn make_vec(
        env_id: &str,
        num_envs: usize,
        options: &MakeOptions,
    ) -> Result<Self, EnvError> {
        interpreter::start()?;
        Python::attach(|py| {
            let make_vec = interpreter::atari_wrappers(py)?.getattr(intern!(py, "make_vec"))?;
            let kwargs = convert::to_dict(py, options.settings())?;
            let env = make_vec.call((env_id, num_envs), Some(&kwargs))?;
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
            actions: ActionArray::new(py, spaces.num_envs, &spaces.actions)?,
            spaces,
            received: None,
            flight: Flight::default(),
            scratch: RefCell::default(),
        })
    }

    /// The Gymnasium id that the environments were made with.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
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
