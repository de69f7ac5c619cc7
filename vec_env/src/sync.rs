//! [`SyncVecEnv`]: a batch of single Rust environments, stepped in the calling thread.

use std::time::Duration;

use crate::{
    env::{Env, bytes_to_words, words_to_bytes},
    error::EnvError,
    slot::ObsSlot,
    spaces::{ActionBatch, Actions, BatchSpec},
    step::{Episode, StepBatch},
    vec_env::VecEnv,
};

/// Bytes of an episode's record in a saved state: its return and its length.
const RECORD_BYTES: usize = 16;

/// A batch of environments of one kind, with same-step autoreset and a record of each episode.
#[derive(Debug)]
pub struct SyncVecEnv<E> {
    envs: Vec<E>,
    spec: BatchSpec,
    /// Return and length of each environment's episode so far; none before the first reset.
    records: Option<Vec<(f64, i64)>>,
    in_flight: Option<(ActionBatch, ObsSlot)>,
    is_closed: bool,
}

impl<E: Env> SyncVecEnv<E> {
    /// A batch of `num_envs` environments, each from one call of `make` with its index.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for no environment at all.
    pub fn new(num_envs: usize, make: impl FnMut(usize) -> E) -> Result<Self, EnvError> {
        let envs: Vec<E> = (0..num_envs).map(make).collect();
        let Some(first) = envs.first() else {
            return Err(EnvError::Unsupported(
                "a batch needs at least 1 environment, got 0".to_owned(),
            ));
        };
        Ok(Self {
            spec: BatchSpec::new(num_envs, first.obs_spec(), first.action_space()),
            envs,
            records: None,
            in_flight: None,
            is_closed: false,
        })
    }

    /// The environments, to look into.
    #[must_use]
    pub fn envs(&self) -> &[E] {
        &self.envs
    }

    /// Why states cannot be saved or brought back now, if so.
    fn check_idle(&self, call: &str) -> Result<(), EnvError> {
        self.check_open()?;
        if self.in_flight.is_some() {
            return Err(EnvError::Order(format!("{call}: call recv first")));
        }
        Ok(())
    }

    /// Brings environments to `states`, one after another; which refuses its own.
    fn bring_to(&mut self, states: &[&[u8]], obs: &mut [u8]) -> Result<(), usize> {
        let rows = obs.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        let envs = self.envs.iter_mut().zip(states).zip(rows);
        for (index, ((env, state), row)) in envs.enumerate() {
            if !env.restore_state(state, row) {
                return Err(index);
            }
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), EnvError> {
        if self.is_closed {
            return Err(EnvError::Closed);
        }
        Ok(())
    }
}

impl<E: Env> VecEnv for SyncVecEnv<E> {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.in_flight = None;
        let rows = obs.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        for (index, (env, row)) in self.envs.iter_mut().zip(rows).enumerate() {
            env.reset(seed.map(|seed| seed.wrapping_add(index as u64)), row);
        }
        self.records = Some(vec![(0.0, 0); self.envs.len()]);
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.check_open()?;
        if self.records.is_none() {
            return Err(EnvError::Order("send: call reset first".to_owned()));
        }
        if self.in_flight.is_some() {
            return Err(EnvError::Order("send: call recv first".to_owned()));
        }
        let space = &self.spec.action_space;
        space.check(actions, self.envs.len(), |row| row)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        self.in_flight = Some((actions.to_batch(), obs));
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.check_open()?;
        let (Some((actions, mut obs)), Some(records)) =
            (self.in_flight.take(), self.records.as_mut())
        else {
            return Err(EnvError::Order("recv: call send first".to_owned()));
        };
        step.clear(self.envs.len(), 1);
        let actions = actions.as_actions();
        let width = self.spec.action_space.num_values();
        let rows = obs.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        let envs = self.envs.iter_mut().zip(records).zip(rows);
        for (index, ((env, record), obs)) in envs.enumerate() {
            let transition = env.step(actions.row(index, width), obs);
            record.0 += f64::from(transition.reward);
            record.1 += 1;
            let (episode_return, length) = *record;
            step.reward[index] = transition.reward;
            step.raw_reward[index] = transition.reward;
            step.terminated[index] = transition.terminated;
            step.truncated[index] = transition.truncated;
            step.game_terminated[index] = transition.terminated;
            step.game_truncated[index] = transition.truncated;
            step.episode_return[index] = episode_return;
            step.episode_length[index] = length;
            step.episode_frames[index] = length;
            if step.is_done(index) {
                step.episodes.push(Episode {
                    env: index,
                    raw_return: episode_return,
                    length,
                    frames: length,
                });
                step.final_obs.push((index, obs.to_vec()));
                step.final_lives.push(0);
                *record = (0.0, 0);
                env.reset(None, obs);
            }
        }
        Ok(())
    }

    /// Of each environment the return and length of its episode so far, then its own state.
    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.check_idle("save_state")?;
        let Some(records) = &self.records else {
            return Err(EnvError::Order("save_state: call reset first".to_owned()));
        };
        let states = self.envs.iter().zip(records).map(|(env, record)| {
            let mut state = words_to_bytes(&[record.0.to_bits(), record.1.cast_unsigned()]);
            state.extend(env.save_state()?);
            Some(state)
        });
        let states: Option<Vec<_>> = states.collect();
        states.ok_or_else(|| self.has_no_states())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_idle("restore_state")?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.spec.check_states(states)?;
        let before: Option<Vec<_>> = self.envs.iter().map(Env::save_state).collect();
        let before = before.ok_or_else(|| self.has_no_states())?;
        let refuse = |env: usize| EnvError::State(format!("that of environment {env} is no state"));
        let mut records = Vec::new();
        let mut own = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let split = state.split_at_checked(RECORD_BYTES);
            let (record, state) = split.ok_or_else(|| refuse(index))?;
            let words = bytes_to_words(record).unwrap_or_default();
            let [episode_return, length]: [u64; 2] = words;
            records.push((f64::from_bits(episode_return), length.cast_signed()));
            own.push(state);
        }
        if let Err(index) = self.bring_to(&own, obs) {
            let before: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
            // They were there a moment ago.
            let _back = self.bring_to(&before, &mut vec![0; obs.len()]);
            return Err(refuse(index));
        }
        self.records = Some(records);
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.is_closed = true;
        self.in_flight = None;
        Ok(())
    }
}
