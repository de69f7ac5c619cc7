//! [`SyncVecEnv`]: a batch of single Rust environments, stepped in the calling thread.

use std::time::Duration;

use crate::{
    env::Env,
    error::EnvError,
    slot::ObsSlot,
    spaces::{ActionBatch, Actions, AutoresetMode, BatchSpec},
    step::StepBatch,
    sub_env::{SubEnv, restore_all, save_all},
    vec_env::VecEnv,
};

/// A batch of environments of one kind, with same-step autoreset and a record of each episode.
#[derive(Debug)]
pub struct SyncVecEnv<E> {
    envs: Vec<SubEnv<E>>,
    spec: BatchSpec,
    was_reset: bool,
    in_flight: Option<(ActionBatch, ObsSlot)>,
    is_closed: bool,
}

impl<E: Env> SyncVecEnv<E> {
    /// A batch of `num_envs` environments, each from one call of `make` with its index.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for no environment at all, and as [`ObsSpec::check`](crate::ObsSpec::check).
    pub fn new(num_envs: usize, mut make: impl FnMut(usize) -> E) -> Result<Self, EnvError> {
        let mode = AutoresetMode::SameStep;
        let envs: Vec<_> = (0..num_envs)
            .map(|index| SubEnv::new(make(index), mode))
            .collect();
        let first = &envs.first().ok_or_else(no_envs)?.env;
        let spec = BatchSpec::new(num_envs, first.obs_spec(), first.action_space());
        spec.obs_spec.check()?;
        Ok(Self {
            spec,
            envs,
            was_reset: false,
            in_flight: None,
            is_closed: false,
        })
    }

    /// The environments, to look into.
    pub fn envs(&self) -> impl Iterator<Item = &E> {
        self.envs.iter().map(|sub_env| &sub_env.env)
    }

    /// Why states cannot be saved or brought back now, if so.
    fn check_idle(&self, call: &str) -> Result<(), EnvError> {
        self.check_open()?;
        if self.in_flight.is_some() {
            return Err(EnvError::Order(format!("{call}: call recv first")));
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), EnvError> {
        if self.is_closed {
            return Err(EnvError::Closed);
        }
        Ok(())
    }
}

/// The error of a batch of none.
pub(crate) fn no_envs() -> EnvError {
    EnvError::Unsupported("a batch needs at least 1 environment, got 0".to_owned())
}

impl<E: Env> VecEnv for SyncVecEnv<E> {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.in_flight = None;
        let rows = obs.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        for (index, (env, row)) in self.envs.iter_mut().zip(rows).enumerate() {
            env.reset(seed.map(|seed| seed.wrapping_add(index as u64)), row);
        }
        self.was_reset = true;
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.check_idle("send")?;
        if !self.was_reset {
            return Err(EnvError::Order("send: call reset first".to_owned()));
        }
        let space = &self.spec.action_space;
        space.check(actions, self.envs.len(), |row| row)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        self.in_flight = Some((actions.to_batch(), obs));
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.check_open()?;
        let Some((actions, mut obs)) = self.in_flight.take() else {
            return Err(EnvError::Order("recv: call send first".to_owned()));
        };
        step.clear(self.envs.len(), 1);
        let actions = actions.as_actions();
        let width = self.spec.action_space.num_values();
        let rows = obs.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        for (index, (env, row)) in self.envs.iter_mut().zip(rows).enumerate() {
            env.step(actions.row(index, width), row);
            env.fill(index, step);
        }
        Ok(())
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.check_idle("save_state")?;
        if !self.was_reset {
            return Err(EnvError::Order("save_state: call reset first".to_owned()));
        }
        save_all(&mut self.envs).ok_or_else(|| self.has_no_states())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_idle("restore_state")?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.spec.check_states(states)?;
        let unsupported = self.has_no_states();
        restore_all(self.envs.iter_mut().collect(), states, obs, unsupported)?;
        self.was_reset = true;
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.is_closed = true;
        self.in_flight = None;
        Ok(())
    }
}
