//! What environments must be like before anything learns in them.

use vec_env::{ActionSpace, VecEnv};

use crate::{error::TrainerError, settings::Autoreset};

/// Refuses environments that no learner here can learn in.
///
/// # Errors
/// [`TrainerError::Usage`] for actions that are several choices at once, for several players, for batches
/// of another size than a group of `env_groups`, and for another mode than `autoreset`.
pub fn check(
    env_id: &str,
    env_groups: usize,
    autoreset: Autoreset,
    env: &dyn VecEnv,
) -> Result<(), TrainerError> {
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
    let (mode, needed) = (env.autoreset_mode(), autoreset.mode());
    if mode != needed {
        return unfit(format!(
            "has the autoreset mode {mode:?}; {needed:?} is needed"
        ));
    }
    Ok(())
}
