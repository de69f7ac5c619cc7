//! [`SubEnv`]: one environment of a batch.

use super::{Image, StepBatch, Value, VecEnv};
use crate::EnvError;

/// Reaches one environment of a batch, wherever it runs. It can be used while no step is in flight.
#[derive(Debug)]
pub struct SubEnv<'a, E: VecEnv + ?Sized> {
    env: &'a mut E,
    index: usize,
}

/// Handles of a batch's environments, for every [`VecEnv`] and for `dyn VecEnv`.
pub trait SubEnvs: VecEnv {
    /// The environment of this index.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`] if the batch has none.
    fn sub_environment(&mut self, index: usize) -> Result<SubEnv<'_, Self>, EnvError> {
        let num_envs = self.num_envs();
        if index >= num_envs {
            return Err(EnvError::NoSuchEnv { index, num_envs });
        }
        Ok(SubEnv { env: self, index })
    }
}

impl<E: VecEnv + ?Sized> SubEnvs for E {}

/// Every method does for one environment what the method of its name in [`VecEnv`] does for several,
/// and fails as that does.
impl<E: VecEnv + ?Sized> SubEnv<'_, E> {
    /// Which one it is.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Restarts it and writes its first observation to `obs_row`.
    pub fn reset(
        &mut self,
        seed: Option<u64>,
        obs_row: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        self.env.reset_at(self.index, seed, obs_row, batch)
    }

    /// What it shows.
    pub fn render(&mut self) -> Result<Image, EnvError> {
        self.env.render_at(self.index)
    }

    /// Its attribute `name`, called with the arguments if it is a method.
    pub fn call(
        &mut self,
        name: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
    ) -> Result<Value, EnvError> {
        let values = self.env.call(name, args, kwargs, Some(&[self.index]))?;
        single(values, name)
    }

    /// Its attribute `name`.
    pub fn get_attr(&mut self, name: &str) -> Result<Value, EnvError> {
        single(self.env.get_attr(name, Some(&[self.index]))?, name)
    }

    /// Sets its attribute `name`.
    pub fn set_attr(&mut self, name: &str, value: impl Into<Value>) -> Result<(), EnvError> {
        self.env
            .set_attr(name, &[value.into()], Some(&[self.index]))
    }

    /// Its whole state.
    pub fn save_state(&mut self) -> Result<Vec<u8>, EnvError> {
        single(self.env.save_state(Some(&[self.index]))?, "save_state")
    }

    /// Brings it to a state that was saved; `obs` and `batch` are of the whole batch.
    pub fn restore_state(
        &mut self,
        state: &[u8],
        obs: &mut [u8],
        batch: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let states = [state.to_vec()];
        self.env
            .restore_state(&states, Some(&[self.index]), obs, batch)
    }
}

fn single<T>(mut values: Vec<T>, what: &str) -> Result<T, EnvError> {
    values
        .pop()
        .ok_or_else(|| EnvError::Order(format!("{what}: the batch answered for no environment")))
}
