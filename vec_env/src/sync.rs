//! [`SyncVecEnv`]: a batch of single Rust environments, stepped in the calling thread.

use std::time::Duration;

use crate::{
    env::Env,
    error::EnvError,
    slot::ObsSlot,
    spaces::{Actions, AutoresetMode, BatchSpec},
    step::StepBatch,
    sub_env::{SubEnv, restore_all, save_all},
    turn::Turn,
    vec_env::VecEnv,
};

/// A batch of environments of one kind, with same-step autoreset and a record of each episode.
#[derive(Debug)]
pub struct SyncVecEnv<E> {
    envs: Vec<SubEnv<E>>,
    spec: BatchSpec,
    turn: Turn,
}

impl<E: Env> SyncVecEnv<E> {
    /// A batch of `num_envs` environments, each from one call of `make` with its index.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for no environment at all, for some with different spaces, and as
    /// [`ObsSpec::check`](crate::ObsSpec::check).
    pub fn new(num_envs: usize, make: impl FnMut(usize) -> E) -> Result<Self, EnvError> {
        let envs: Vec<E> = (0..num_envs).map(make).collect();
        let spec = spec_of(&envs)?;
        let sub_env = |env| SubEnv::new(env, AutoresetMode::SameStep);
        Ok(Self {
            spec,
            envs: envs.into_iter().map(sub_env).collect(),
            turn: Turn::default(),
        })
    }
}

/// What all environments of a batch have, which is checked.
pub(crate) fn spec_of<E: Env>(envs: &[E]) -> Result<BatchSpec, EnvError> {
    let spaces = |env: &E| (env.obs_spec(), env.action_space());
    let mut all = envs.iter().map(spaces);
    let first = all.next().ok_or_else(no_envs)?;
    check_alike(all.position(|other| other != first))?;
    let spec = BatchSpec::new(envs.len(), first.0, first.1);
    spec.obs_spec.check()?;
    Ok(spec)
}

/// Refuses a batch where this one behind the first environment has other spaces.
pub(crate) fn check_alike(other: Option<usize>) -> Result<(), EnvError> {
    other.map_or(Ok(()), |index| {
        let index = index + 1;
        Err(EnvError::Unsupported(format!(
            "environments 0 and {index} have different spaces; rows of a batch need the same"
        )))
    })
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
        self.turn.begin_reset(&self.spec, obs)?;
        let rows = obs.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        for (index, (env, row)) in self.envs.iter_mut().zip(rows).enumerate() {
            env.reset(seed.map(|seed| seed.wrapping_add(index as u64)), row);
        }
        self.turn.set_ready();
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.turn.send(&self.spec, actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let (actions, mut obs) = self.turn.recv()?;
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
        self.turn.check_ready("save_state")?;
        save_all(&mut self.envs).ok_or_else(|| self.has_no_states())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.turn.begin_restore(&self.spec, obs)?;
        self.spec.check_states(states)?;
        let unsupported = self.has_no_states();
        restore_all(self.envs.iter_mut().collect(), states, obs, unsupported)?;
        self.turn.set_ready();
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.turn.close();
        Ok(())
    }
}
