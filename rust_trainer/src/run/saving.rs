//! What a run writes as checkpoints, and when there is nothing new to write.

use super::{Checkpoint, EnvStates, Run, checkpoints};
use crate::error::TrainerError;

impl Run {
    /// Writes a checkpoint of what is learned, unless there is one.
    pub(super) fn save(&mut self) -> Result<(), TrainerError> {
        if self.saved == Some(self.learned.step) {
            return Ok(());
        }
        self.report.sync()?;
        match self.checkpoint_to_save()? {
            Some(checkpoint) => self.write_checkpoint(&checkpoint),
            None => Ok(()),
        }
    }

    pub(super) fn write_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), TrainerError> {
        let folder = self.folder.checkpoints();
        let step = checkpoint.counters.step;
        if self.saved.is_some_and(|saved| saved >= step) {
            return Ok(());
        }
        let saved = checkpoint.save(&folder);
        if checkpoint.path_in(&folder).is_file() {
            self.saved = Some(step); // even where its replay memory could not be written
        }
        saved?;
        checkpoints::drop_old(&folder, self.settings.run.keep_checkpoints)
    }

    /// What is learned, as a checkpoint holds it.
    pub(super) fn checkpoint(&self, envs: EnvStates) -> Result<Checkpoint, TrainerError> {
        let checkpoint = Checkpoint {
            settings: self.settings.clone(),
            counters: self.learned,
            arithmetic: self.arithmetic.clone(),
            obs_spec: self.env.obs_spec().clone(),
            action_space: self.env.action_space().clone(),
            state: self.algorithm.state()?,
            envs,
            replay: None,
            evaluation: None,
        };
        // Numbers that are none can come of the last gradient step; the loss shows them one update later.
        let finite = checkpoint.check_finite();
        finite.map_err(|_| TrainerError::Diverged {
            what: "what is learned",
        })?;
        Ok(checkpoint)
    }

    /// The environments, where they stand between two updates and can be saved.
    pub(super) fn env_states(&mut self) -> EnvStates {
        if !self.at_boundary {
            let why = "the run was ended in the middle of an update, which is lost";
            return EnvStates::Missing(why.to_owned());
        }
        match self.env.save_state() {
            Ok(states) => EnvStates::Saved(states),
            Err(error) => EnvStates::Missing(error.to_string()),
        }
    }
}
