//! Environments in which several agents act at once, as batches with a row for each agent: those in Rust, and those of
//! `PettingZoo`'s parallel API.

use vec_env::{
    AgentRows, EnvError, RowLayout, VecEnv,
    envs::{CartPoles, Push, SimpleSpread},
};

use python_shim::ParallelEnv;

use super::{own_thread, request::EnvRequest};
use crate::settings::{
    AlgorithmSettings, Backend, OrRecipe, PETTINGZOO, PpoSettings, SIMPLE_SPREAD, Settings,
};

/// Agents where nothing is said.
const USUAL_SPREAD: usize = 3;
const USUAL_POLES: usize = 2;

/// What rows must show for what learns from them.
pub(crate) fn row_layout(settings: &Settings) -> RowLayout {
    match &settings.algorithm {
        AlgorithmSettings::Ppo(PpoSettings {
            central_critic,
            share_weights,
            ..
        }) => RowLayout {
            others: *central_critic,
            agent: !share_weights,
        },
        _ => RowLayout::default(),
    }
}

/// The environments that are asked for; `None` where the id is none of these.
///
/// # Errors
/// [`EnvError::Unsupported`] for what they have not.
pub(super) fn make(
    request: &EnvRequest<'_>,
    num_envs: usize,
) -> Option<Result<Box<dyn VecEnv>, EnvError>> {
    let (env_id, env) = (request.env_id(), &request.settings.env);
    if !env.has_agents() {
        return None;
    }
    let module = env_id.strip_prefix(PETTINGZOO);
    let refuse = |what: &str| Err(EnvError::Unsupported(format!("`{env_id}` {what}")));
    let has_one_backend = [Backend::Auto, Backend::Native].contains(&request.backend);
    Some(if !has_one_backend {
        refuse("has agents, and needs `backend` = auto or native")
    } else if request.has_pictures() {
        refuse("cannot be recorded")
    } else if env.num_players > 1 {
        refuse("has agents (num_agents) and no players (num_players)")
    } else if let Some(module) = module {
        of_python(module, request, num_envs)
    } else {
        in_rust(request, num_envs)
    })
}

fn is_continuous(settings: &Settings) -> bool {
    settings.env.continuous == OrRecipe::Value(true)
}

fn in_rust(request: &EnvRequest<'_>, num_envs: usize) -> Result<Box<dyn VecEnv>, EnvError> {
    let (env_id, settings) = (request.env_id(), request.settings);
    let (layout, is_continuous) = (row_layout(settings), is_continuous(settings));
    let count = |usual| match settings.env.num_agents {
        0 => usual,
        asked => asked,
    };
    if env_id == SIMPLE_SPREAD {
        let push = if is_continuous {
            Push::Continuous
        } else {
            Push::Discrete
        };
        let make = |index| SimpleSpread::new(count(USUAL_SPREAD), push, index as u64);
        return Ok(Box::new(AgentRows::new(num_envs, layout, make)?));
    }
    if is_continuous {
        let message = format!("`{env_id}` has no continuous actions");
        return Err(EnvError::Unsupported(message));
    }
    let make = |index| CartPoles::new(count(USUAL_POLES), index as u64);
    Ok(Box::new(AgentRows::new(num_envs, layout, make)?))
}

/// What `parallel_env` of a Python module makes; it steps in a thread of its own, for it may hang.
fn of_python(
    module: &str,
    request: &EnvRequest<'_>,
    num_envs: usize,
) -> Result<Box<dyn VecEnv>, EnvError> {
    let settings = request.settings;
    let (count, is_continuous) = (settings.env.num_agents, is_continuous(settings));
    let make = |_| ParallelEnv::new(module, count, is_continuous);
    let envs = (0..num_envs).map(make).collect::<Result<_, EnvError>>()?;
    let rows = AgentRows::of(envs, row_layout(settings))?.stepped_by("pettingzoo");
    let env_id = request.env_id();
    Ok(own_thread::if_needed(env_id, Box::new(rows)))
}
