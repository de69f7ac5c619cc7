//! What a run writes as checkpoints, and when there is nothing new to write.

use vec_env::VecEnv;

use super::{Checkpoint, EnvStates, Run, aside::aside, checkpoints};
use crate::{algorithms::State, error::TrainerError, ranks::Ranks, stop::StopRequest};

impl Run {
    /// Writes a checkpoint of what is learned, unless there is one.
    pub(super) fn save(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        if self.saved == Some(self.learned.step) {
            return Ok(());
        }
        self.report.sync()?;
        match self.checkpoint_to_save(stop)? {
            Some(checkpoint) => self.write_checkpoint(&checkpoint),
            None => Ok(()),
        }
    }

    pub(super) fn write_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), TrainerError> {
        let folder = self.folder.checkpoints();
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
                .message("the run's settings.toml was lost: it is written anew");
            self.folder.write_settings(&self.settings)?;
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
        self.checkpoint_of(self.algorithm.state()?, envs)
    }

    /// The same without what only learning needs.
    pub(super) fn checkpoint_to_play(&self, envs: EnvStates) -> Result<Checkpoint, TrainerError> {
        self.checkpoint_of(self.algorithm.state_to_play()?, envs)
    }

    fn checkpoint_of(&self, state: State, envs: EnvStates) -> Result<Checkpoint, TrainerError> {
        let checkpoint = Checkpoint {
            settings: self.settings.clone(),
            counters: self.learned,
            arithmetic: self.arithmetic.clone(),
            obs_spec: self.env.obs_spec().clone(),
            action_space: self.env.action_space().clone(),
            state,
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
    pub(super) fn env_states(&mut self, stop: &StopRequest) -> EnvStates {
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
