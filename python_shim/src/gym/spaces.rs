//! What the spaces of a Gymnasium vector environment say, as far as this interface carries them.

use pyo3::{intern, prelude::*};
use tch::Kind;

use crate::{EnvError, ObsSpec};

/// Sizes and types of a batch of environments.
#[derive(Debug)]
pub(super) struct Spaces {
    pub num_envs: usize,
    pub num_actions: i64,
    pub obs: ObsSpec,
    /// `[num_envs, ...obs.shape]`
    pub batch_shape: Vec<i64>,
}

impl Spaces {
    /// Reads the attributes of a `gymnasium.vector.VectorEnv`.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] names what is not carried and what is.
    pub fn read(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, EnvError> {
        let py = env.py();
        let unsupported = |what: String| EnvError::Unsupported {
            env: id.to_owned(),
            what,
        };
        check_autoreset(env)?.map_err(unsupported)?;
        let num_envs: usize = env.getattr(intern!(py, "num_envs"))?.extract()?;
        let num_actions =
            num_actions(&env.getattr(intern!(py, "single_action_space"))?)?.map_err(unsupported)?;
        let obs = obs_spec(&env.getattr(intern!(py, "single_observation_space"))?)?
            .map_err(unsupported)?;
        let batch_shape = [&[num_envs as i64], obs.shape.as_slice()].concat();
        Ok(Self {
            num_envs,
            num_actions,
            obs,
            batch_shape,
        })
    }
}

fn is_space(space: &Bound<'_, PyAny>, class: &str) -> PyResult<bool> {
    space.is_instance(
        &space
            .py()
            .import(intern!(space.py(), "gymnasium.spaces"))?
            .getattr(class)?,
    )
}

fn num_actions(space: &Bound<'_, PyAny>) -> PyResult<Result<i64, String>> {
    if !is_space(space, "Discrete")? {
        return Ok(Err(format!(
            "the action space is {space}; only Discrete ones are supported"
        )));
    }
    let start: i64 = space.getattr(intern!(space.py(), "start"))?.extract()?;
    if start != 0 {
        return Ok(Err(format!(
            "the action space is {space}; only actions that start at 0 are supported"
        )));
    }
    space.getattr(intern!(space.py(), "n"))?.extract().map(Ok)
}

fn obs_spec(space: &Bound<'_, PyAny>) -> PyResult<Result<ObsSpec, String>> {
    let py = space.py();
    if !is_space(space, "Box")? {
        return Ok(Err(format!(
            "the observation space is {space}; only Box ones are supported"
        )));
    }
    let dtype: String = space
        .getattr(intern!(py, "dtype"))?
        .getattr(intern!(py, "name"))?
        .extract()?;
    let kind = match dtype.as_str() {
        "uint8" => Kind::Uint8,
        "float32" => Kind::Float,
        _ => {
            return Ok(Err(format!(
                "observations are {dtype}; only uint8 and float32 ones are supported \
                 (gymnasium.wrappers.DtypeObservation converts)"
            )));
        }
    };
    let shape = space.getattr(intern!(py, "shape"))?.extract()?;
    Ok(Ok(ObsSpec { shape, kind }))
}

/// Next-step autoreset makes a step per episode in which the action counts for nothing; a learner
/// that does not know would train on it.
fn check_autoreset(env: &Bound<'_, PyAny>) -> PyResult<Result<(), String>> {
    let mode = env
        .getattr(intern!(env.py(), "metadata"))?
        .get_item(intern!(env.py(), "autoreset_mode"))?;
    let mode: String = mode.getattr(intern!(env.py(), "name"))?.extract()?;
    Ok(if mode == "SAME_STEP" {
        Ok(())
    } else {
        Err(format!(
            "the autoreset mode is {mode}; only same-step is supported"
        ))
    })
}
