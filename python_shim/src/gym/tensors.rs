//! The methods of `VecGymEnv` in tch-rs' reinforcement-learning example, with the same signatures, so
//! that code written for it runs unchanged.

use pyo3::{buffer::PyUntypedBuffer, intern, prelude::*};
use tch::{Kind, Tensor};

use vec_env::{Actions, Dtype};

use super::{arrays, env::VecGymEnv};
use crate::{error::CallError, interpreter};

/// What a step brought, of all environments, or of those that are received together where batches are smaller.
#[derive(Debug)]
pub struct Step {
    /// Float `[nprocesses, ...]`, in the environment's own units (0 to 255 for images); where an
    /// episode ended, the first observation of the next one.
    pub obs: Tensor,
    /// Float `[nprocesses]`: the reward to learn from, clipped to its sign for Atari. With two players, two numbers an
    /// environment, one after the other.
    pub reward: Tensor,
    /// Float `[nprocesses]`: 1.0 where an episode ended, for whichever reason, else 0.0.
    pub is_done: Tensor,
}

impl VecGymEnv {
    /// Makes `nprocesses` environments with id `name`. With `img_dir`, every raw frame is written
    /// there as a picture.
    ///
    /// # Errors
    /// Whatever `atari_wrappers.make` raises, such as `ValueError` for an unknown id, and for spaces
    /// that [`VecGymEnv::make_vec`] refuses; `RuntimeError` when Python or a package is missing.
    pub fn new(name: &str, img_dir: Option<&str>, nprocesses: i64) -> PyResult<VecGymEnv> {
        let make = || -> Result<Self, CallError> {
            interpreter::start()?;
            Python::attach(|py| {
                let make = interpreter::atari_wrappers(py)?.getattr(intern!(py, "make"))?;
                Self::from_python(name, &make.call1((name, img_dir, nprocesses))?)
            })
        };
        make().map_err(|error| {
            interpreter::start_for_messages();
            error.into()
        })
    }

    /// Starts new episodes everywhere: Float `[nprocesses, ...]`.
    ///
    /// # Errors
    /// Whatever the environment raises; `RuntimeError` after a close.
    pub fn reset(&self) -> PyResult<Tensor> {
        let buffer = self.reset_python(None, &mut self.scratch.borrow_mut())?;
        Ok(self.to_tensor(&buffer))
    }

    /// One step of every environment, or of those received last where batches are smaller; `action` holds one action for
    /// each, or as many as [`ActionSpace::num_values`](vec_env::ActionSpace::num_values) says.
    ///
    /// # Errors
    /// `ValueError` for a wrong number of actions or one out of range, `RuntimeError` before the first
    /// reset or after a close, and whatever the environment raises.
    #[expect(clippy::needless_pass_by_value, reason = "the signature of tch-rs")]
    pub fn step(&self, action: Vec<i64>) -> PyResult<Step> {
        self.send_python(Actions::Discrete(&action), None, None, None)?;
        let mut step = self.scratch.borrow_mut();
        let buffer = self.recv_python(None, None, &mut step)?;
        let is_done: Vec<f32> = (0..step.terminated.len())
            .map(|env| f32::from(u8::from(step.is_done(env))))
            .collect();
        let reward = Tensor::from_slice(&step.reward);
        drop(step);
        Ok(Step {
            obs: self.to_tensor(&buffer),
            reward,
            is_done: Tensor::from_slice(&is_done),
        })
    }

    /// Number of discrete actions.
    #[must_use]
    pub fn action_space(&self) -> i64 {
        self.spec.action_space.num_actions()
    }

    /// Shape of what [`VecGymEnv::reset`] returns, `nprocesses` first.
    #[must_use]
    pub fn observation_space(&self) -> &[i64] {
        &self.batch_shape
    }

    fn to_tensor(&self, buffer: &PyUntypedBuffer) -> Tensor {
        let bytes = arrays::bytes(buffer);
        let spec = &self.spec.obs_spec;
        let num_rows = bytes.len() / spec.num_bytes();
        let shape = [&[num_rows as i64], &self.batch_shape[1..]].concat();
        let kind = match spec.dtype {
            Dtype::Uint8 => Kind::Uint8,
            Dtype::Float32 => Kind::Float,
        };
        Tensor::from_data_size(bytes, &shape, kind).to_kind(Kind::Float)
    }
}
