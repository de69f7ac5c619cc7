//! What the spaces of a Gymnasium vector environment say, as far as this interface carries them.

use pyo3::prelude::*;
use vec_env::{ActionSpace, BatchSpec, Dtype, ObsSpec};

use super::arrays::broken;
use crate::error::CallError;

/// What a batch is by the attributes of an `atari_wrappers.VecEnv`, and whether its observations are float64, which
/// cross as float32.
///
/// # Errors
/// [`EnvError::Unsupported`](vec_env::EnvError::Unsupported) names what is not carried and what is.
pub(super) fn read(id: &str, env: &Bound<'_, PyAny>) -> Result<(BatchSpec, bool), CallError> {
    let action_space = action_space(id, &env.getattr("single_action_space")?)?;
    let (obs_spec, narrows_obs) = obs_spec(id, &env.getattr("single_observation_space")?)?;
    let num_envs = env.getattr("num_envs")?.extract()?;
    let settings = env.getattr("settings")?;
    let autoreset: String = settings.getattr("autoreset")?.extract()?;
    let spec = BatchSpec {
        backend: env.getattr("backend")?.extract()?,
        batch_size: env.getattr("batch_size")?.extract()?,
        num_players: settings.getattr("num_players")?.extract()?,
        autoreset_mode: autoreset.parse()?,
        ..BatchSpec::new(num_envs, obs_spec, action_space)
    };
    Ok((spec, narrows_obs))
}

fn is_space(space: &Bound<'_, PyAny>, class: &str) -> PyResult<bool> {
    let class = space.py().import("gymnasium.spaces")?.getattr(class)?;
    space.is_instance(&class)
}

fn dtype_name(space: &Bound<'_, PyAny>) -> PyResult<String> {
    space.getattr("dtype")?.getattr("name")?.extract()
}

fn action_space(id: &str, space: &Bound<'_, PyAny>) -> Result<ActionSpace, CallError> {
    let refuse = |what: &str| Err(broken(id, &format!("the action space is {space}; {what}")));
    let starts_elsewhere = || refuse("only actions that start at 0 are supported");
    if is_space(space, "Discrete")? {
        if space.getattr("start")?.extract::<i64>()? != 0 {
            return starts_elsewhere();
        }
        let n = space.getattr("n")?.extract()?;
        return Ok(ActionSpace::Discrete { n });
    }
    if is_space(space, "MultiDiscrete")? {
        let start: Vec<i64> = flat(&space.getattr("start")?)?;
        if start.iter().any(|&first| first != 0) {
            return starts_elsewhere();
        }
        let nvec = flat(&space.getattr("nvec")?)?;
        return Ok(ActionSpace::MultiDiscrete { nvec });
    }
    if !is_space(space, "Box")? {
        return refuse("only Discrete, MultiDiscrete and Box ones are supported");
    }
    if dtype_name(space)? != "float32" {
        return refuse("of Box ones only those of float32 are supported");
    }
    Ok(ActionSpace::Box {
        shape: space.getattr("shape")?.extract()?,
        low: flat(&space.getattr("low")?)?,
        high: flat(&space.getattr("high")?)?,
    })
}

/// The items of a numpy array, C order.
fn flat<T>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>>
where
    Vec<T>: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    array
        .call_method0("ravel")?
        .call_method0("tolist")?
        .extract()
}

fn obs_spec(id: &str, space: &Bound<'_, PyAny>) -> Result<(ObsSpec, bool), CallError> {
    if !is_space(space, "Box")? {
        let problem = format!("the observation space is {space}; only Box ones are supported");
        return Err(broken(id, &problem));
    }
    let name = dtype_name(space)?;
    let dtype = match name.as_str() {
        "uint8" => Dtype::Uint8,
        "float32" | "float64" => Dtype::Float32,
        _ => {
            let problem = format!(
                "observations are {name}; only uint8, float32 and float64 ones are supported \
                 (gymnasium.wrappers.DtypeObservation converts)"
            );
            return Err(broken(id, &problem));
        }
    };
    let shape = space.getattr("shape")?.extract()?;
    let spec = ObsSpec { shape, dtype };
    spec.check()
        .map_err(|error| broken(id, &error.to_string()))?;
    Ok((spec, name == "float64"))
}
