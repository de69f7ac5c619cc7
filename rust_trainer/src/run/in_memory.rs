//! The last update's checkpoint in memory, for when the update after it comes to nothing: a stop does not
//! wait for one that takes long, environments fail in it, its loss is no number.

use std::time::{Duration, Instant};

use super::{Checkpoint, Run};
use crate::{error::TrainerError, stop::StopRequest};

/// How often one is taken at most: as long as a stop waits, so that updates which take longer all have
/// theirs. It takes some 10 milliseconds, mostly for the states of the environments.
const EVERY: Duration = Duration::from_secs(1);

/// A checkpoint that is not on the disk.
#[derive(Debug)]
pub(super) struct InMemory {
    newest: Option<Checkpoint>,
    taken: Instant,
    /// A replay memory goes on changing: there is no keeping it beside itself.
    is_possible: bool,
}

impl InMemory {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            newest: None,
            taken: Instant::now(),
            is_possible: true,
        }
    }
}

impl Run {
    /// Takes a checkpoint of the update that has just ended, if it is time to.
    pub(super) fn keep(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        if !self.agreed_to_keep {
            return Ok(());
        }
        let envs = self.env_states(stop);
        let checkpoint = self.checkpoint(envs)?;
        self.in_memory.is_possible = checkpoint.state.replay.is_empty();
        let keeps = self.in_memory.is_possible && self.ranks.is_first(); // which has the states of all
        self.in_memory.newest = keeps.then_some(checkpoint);
        self.in_memory.taken = Instant::now();
        Ok(())
    }

    /// Whether one should be taken, as far as this rank knows: where there are several all of them take part.
    /// Replay memories are not sent to rank 0 for that.
    pub(super) fn is_time_to_keep(&self) -> bool {
        let is_possible = self.ranks.is_alone() || !self.algorithm.is_whole_between_steps();
        self.in_memory.is_possible && is_possible && self.in_memory.taken.elapsed() >= EVERY
    }

    /// Whether an update that is broken off costs nothing but its own work: the one before is kept or
    /// saved, or begins the run; or what is done of it can be saved. That cannot be told from a finished
    /// run in the last step.
    pub(super) fn may_break_off(&self) -> bool {
        if self.algorithm.is_whole_between_steps() {
            return self.step_count < self.settings.run.total_steps;
        }
        let learned = self.learned.step;
        let kept = self
            .in_memory
            .newest
            .as_ref()
            .map(|kept| kept.counters.step);
        learned == 0 || [self.saved, kept].contains(&Some(learned))
    }

    /// The checkpoint to write: of the present, wherever the run can go on from it; in the midst of an
    /// update, of the last that ended, if it was kept. What the present one learned up to then stands in for
    /// it otherwise, but not where learning itself was broken off or failed, for such weights are of no step
    /// of the run, nor in the first one: the settings begin the same run again.
    pub(super) fn checkpoint_to_save(
        &mut self,
        stop: &StopRequest,
    ) -> Result<Option<Checkpoint>, TrainerError> {
        let learned = self.learned.step;
        let is_torn = self.is_learning && !self.algorithm.is_whole_between_steps();
        let kept = self.in_memory.newest.as_ref();
        let is_wanted = |kept: &Checkpoint| is_torn || kept.counters.step == learned;
        if !self.at_boundary && kept.is_some_and(is_wanted) {
            return Ok(self.take_in_memory());
        }
        let is_nothing_learned = learned == 0 && !self.at_boundary;
        if is_torn || is_nothing_learned {
            return Ok(None);
        }
        let envs = self.env_states(stop);
        self.checkpoint(envs).map(Some)
    }

    /// The same after a failure: where the present is not worth saving, what was kept before.
    pub(super) fn checkpoint_to_rescue(
        &mut self,
        stop: &StopRequest,
    ) -> Result<Option<Checkpoint>, TrainerError> {
        let present = self.checkpoint_to_save(stop);
        present.or_else(|error| self.take_in_memory().map(Some).ok_or(error))
    }

    /// What is left of several ranks of which one has failed: they make no new state together.
    pub(super) fn save_in_memory(&mut self) -> Result<(), TrainerError> {
        match self.take_in_memory() {
            Some(checkpoint) => self.write_checkpoint(&checkpoint),
            None => Ok(()),
        }
    }

    fn take_in_memory(&mut self) -> Option<Checkpoint> {
        let mut kept = self.in_memory.newest.take()?;
        kept.settings = self.settings.clone(); // a rescued run has another name
        Some(kept)
    }
}
