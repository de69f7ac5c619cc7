//! One rollout: what `num_envs` environments did in `num_steps` steps, and the observations' memory.

use std::{ptr::NonNull, sync::Mutex};

use tch::{Device, Kind, Tensor};
use vec_env::{Dtype, ObsSlot, ObsSpec};

/// Observations of a rollout, stored as the environment made them (uint8 for images).
///
/// `[num_steps + 1, num_envs, ...]`: an environment writes its next observations into row t + 1 while row
/// t is kept to learn from; the row behind the last step becomes the next rollout's first. On a CUDA
/// device the rows are pinned host memory, each copied to the device once, for acting and learning both.
#[derive(Debug)]
pub struct Observations {
    host: Tensor,
    device: Option<Tensor>,
    row_bytes: usize,
}

impl Observations {
    /// Memory for `num_steps` steps of `num_envs` environments.
    #[must_use]
    pub fn new(spec: &ObsSpec, num_steps: usize, num_envs: usize, device: Device) -> Self {
        let mut shape = vec![num_steps as i64 + 1, num_envs as i64];
        shape.extend(sizes(spec));
        let kind = kind(spec.dtype);
        let mut host = Tensor::zeros(&shape, (kind, Device::Cpu));
        let device = device.is_cuda().then(|| {
            host = host.pin_memory(device);
            Tensor::zeros(&shape, (kind, device))
        });
        Self {
            host,
            device,
            row_bytes: spec.num_bytes() * num_envs,
        }
    }

    /// The bytes of row `step`, for an environment to write to.
    ///
    /// # Panics
    /// If the rollout has no such row.
    pub fn slot(&mut self, step: usize) -> ObsSlot {
        assert!(
            (step as i64) < self.host.size()[0],
            "row {step} is behind the rollout"
        );
        let offset = step * self.row_bytes;
        let Some(start) = NonNull::new(self.host.data_ptr().cast::<u8>()) else {
            return vec![0; self.row_bytes].into();
        };
        // SAFETY: `host` is a contiguous tensor in host memory that is never resized, and the slot's
        // clone keeps it alive; row `step` lies inside it by the assertion, and the loops that hand a
        // row out read it after the environment has given it back.
        #[expect(unsafe_code, reason = "tch has no safe view of a tensor's bytes")]
        unsafe {
            let host = Mutex::new(self.host.shallow_clone());
            ObsSlot::from_raw_parts(start.add(offset), self.row_bytes, host)
        }
    }

    /// The observations of row `step` where the network runs, `[num_envs, ...]`.
    pub fn row(&self, step: usize) -> Tensor {
        let row = self.host.get(step as i64);
        match &self.device {
            None => row,
            Some(device) => {
                // Blocking, so that the environment may overwrite the row as soon as this returns.
                let mut target = device.get(step as i64);
                target.copy_(&row);
                target
            }
        }
    }

    /// All rows but the last, `[num_steps · num_envs, ...]`, where the network runs.
    pub fn flat(&self) -> Tensor {
        let all = self.device.as_ref().unwrap_or(&self.host);
        all.narrow(0, 0, all.size()[0] - 1).flatten(0, 1)
    }

    /// Makes the row behind the last step the first of the next rollout.
    pub fn wrap_around(&mut self) {
        let last = self.host.size()[0] - 1;
        self.host.get(0).copy_(&self.host.get(last));
    }
}

/// libtorch's name of a type.
#[must_use]
pub fn kind(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Uint8 => Kind::Uint8,
        Dtype::Float32 => Kind::Float,
    }
}

/// The shape of one observation as libtorch counts.
pub fn sizes(spec: &ObsSpec) -> impl Iterator<Item = i64> {
    spec.shape.iter().map(|&size| size as i64)
}

/// What the learner needs beside the observations; `[num_steps · num_envs]` each, step-major.
#[derive(Debug, Default)]
pub struct Rollout {
    /// Actions taken.
    pub actions: Vec<i64>,
    /// log π(action | observation) when it was taken.
    pub log_probs: Vec<f32>,
    /// V(observation) when the action was taken.
    pub values: Vec<f32>,
    /// Rewards to learn from; a truncated episode's last has γV(final observation) added.
    pub rewards: Vec<f32>,
    /// Whether the episode ended in this step.
    pub dones: Vec<bool>,
    /// V of the observations behind the last step, `[num_envs]`.
    pub last_values: Vec<f32>,
}

impl Rollout {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.actions.clear();
        self.log_probs.clear();
        self.values.clear();
        self.rewards.clear();
        self.dones.clear();
        self.last_values.clear();
    }
}

/// A rollout turned into tensors on the learner's device; `[batch]` each but `obs`, `[batch, ...]`.
#[derive(Debug)]
pub struct Batch {
    /// Observations in the environment's own type.
    pub obs: Tensor,
    /// Actions, int64.
    pub actions: Tensor,
    /// Log-probabilities of the actions under the policy that took them, float32.
    pub log_probs: Tensor,
    /// Values under the network that acted, float32.
    pub values: Tensor,
    /// Advantages, float32.
    pub advantages: Tensor,
    /// Targets of the value function, advantage + value, float32.
    pub returns: Tensor,
}

impl Batch {
    /// Moves a rollout and its advantages to where the observations are.
    #[must_use]
    pub fn new(obs: Tensor, rollout: &Rollout, advantages: &[f32]) -> Self {
        let device = obs.device();
        let floats = |values: &[f32]| Tensor::from_slice(values).to_device(device);
        let (values, advantages) = (floats(&rollout.values), floats(advantages));
        Self {
            obs,
            actions: Tensor::from_slice(&rollout.actions).to_device(device),
            log_probs: floats(&rollout.log_probs),
            returns: &advantages + &values,
            values,
            advantages,
        }
    }

    /// The samples at `indices`, int64 `[minibatch]`.
    #[must_use]
    pub fn select(&self, indices: &Tensor) -> Self {
        let pick = |tensor: &Tensor| tensor.index_select(0, indices);
        Self {
            obs: pick(&self.obs),
            actions: pick(&self.actions),
            log_probs: pick(&self.log_probs),
            values: pick(&self.values),
            advantages: pick(&self.advantages),
            returns: pick(&self.returns),
        }
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.actions.size()[0] as usize
    }

    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Explained variance of the value function, `1 − Var(returns − values) / Var(returns)`.
#[must_use]
pub fn explained_variance(batch: &Batch) -> f64 {
    let variance = batch.returns.var(false);
    let residual = (&batch.returns - &batch.values).var(false);
    1.0 - (residual / variance).double_value(&[])
}
