//! Looking into the environments: pictures, attributes, random actions, worker processes.

use pyo3::{
    buffer::PyBuffer,
    prelude::*,
    types::{PyDict, PyList},
};
use vec_env::{ActionBatch, ActionSpace, EnvError, Picture};

use super::{arrays, env::VecGymEnv};
use crate::{
    error::CallError,
    value::{self, Value},
};

/// `indices` are those of environments, `None` for all. While a step is in flight, whatever asks the
/// environments is [`EnvError::Order`].
impl VecGymEnv {
    /// Seeds what [`VecGymEnv::sample_actions`] draws.
    ///
    /// # Errors
    /// [`EnvError::Closed`].
    pub fn seed_actions(&mut self, seed: u64) -> Result<(), EnvError> {
        Ok(self.with_env(|env| {
            env.getattr("action_space")?.call_method1("seed", (seed,))?;
            Ok(())
        })?)
    }

    /// Draws random actions for all environments.
    ///
    /// # Errors
    /// [`EnvError::Closed`].
    pub fn sample_actions(&mut self) -> Result<ActionBatch, EnvError> {
        Ok(self.with_env(|env| {
            let drawn = env.getattr("action_space")?.call_method0("sample")?;
            let flat = drawn.call_method0("ravel")?.call_method0("tolist")?;
            Ok(match self.spec.action_space {
                ActionSpace::Box { .. } => ActionBatch::Continuous(flat.extract()?),
                _ => ActionBatch::Discrete(flat.extract()?),
            })
        })?)
    }

    /// What each environment shows.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] where an environment shows nothing.
    pub fn render(&mut self) -> Result<Vec<Picture>, EnvError> {
        let read = |pictures: Bound<'_, PyAny>| {
            let pictures = pictures.try_iter()?;
            pictures.map(|each| picture(&self.id, &each?)).collect()
        };
        Ok(self.call_python("render", |_| Ok(()), read)?)
    }

    /// What one environment shows.
    ///
    /// # Errors
    /// Those of [`VecGymEnv::render`].
    pub fn render_at(&mut self, index: usize) -> Result<Picture, EnvError> {
        let fill = |kwargs: &Bound<'_, PyDict>| kwargs.set_item("index", index);
        let read = |array: Bound<'_, PyAny>| picture(&self.id, &array);
        Ok(self.call_python("render_at", fill, read)?)
    }

    /// What all environments show, side by side in one picture.
    ///
    /// # Errors
    /// Those of [`VecGymEnv::render`].
    pub fn render_tiles(&mut self) -> Result<Picture, EnvError> {
        let read = |array: Bound<'_, PyAny>| picture(&self.id, &array);
        Ok(self.call_python("render_tiles", |_| Ok(()), read)?)
    }

    /// Each environment's attribute `name`, called with the arguments if it is a method.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for what is not a [`Value`].
    pub fn call(
        &mut self,
        name: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
        indices: Option<&[usize]>,
    ) -> Result<Vec<Value>, EnvError> {
        let value = |answer: Bound<'_, PyAny>| {
            value::from_python(&answer).map_err(|error| match error {
                CallError::Env(EnvError::Unsupported(type_name)) => {
                    let what = format!("a Python `{type_name}`, which has no counterpart here");
                    arrays::broken(&self.id, &format!("`{name}` is {what}"))
                }
                error => error,
            })
        };
        Ok(self.with_env(|env| {
            let positional = value::to_list(env.py(), args)?;
            positional.insert(0, name)?;
            let keywords = value::to_dict(env.py(), kwargs)?;
            keywords.set_item("indices", indices)?;
            let answers = env.call_method("call", positional.to_tuple(), Some(&keywords))?;
            answers.try_iter()?.map(|answer| value(answer?)).collect()
        })?)
    }

    /// An attribute of each environment.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for what is not a [`Value`].
    pub fn get_attr(
        &mut self,
        name: &str,
        indices: Option<&[usize]>,
    ) -> Result<Vec<Value>, EnvError> {
        self.call(name, &[], &[], indices)
    }

    /// Sets an attribute of each environment to the value for it; a single value counts for all.
    ///
    /// # Errors
    /// What the environments raise.
    pub fn set_attr(
        &mut self,
        name: &str,
        values: &[Value],
        indices: Option<&[usize]>,
    ) -> Result<(), EnvError> {
        let count = indices.map_or(self.spec.num_envs, <[usize]>::len);
        let fill = |kwargs: &Bound<'_, PyDict>| {
            let py = kwargs.py();
            let each = match values {
                [value] => PyList::new(py, vec![value::to_python(py, value)?; count])?,
                values => value::to_list(py, values)?,
            };
            kwargs.set_item("indices", indices)?;
            kwargs.set_item("name", name)?;
            kwargs.set_item("values", each)
        };
        Ok(self.call_python("set_attr", fill, |_| Ok(()))?)
    }

    /// Does what [`VecEnv::restart_workers`](vec_env::VecEnv::restart_workers) does, for the
    /// environments of `indices`, whether they failed or not.
    ///
    /// # Errors
    /// [`EnvError::Worker`] where one failed again.
    pub fn restart_workers_at(
        &mut self,
        indices: Option<&[usize]>,
    ) -> Result<Vec<usize>, EnvError> {
        let fill = |kwargs: &Bound<'_, PyDict>| kwargs.set_item("indices", indices);
        let read = |restarted: Bound<'_, PyAny>| Ok(restarted.extract()?);
        Ok(self.call_python("restart_workers", fill, read)?)
    }

    /// Ids of the processes that step the environments, in the order of these; none where this one does.
    ///
    /// # Errors
    /// [`EnvError::Closed`].
    pub fn worker_pids(&self) -> Result<Vec<u32>, EnvError> {
        Ok(self.with_env(|env| Ok(env.getattr("worker_pids")?.extract()?))?)
    }
}

/// A picture out of a uint8 array `[height, width, 3]`.
fn picture(id: &str, array: &Bound<'_, PyAny>) -> Result<Picture, CallError> {
    let unfit = |what: String| {
        let problem = format!("a picture is {what}, not uint8 [height, width, 3]");
        arrays::broken(id, &problem)
    };
    let buffer = PyBuffer::<u8>::get(array).map_err(|error| unfit(error.to_string()))?;
    let &[height, width, 3] = buffer.shape() else {
        return Err(unfit(format!("of shape {:?}", buffer.shape())));
    };
    Ok(Picture {
        width,
        height,
        rgb: buffer.to_vec(array.py())?,
    })
}
