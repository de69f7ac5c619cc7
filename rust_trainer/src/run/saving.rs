//! What a run writes as checkpoints, and when; what it keeps in memory for an update that comes to nothing; what
//! is saved of a run that fails.

use std::time::{Duration, Instant};

use vec_env::VecEnv;

use super::{
    Run,
    aside::aside,
    checkpoints::{Checkpoint, EnvStates, files},
    folder::RunFolder,
};
use crate::{
    algorithms::State, error::TrainerError, panics::catch_panics, ranks::Ranks, stop::StopRequest,
};

/// How often a checkpoint is kept in memory at most: as long as a stop waits, so that updates which take longer
/// all have theirs. It takes some 10 milliseconds, mostly for the states of the environments.
const EVERY: Duration = Duration::from_secs(1);
/// What other ranks wait for while rank 0 writes: a replay memory may take it longer than they wait for one another.
const SAVED: &str = "checkpoint";

impl Run {
    /// Writes a checkpoint of what is learned, unless there is one.
    pub(super) fn save(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        if self.saved == Some(self.learned.step) {
            return Ok(());
        }
        self.report.sync()?;
        let checkpoint = self.checkpoint_to_save(stop)?;
        self.write_checkpoint(checkpoint)?;
        self.ranks.wait_for_first(SAVED, self.learned.step)
    }

    /// The checkpoint to write: of the present, wherever the run can go on from it; in the midst of an
    /// update, of the last that ended, if it is in memory. What the present one learned up to then stands in for
    /// it otherwise, but not where learning itself was broken off or failed, for such weights are of no step
    /// of the run, nor in the first one: the settings begin the same run again.
    fn checkpoint_to_save(
        &mut self,
        stop: &StopRequest,
    ) -> Result<Option<Checkpoint>, TrainerError> {
        let learned = self.learned.step;
        let is_torn = self.is_learning && !self.algorithm.is_whole_between_steps();
        let in_memory = self.in_memory.newest.as_ref();
        let is_wanted = |kept: &Checkpoint| is_torn || kept.counters.step == learned;
        if !self.at_boundary && in_memory.is_some_and(is_wanted) {
            return Ok(self.take_from_memory());
        }
        let is_nothing_learned = learned == 0 && !self.at_boundary;
        if is_torn || is_nothing_learned {
            return Ok(None);
        }
        let envs = self.env_states(stop);
        self.checkpoint(self.algorithm.state()?, envs).map(Some)
    }

    fn write_checkpoint(&mut self, checkpoint: Option<Checkpoint>) -> Result<(), TrainerError> {
        let Some(checkpoint) = checkpoint else {
            return Ok(());
        };
        let step = checkpoint.counters.step;
        if !self.ranks.is_first() {
            self.saved = Some(step);
            return Ok(());
        }
        if self.saved.is_some_and(|saved| saved >= step) {
            return Ok(());
        }
        if self.folder.is_there() && !self.folder.has_settings() {
            self.report
                .message("the run's settings.toml was lost: it is written again");
            self.folder.write_settings(&self.settings)?;
        }
        let folder = self.folder.checkpoints();
        let written = checkpoint.save(&folder);
        if files::path_of(&folder, step).is_file() {
            self.saved = Some(step); // even where its replay memory could not be written
        }
        written?;
        files::drop_old(&folder, self.settings.run.keep_checkpoints)
    }

    /// Takes a checkpoint of the update that has just ended into memory, if it is time to.
    pub(super) fn keep(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        if !self.met.keeps {
            return Ok(());
        }
        let envs = self.env_states(stop);
        let checkpoint = self.checkpoint(self.algorithm.state()?, envs)?;
        let has_all = self.ranks.is_first();
        self.in_memory.newest = has_all.then_some(checkpoint);
        self.in_memory.taken = Instant::now();
        Ok(())
    }

    /// Whether one should be taken, as far as this rank knows: where there are several all of them take part.
    /// None of an algorithm that can be saved at any time: its replay memory goes on changing.
    pub(super) fn is_time_to_keep(&self) -> bool {
        !self.algorithm.is_whole_between_steps() && self.in_memory.taken.elapsed() >= EVERY
    }

    fn take_from_memory(&mut self) -> Option<Checkpoint> {
        let mut kept = self.in_memory.newest.take()?;
        kept.settings = self.settings.clone(); // a rescued run has another name
        Some(kept)
    }

    /// Whether an update that is broken off costs nothing but its own work: the one before is in memory or
    /// saved, or begins the run; or what is done of it can be saved. That cannot be told from a finished
    /// run in the last step.
    pub(super) fn may_break_off(&self) -> bool {
        if self.algorithm.is_whole_between_steps() {
            return self.step_count < self.settings.run.total_steps;
        }
        let learned = self.learned.step;
        let in_memory = self.in_memory.newest.as_ref();
        let in_memory = in_memory.map(|kept| kept.counters.step);
        learned == 0 || [self.saved, in_memory].contains(&Some(learned))
    }

    /// A checkpoint of what is learned, with this `state` of the algorithm.
    pub(super) fn checkpoint(
        &self,
        state: State,
        envs: EnvStates,
    ) -> Result<Checkpoint, TrainerError> {
        let checkpoint = Checkpoint {
            settings: self.settings.clone(),
            counters: self.learned,
            arithmetic: self.arithmetic.clone(),
            obs_spec: self.env.obs_spec().clone(),
            action_space: self.env.action_space().clone(),
            state: self.with_past_selves(state),
            envs,
            replay: None,
            evaluation: None,
        };
        // Numbers that are none can come of the last gradient step; the loss shows them one update later.
        let finite = checkpoint.check_finite();
        finite.map_err(|_| TrainerError::Diverged("what is learned"))?;
        Ok(checkpoint)
    }

    /// The environments, where they stand between two updates and can be saved.
    fn env_states(&mut self, stop: &StopRequest) -> EnvStates {
        if !self.at_boundary {
            let why = "the run was ended in the middle of an update, which is lost";
            return EnvStates::Missing(why.to_owned());
        }
        let saved = aside(&mut self.env, stop, VecEnv::save_state);
        // Where nothing came, what stands for the environments says so.
        let states = match saved.unwrap_or_else(|| self.env.save_state()) {
            Ok(states) => EnvStates::Saved(states),
            Err(error) => EnvStates::Missing(error.to_string()),
        };
        if self.ranks.is_alone() {
            return states;
        }
        let of_all = states_at_first(&self.ranks, &states);
        of_all.unwrap_or_else(|error| EnvStates::Missing(error.to_string()))
    }

    /// Saves what can be saved after a failure, and says so.
    ///
    /// Weights in the midst of an update are not saved: they are of no step of the run, or no numbers.
    /// Those before it are, as far as they are in memory.
    pub(super) fn fail(mut self, cause: TrainerError, stop: &StopRequest) -> TrainerError {
        // Rows that are missing are no reason to lose the weights, too.
        let _ = self.report.sync();
        // Where this fails too, the message tells of the checkpoint before.
        let _ = catch_panics(|| self.rescue(stop));
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
    /// the run can go on. Where the present is not worth saving, of what is in memory.
    fn rescue(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        if !self.ranks.is_alone() {
            // One of them has failed: they make no new state together.
            let kept = self.take_from_memory();
            return self.write_checkpoint(kept);
        }
        if !self.folder.is_there() {
            self.folder = RunFolder::reserve_rescue(&mut self.settings)?;
            self.folder.write_settings(&self.settings)?;
            self.saved = None;
        }
        let present = self.checkpoint_to_save(stop);
        let checkpoint = present.or_else(|error| self.take_from_memory().map(Some).ok_or(error))?;
        self.write_checkpoint(checkpoint)
    }
}

/// The states of the environments of all ranks, at rank 0; elsewhere those that are given.
fn states_at_first(ranks: &Ranks, own: &EnvStates) -> Result<EnvStates, TrainerError> {
    let (states, missing) = match own {
        EnvStates::Saved(states) => (states.as_slice(), ""),
        EnvStates::Missing(why) => (&[][..], why.as_str()),
    };
    let reasons = ranks.all_gather(missing.as_bytes())?;
    if let Some(why) = reasons.iter().find(|why| !why.is_empty()) {
        let why = String::from_utf8_lossy(why).into_owned();
        return Ok(EnvStates::Missing(why));
    }
    // Before each state its length, for they differ.
    let mut bytes = Vec::new();
    for state in states {
        bytes.extend((state.len() as u64).to_le_bytes());
        bytes.extend(state);
    }
    let gathered = ranks.gather(&bytes)?.concat();
    let mut states = Vec::new();
    let mut rest = gathered.as_slice();
    while let Some((length, after)) = rest.split_first_chunk() {
        let state = after.split_at_checked(u64::from_le_bytes(*length) as usize);
        let Some((state, after)) = state else { break };
        states.push(state.to_vec());
        rest = after;
    }
    Ok(EnvStates::Saved(states))
}
