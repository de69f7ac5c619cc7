//! The past selves of a run: when its network is added to them, where they stand on the disk, how a resumed run has
//! them back.
//!
//! Each is a file of its own in the run's folder, with the network alone. They stay there, so that a league can rate
//! them; a checkpoint names those that the run plays against.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::json;
use tch::Device;

use super::{
    Run,
    checkpoints::{Checkpoint, EnvStates, files},
};
use crate::{
    algorithms::State,
    envs::{PastSelves, past_selves_in},
    error::TrainerError,
    ranks::Ranks,
};

/// The name of the list in a checkpoint.
const NAME: &str = "opponents";

impl Run {
    /// Whether there is nobody to play against, where somebody should be.
    pub(super) fn past_selves_are_empty(&self) -> bool {
        self.settings.env.opponent_games > 0 && self.past_selves.newest(1).is_empty()
    }

    /// Whether what is learned is as far from the newest past self as the settings say.
    pub(super) fn is_past_self_due(&self) -> bool {
        let env = &self.settings.env;
        let newest = self.past_selves.newest(1);
        let newest = newest.first().copied().unwrap_or_default();
        let is_past = self.learned.step / env.opponent_every > newest / env.opponent_every;
        env.opponent_games > 0 && is_past
    }

    /// Adds the present network to the past selves.
    pub(super) fn add_past_self(&mut self) -> Result<(), TrainerError> {
        let envs = EnvStates::Missing("a past self has no games of its own".to_owned());
        let past_self = self.checkpoint(self.algorithm.network_state(), envs)?;
        if self.ranks.is_first() {
            past_self.save(&self.folder.opponents())?;
        }
        let policy = past_self.policy(self.algorithm.policy().device())?;
        let count = self.settings.env.opponent_pool;
        self.past_selves.add(self.learned.step, policy, count);
        Ok(())
    }

    /// `state`, and in it those that the run plays against.
    pub(super) fn with_past_selves(&self, mut state: State) -> State {
        let env = &self.settings.env;
        if env.opponent_games > 0 {
            let newest = self.past_selves.newest(env.opponent_pool);
            state.values.insert(NAME.to_owned(), json!(newest));
        }
        state
    }
}

/// Has the past selves back that `checkpoint` names, and those that its games are played against, out of `folder`,
/// which rank 0 sees. Returns what is wrong with those that are missing.
pub(super) fn restore(
    past_selves: &PastSelves,
    checkpoint: &Checkpoint,
    folder: &Path,
    device: Device,
    ranks: &Ranks,
) -> Result<Vec<String>, TrainerError> {
    if checkpoint.settings.env.opponent_games == 0 {
        return Ok(Vec::new());
    }
    let named: Vec<u64> = checkpoint.state.value(NAME)?;
    let mut steps: BTreeSet<u64> = named.into_iter().collect();
    if let EnvStates::Saved(states) = &checkpoint.envs {
        steps.extend(past_selves_in(states));
    }
    let mut problems = Vec::new();
    for step in steps {
        let path = files::path_of(folder, step);
        let read = if ranks.is_first() {
            fs::read(&path).map_err(TrainerError::io("read", &path))
        } else {
            Ok(Vec::new())
        };
        let bytes = ranks.of_first(read.as_deref().unwrap_or_default())?;
        let policy = read.and_then(|_| Checkpoint::parse(&path, &bytes)?.policy(device));
        match policy {
            Ok(policy) => past_selves.add(step, policy, usize::MAX),
            Err(error) => problems.push(format!("{error}: a past self is missing")),
        }
    }
    Ok(problems)
}
