//! What environments must be like: before they are made, and before anything learns in them.

use python_shim::{AtariRequest, MakeOptions};
use tch::Device;
use vec_env::{ActionSpace, AutoresetMode, ObsSpec, VecEnv};

use super::make;
use crate::{
    device,
    error::TrainerError,
    memory,
    settings::{EnvSettings, Recipe, Settings},
};

/// Refuses a recipe that was asked for where nothing reads it.
///
/// # Errors
/// [`TrainerError::Setting`] for environments that are no Atari games; what `atari_wrappers` refuses.
pub fn check_recipe(settings: &EnvSettings) -> Result<(), TrainerError> {
    if settings.recipe == Recipe::Default {
        return Ok(());
    }
    match AtariRequest::resolve(&settings.env_id, &MakeOptions::new()) {
        Ok(None) => {
            let problem = format!("is not read: `{}` is no Atari game", settings.env_id);
            Err(TrainerError::setting("recipe", settings.recipe, problem))
        }
        // What is wrong with the id is said where the environments are made.
        _ => Ok(()),
    }
}

/// So many environments are made without a look at the memory that they take: it is too little to matter.
const FEW: usize = 64;

/// Refuses many environments that do not fit into memory, together with what `others` says that their
/// observations and the host take beside. One is made to see what they are like.
pub(super) fn check_memory(
    settings: &Settings,
    num_envs: usize,
    options: &MakeOptions,
    others: impl FnOnce(&ObsSpec, bool) -> Vec<memory::Need>,
) -> Result<(), TrainerError> {
    if num_envs <= FEW {
        return Ok(());
    }
    let mut one = make(settings, 1, options)?;
    let (env, is_atari) = (one.env(), is_atari(&settings.env.env_id));
    let envs = memory::Envs {
        count: num_envs,
        backend: env.backend(),
        are_atari: is_atari,
    };
    let mut needs = Vec::from(envs.needs(settings, env.obs_spec()));
    let on_host = device::select(settings.machine.device)? == Device::Cpu;
    needs.extend(others(env.obs_spec(), on_host));
    env.close()?;
    memory::check_run(settings, &needs)
}

/// Whether an id is that of an Atari game; no for what is no id.
fn is_atari(env_id: &str) -> bool {
    let request = AtariRequest::resolve(env_id, &MakeOptions::new());
    request.is_ok_and(|request| request.is_some())
}

/// Refuses environments that no learner here can learn in.
///
/// # Errors
/// [`TrainerError::Usage`] for actions that are several choices at once, for several players, for batches
/// of another size than a group of `env_groups`, and for other autoreset modes than same-step: next-step makes a
/// step per episode in which the action counts for nothing, and a learner would train on it.
pub fn check(env_id: &str, env_groups: usize, env: &dyn VecEnv) -> Result<(), TrainerError> {
    let unfit = |what: String| Err(TrainerError::Usage(format!("`{env_id}` {what}")));
    match env.action_space() {
        ActionSpace::Discrete { .. } => {}
        ActionSpace::Box { low, .. } if !low.is_empty() => {}
        space => {
            return unfit(format!(
                "has the actions {space:?}; only Discrete and Box ones can be learned"
            ));
        }
    }
    if env.num_players() != 1 {
        return unfit(format!("has {} players; one can learn", env.num_players()));
    }
    if env.batch_size() * env_groups != env.num_envs() {
        return unfit(format!(
            "gives {} of {} environments at once; {} are needed",
            env.batch_size(),
            env.num_envs(),
            env.num_envs() / env_groups
        ));
    }
    match env.autoreset_mode() {
        AutoresetMode::SameStep => Ok(()),
        mode => unfit(format!(
            "has the autoreset mode {mode:?}; SameStep is needed"
        )),
    }
}
