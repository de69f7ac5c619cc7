//! What the spaces of a Gymnasium vector environment say, as far as this interface carries them.

use std::iter;

use pyo3::{intern, prelude::*};
use vec_env::{ActionSpace, AutoresetMode, BatchSpec, Dtype, EnvError, ObsSpec};

use crate::error::CallError;

/// Sizes and types of a batch of environments.
#[derive(Debug)]
pub(super) struct Spaces {
    pub batch: BatchSpec,
    /// Python's observations are float64; they cross as float32.
    pub narrows_obs: bool,
    /// `[num_envs, ...obs_spec.shape]`
    pub batch_shape: Vec<i64>,
}

impl Spaces {
    /// Reads the attributes of an `atari_wrappers.VecEnv`.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] names what is not carried and what is.
    pub fn read(id: &str, env: &Bound<'_, PyAny>) -> Result<Self, CallError> {
        let py = env.py();
        let unsupported = |what: String| EnvError::Unsupported(format!("`{id}`: {what}"));
        let num_envs: usize = env.getattr(intern!(py, "num_envs"))?.extract()?;
        let action_space = action_space(&env.getattr(intern!(py, "single_action_space"))?)?
            .map_err(unsupported)?;
        let (obs_spec, narrows_obs) =
            obs_spec(&env.getattr(intern!(py, "single_observation_space"))?)?
                .map_err(unsupported)?;
        let settings = env.getattr(intern!(py, "settings"))?;
        let batch_shape = iter::once(&num_envs).chain(&obs_spec.shape);
        Ok(Self {
            batch_shape: batch_shape.map(|&size| size as i64).collect(),
            batch: BatchSpec {
                backend: env.getattr(intern!(py, "backend"))?.extract()?,
                batch_size: env.getattr(intern!(py, "batch_size"))?.extract()?,
                num_players: settings.getattr(intern!(py, "num_players"))?.extract()?,
                autoreset_mode: autoreset_mode(env)?.map_err(unsupported)?,
                ..BatchSpec::new(num_envs, obs_spec, action_space)
            },
            narrows_obs,
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

fn dtype_name(space: &Bound<'_, PyAny>) -> PyResult<String> {
    let dtype = space.getattr(intern!(space.py(), "dtype"))?;
    dtype.getattr(intern!(space.py(), "name"))?.extract()
}

fn action_space(space: &Bound<'_, PyAny>) -> PyResult<Result<ActionSpace, String>> {
    let py = space.py();
    let refuse = |what: &str| Ok(Err(format!("the action space is {space}; {what}")));
    if is_space(space, "Discrete")? {
        let start: i64 = space.getattr(intern!(py, "start"))?.extract()?;
        if start != 0 {
            return refuse("only actions that start at 0 are supported");
        }
        let n = space.getattr(intern!(py, "n"))?.extract()?;
        return Ok(Ok(ActionSpace::Discrete { n }));
    }
    if is_space(space, "MultiDiscrete")? {
        let start: Vec<i64> = flat(&space.getattr(intern!(py, "start"))?)?;
        if start.iter().any(|&first| first != 0) {
            return refuse("only actions that start at 0 are supported");
        }
        let nvec = flat(&space.getattr(intern!(py, "nvec"))?)?;
        return Ok(Ok(ActionSpace::MultiDiscrete { nvec }));
    }
    if is_space(space, "Box")? {
        if dtype_name(space)? != "float32" {
            return refuse("of Box ones only those of float32 are supported");
        }
        return Ok(Ok(ActionSpace::Box {
            shape: space.getattr(intern!(py, "shape"))?.extract()?,
            low: flat(&space.getattr(intern!(py, "low"))?)?,
            high: flat(&space.getattr(intern!(py, "high"))?)?,
        }));
    }
    refuse("only Discrete, MultiDiscrete and Box ones are supported")
}

/// The items of a numpy array, C order.
fn flat<T>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>>
where
    Vec<T>: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    let py = array.py();
    let items = array.call_method0(intern!(py, "ravel"))?;
    items.call_method0(intern!(py, "tolist"))?.extract()
}

/// What crosses, and whether it is made float32 for that.
fn obs_spec(space: &Bound<'_, PyAny>) -> PyResult<Result<(ObsSpec, bool), String>> {
    if !is_space(space, "Box")? {
        return Ok(Err(format!(
            "the observation space is {space}; only Box ones are supported"
        )));
    }
    let name = dtype_name(space)?;
    let dtype = match name.as_str() {
        "uint8" => Dtype::Uint8,
        "float32" | "float64" => Dtype::Float32,
        _ => {
            return Ok(Err(format!(
                "observations are {name}; only uint8, float32 and float64 ones are supported \
                 (gymnasium.wrappers.DtypeObservation converts)"
            )));
        }
    };
    let shape = space.getattr(intern!(space.py(), "shape"))?.extract()?;
    Ok(Ok((ObsSpec { shape, dtype }, name == "float64")))
}

fn autoreset_mode(env: &Bound<'_, PyAny>) -> PyResult<Result<AutoresetMode, String>> {
    let py = env.py();
    let mode = env
        .getattr(intern!(py, "metadata"))?
        .get_item(intern!(py, "autoreset_mode"))?;
    let mode: String = mode.getattr(intern!(py, "name"))?.extract()?;
    Ok(match mode.as_str() {
        "SAME_STEP" => Ok(AutoresetMode::SameStep),
        "NEXT_STEP" => Ok(AutoresetMode::NextStep),
        "DISABLED" => Ok(AutoresetMode::Disabled),
        _ => Err(format!("the autoreset mode {mode} is unknown")),
    })
}
