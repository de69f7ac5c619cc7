//! What a learner needs of a vectorized environment, in whatever language it is written.
//!
//! [`VecEnv`] is the interface that training uses. A step is split into [`VecEnv::send`] and
//! [`VecEnv::recv`], so that several groups of environments can be in flight, and observations are
//! written as they are (uint8 for images) straight into memory of the caller's. Episodes restart by
//! themselves within the step that ends them (Gymnasium's same-step autoreset): the observation
//! received after an end is the first of the next episode.

use tch::Kind;

use crate::EnvError;

/// The shape and element type of one environment's observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObsSpec {
    /// Without the leading `num_envs`: `[4, 84, 84]` for stacked Atari frames, oldest first.
    pub shape: Vec<i64>,
    /// [`Kind::Uint8`] for images, [`Kind::Float`] for flat observations.
    pub kind: Kind,
}

impl ObsSpec {
    /// Bytes that one environment's observation takes.
    #[must_use]
    pub fn num_bytes(&self) -> usize {
        self.shape.iter().product::<i64>() as usize * self.kind.elt_size_in_bytes()
    }
}

/// A true game that ended: all lives lost, the goal reached, or the time limit hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Index of the environment.
    pub env: usize,
    /// Sum of the raw (unclipped) rewards over all lives.
    pub raw_return: f64,
    /// Length in agent steps.
    pub length: i64,
    /// Length in emulator frames; equals `length` where nothing is skipped.
    pub frames: i64,
}

/// What a step brought beside the observations; one entry for each environment.
///
/// Reused from step to step: [`VecEnv::recv`] overwrites every field.
#[derive(Clone, Debug, Default)]
pub struct StepBatch {
    /// The reward to learn from (clipped to its sign for Atari).
    pub reward: Vec<f32>,
    /// The reward as the environment gave it.
    pub raw_reward: Vec<f32>,
    /// The task itself ended; with episodic life, a lost life too.
    pub terminated: Vec<bool>,
    /// A time limit cut the episode: bootstrap from [`StepBatch::final_obs`].
    pub truncated: Vec<bool>,
    /// Lives left, 0 where the environment has none.
    pub lives: Vec<i32>,
    /// The true games that ended in this step.
    pub episodes: Vec<Episode>,
    /// The last observation of every truncated episode, as `(env, bytes)`.
    pub final_obs: Vec<(usize, Vec<u8>)>,
}

impl StepBatch {
    /// Whether the episode of environment `env` ended, for whichever reason.
    #[must_use]
    pub fn is_done(&self, env: usize) -> bool {
        self.terminated[env] || self.truncated[env]
    }
}

/// A batch of environments with discrete actions, stepped together.
///
/// Observations are written as raw bytes in native endianness: `num_envs` rows of
/// [`ObsSpec::num_bytes`] each, C order.
pub trait VecEnv: Send {
    /// Number of environments in the batch.
    fn num_envs(&self) -> usize;

    /// Shape and type of one observation.
    fn obs_spec(&self) -> &ObsSpec;

    /// Number of discrete actions; valid actions are `0..num_actions`.
    fn num_actions(&self) -> i64;

    /// Starts new episodes everywhere and writes their first observations to `obs`.
    ///
    /// `seed` makes the batch reproducible; the environments of one batch still differ. A step that
    /// was sent and not received is dropped.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`] for a buffer of the wrong length, [`EnvError::Closed`] after
    /// [`VecEnv::close`], [`EnvError::Python`] for what the environment raises.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError>;

    /// Starts one step of every environment and returns at once; emulation goes on in its own threads.
    ///
    /// # Errors
    /// [`EnvError::ActionCount`] and [`EnvError::ActionRange`] before anything is sent,
    /// [`EnvError::Order`] without a reset or when a step is already in flight.
    fn send(&mut self, actions: &[i64]) -> Result<(), EnvError>;

    /// Waits for the step in flight; writes the next observations to `obs` and the rest to `batch`.
    ///
    /// # Errors
    /// [`EnvError::Order`] when no step is in flight, [`EnvError::BufferSize`] for a buffer of the
    /// wrong length (the step stays in flight), [`EnvError::Python`] for what the environment raises.
    fn recv(&mut self, obs: &mut [u8], batch: &mut StepBatch) -> Result<(), EnvError>;

    /// Frees what the environments hold. Closing twice is fine; any other call afterwards is
    /// [`EnvError::Closed`].
    ///
    /// # Errors
    /// [`EnvError::Python`] for what the environment raises while it closes.
    fn close(&mut self) -> Result<(), EnvError>;
}
