//! What an algorithm with a replay memory has in hand between two steps.

use vec_env::{ActionBatch, ObsBuffer, ObsSlot, StepBatch};

use crate::{data::Replay, error::TrainerError};

/// Observations that arrive, and the actions that are chosen for those before.
#[derive(Debug)]
pub(super) struct InHand {
    /// Where the environments write.
    arriving: ObsBuffer,
    /// Whether what arrives begins new episodes, and is not a step's.
    is_reset: bool,
    /// Actions chosen for the newest observations of the replay memory.
    actions: Option<ActionBatch>,
}

impl InHand {
    /// Nothing, with room for `num_bytes` of observations.
    pub fn new(num_bytes: usize) -> Self {
        Self {
            arriving: ObsBuffer::new(num_bytes),
            is_reset: false,
            actions: None,
        }
    }

    /// Where the next observations are written.
    pub fn next_obs(&mut self) -> ObsSlot {
        self.is_reset = self.actions.is_none();
        self.arriving.slot()
    }

    /// Before actions are chosen: a reset's observations, if they are that, become the newest of `replay`.
    pub fn begin(&mut self, replay: &mut Replay) -> Result<(), TrainerError> {
        if std::mem::take(&mut self.is_reset) {
            replay.restart(self.arrived())?;
        }
        Ok(())
    }

    /// Takes the actions chosen for the newest observations of the replay memory.
    pub fn choose(&mut self, actions: &ActionBatch) {
        self.actions = Some(actions.clone());
    }

    /// Gives what came of them to `replay`.
    pub fn observe(&mut self, step: &StepBatch, replay: &mut Replay) -> Result<(), TrainerError> {
        let obs = self.arrived();
        if let Some(actions) = self.actions.take() {
            replay.push(&actions, step, obs)?;
        }
        Ok(())
    }

    /// Forgets the actions: what is under way ends behind the newest observations of the replay memory, as soon as those
    /// of new games are there (see [`Replay::restart`]).
    pub fn forget(&mut self) {
        self.actions = None;
    }

    /// The observations that have arrived; their memory stays with the replay memory, and the next ones get another.
    fn arrived(&mut self) -> Vec<u8> {
        let obs = self.arriving.take();
        self.arriving = ObsBuffer::new(obs.len());
        obs
    }
}
