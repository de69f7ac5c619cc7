//! [`SubEnv`]: one environment of a batch, stepped, and restarted when the autoreset mode says so; with the record of
//! its episode, and what the last call brought.

use crate::{
    env::{Env, Transition, bytes_to_words, words_to_bytes},
    error::EnvError,
    spaces::{Actions, AutoresetMode},
    step::StepBatch,
};

/// Bytes of an episode's record in a saved state: its return and its length.
const RECORD_BYTES: usize = 16;

#[derive(Debug)]
pub(crate) struct SubEnv<E> {
    pub(crate) env: E,
    mode: AutoresetMode,
    record: Record,
    /// The episode has ended and no reset has followed.
    pub(crate) ended: bool,
    result: StepResult,
}

/// An episode so far.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    episode_return: f64,
    length: i64,
}

/// What a step or a reset brought.
#[derive(Debug, Default)]
struct StepResult {
    transition: Transition,
    record: Record,
    /// The last observation of the episode before, where the environment has restarted since.
    final_obs: Option<Vec<u8>>,
}

impl<E: Env> SubEnv<E> {
    pub(crate) fn new(env: E, mode: AutoresetMode) -> Self {
        Self {
            env,
            mode,
            record: Record::default(),
            ended: false,
            result: StepResult::default(),
        }
    }

    pub(crate) fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) {
        self.env.reset(seed, obs);
        self.begin_episode();
        self.result = StepResult::default();
    }

    /// Takes an action, or restarts where the episode has ended.
    pub(crate) fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) {
        if self.ended {
            return self.reset(None, obs);
        }
        let transition = self.env.step(action, obs);
        self.record.episode_return += f64::from(transition.reward);
        self.record.length += 1;
        self.result = StepResult {
            transition,
            record: self.record,
            final_obs: None,
        };
        if !transition.terminated && !transition.truncated {
            return;
        }
        if self.mode == AutoresetMode::SameStep {
            self.result.final_obs = Some(obs.to_vec());
            self.env.reset(None, obs);
            self.begin_episode();
        } else {
            self.ended = true;
        }
    }

    fn begin_episode(&mut self) {
        self.record = Record::default();
        self.ended = false;
    }

    /// Writes what the last call brought to a row of `step`, which was cleared.
    pub(crate) fn fill(&mut self, index: usize, step: &mut StepBatch) {
        let StepResult {
            transition, record, ..
        } = self.result;
        step.put(index, transition, record.episode_return, record.length);
        if let Some(obs) = self.result.final_obs.take() {
            step.final_obs.push((index, obs));
            step.final_lives.push(0);
        }
    }

    /// Return and length of the episode so far, then the environment's own state. A length below 0 is that of an
    /// episode that has ended, less 1 and negative.
    fn save(&self) -> Option<Vec<u8>> {
        let Record {
            episode_return,
            length,
        } = self.record;
        let length = if self.ended { !length } else { length };
        let mut state = words_to_bytes(&[episode_return.to_bits(), length.cast_unsigned()]);
        state.extend(self.env.save_state()?);
        Some(state)
    }

    /// Goes to a state of [`SubEnv::save`]; `false`, and nothing changes, where it is none.
    fn restore(&mut self, state: &[u8], obs: &mut [u8]) -> bool {
        let Some((record, state)) = state.split_at_checked(RECORD_BYTES) else {
            return false;
        };
        let [episode_return, length] = bytes_to_words(record).unwrap_or_default();
        let length = length.cast_signed();
        let ended = length < 0;
        if (ended && self.mode == AutoresetMode::SameStep) || !self.env.restore_state(state, obs) {
            return false;
        }
        self.record = Record {
            episode_return: f64::from_bits(episode_return),
            length: if ended { !length } else { length },
        };
        self.ended = ended;
        self.result = StepResult::default();
        true
    }
}

/// The states of all environments of a batch; `None` where they cannot be saved.
pub(crate) fn save_all<'a, E: Env + 'a>(
    envs: impl IntoIterator<Item = &'a mut SubEnv<E>>,
) -> Option<Vec<Vec<u8>>> {
    envs.into_iter().map(|env| env.save()).collect()
}

/// Brings environments to `states`, one for each: all of them, or none where one is refused. Writes what they show to
/// `obs`.
///
/// # Errors
/// [`EnvError::State`]; `unsupported` where they have no states.
pub(crate) fn restore_all<E: Env>(
    mut envs: Vec<&mut SubEnv<E>>,
    states: &[Vec<u8>],
    obs: &mut [u8],
    unsupported: EnvError,
) -> Result<(), EnvError> {
    let row_bytes = obs.len() / envs.len();
    let before = save_all(envs.iter_mut().map(|env| &mut **env)).ok_or(unsupported)?;
    restore_each(states, &before, |index, state| {
        let row = &mut obs[index * row_bytes..][..row_bytes];
        envs[index].restore(state, row)
    })
}

/// Brings environments to `states` by `restore`, which says of each whether it is one; all of them back to those of
/// `before` where one is refused.
///
/// # Errors
/// [`EnvError::State`].
pub(crate) fn restore_each(
    states: &[Vec<u8>],
    before: &[Vec<u8>],
    mut restore: impl FnMut(usize, &[u8]) -> bool,
) -> Result<(), EnvError> {
    let mut bring_to = |states: &[Vec<u8>]| {
        let mut states = states.iter().enumerate();
        states.position(|(index, state)| !restore(index, state))
    };
    let Some(index) = bring_to(states) else {
        return Ok(());
    };
    // They were there a moment ago.
    let _back = bring_to(before);
    let problem = format!("that of environment {index} is no state");
    Err(EnvError::State(problem))
}
