//! What is kept of a run that fails.

use super::{Run, RunFolder};
use crate::{device, error::TrainerError, panics::catch_panics, stop::StopRequest};

impl Run {
    /// Saves what can be saved after a failure, and says so.
    ///
    /// Weights in the midst of an update are not saved: they are of no step of the run, or no numbers.
    /// Those before it are, as far as they are kept.
    pub(super) fn fail(mut self, cause: TrainerError, stop: &StopRequest) -> TrainerError {
        let cause = device::advised(
            cause,
            self.algorithm.policy().device(),
            &self.settings.machine,
        );
        // Rows that are missing are no reason to lose the weights, too.
        let _ = self.report.sync();
        // Where this fails too, the message tells of the checkpoint before.
        let _ = catch_panics(|| {
            if self.ranks.is_alone() {
                self.save_somewhere(stop)
            } else {
                self.save_in_memory()
            }
        });
        let _ = catch_panics(|| {
            self.close_envs();
            Ok(())
        });
        let has_folder = self.folder.is_there() || !self.ranks.is_first();
        TrainerError::Run {
            cause: Box::new(cause),
            step: self.step_count,
            folder: self.folder.path().to_owned(),
            saved: self.saved.filter(|_| has_folder),
        }
    }

    /// Writes a checkpoint into the run's folder; where that is gone, into a new one beside it, from which
    /// the run can go on.
    fn save_somewhere(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        if !self.folder.is_there() {
            let run = &mut self.settings.run;
            run.run_name = format!("{}-rescued", run.run_name);
            self.folder = RunFolder::reserve_free(&mut self.settings)?;
            self.folder.write_settings(&self.settings)?;
            self.saved = None;
        }
        match self.checkpoint_to_rescue(stop)? {
            Some(checkpoint) => self.write_checkpoint(&checkpoint),
            None => Ok(()),
        }
    }
}
