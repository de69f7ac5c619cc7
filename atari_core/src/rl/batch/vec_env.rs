//! [`AtariVecEnv`]: a batch of Atari games, emulated by threads of its own: how it is made, looked into and saved, and what
//! [`VecEnv`] asks of it. `in_flight` has the calls of which a step is made.

use std::{fmt, mem, sync::Arc, thread, time::Duration};

use vec_env::{
    Actions, AutoresetMode, BatchSpec, Dtype, EnvError, ObsSlot, ObsSpec, StepBatch, VecEnv,
    pool::{Pool, Threads},
};

use super::{options::BatchOptions, sub_env::SubEnv, ticket::Ticket};
use crate::{
    Cartridge, CoreError,
    rl::{
        game::{AtariEnv, PoweredOn},
        recipe::Recipe,
    },
};

/// A batch of Atari games. Observations are uint8; rewards, flags and records are those of `atari_wrappers`. The thread
/// that receives plays, too, so that a timeout of [`VecEnv::recv_timeout`] counts for nothing.
pub struct AtariVecEnv {
    // Dropped first: its threads may be writing to the ticket's slot.
    pub(super) pool: Option<Pool<SubEnv>>,
    pub(super) ticket: Ticket,
    pub(super) spec: BatchSpec,
    pub(super) was_reset: bool,
    /// Those whose actions the next `send` has: the rows received last, after a reset all.
    pub(super) ready: Vec<usize>,
    /// Which environments a call has named so far.
    pub(super) named: Vec<bool>,
}

impl fmt::Debug for AtariVecEnv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "AtariVecEnv({} environments)",
            self.spec.num_envs
        )
    }
}

impl AtariVecEnv {
    /// A batch of `num_envs` games from one cartridge, or from one for each.
    ///
    /// # Errors
    /// [`EnvError::Backend`] for a part of the recipe that is out of range, a game whose rules are not known, a mode that
    /// it has not got, other players than one or two, or two with polar actions, games whose actions or observations differ,
    /// and for threads that the system refuses.
    pub fn new(
        cartridges: &[Arc<Cartridge>],
        num_envs: usize,
        options: &BatchOptions,
    ) -> Result<Self, EnvError> {
        let recipe = &options.recipe;
        let batch_size = match options.batch_size {
            0 => num_envs,
            batch_size => batch_size,
        };
        if num_envs == 0 || batch_size > num_envs {
            return Err(usage(format!(
                "a batch of {batch_size} environments needs as many and at least 1, got {num_envs}"
            )));
        }
        if cartridges.len() != 1 && cartridges.len() != num_envs {
            let given = cartridges.len();
            return Err(usage(format!(
                "{given} cartridges for {num_envs} environments: give one, or one for each"
            )));
        }
        let num_players = options.num_players;
        if !(1..=2).contains(&num_players) {
            return Err(usage(format!(
                "num_players must be 1 or 2, not {num_players}"
            )));
        }
        let consoles = consoles(cartridges, recipe, num_players)?;
        Self::of(&consoles, num_envs, batch_size, options)
    }

    /// A batch of games on consoles that were switched on, one for all or one for each.
    pub(super) fn of(
        consoles: &[PoweredOn],
        num_envs: usize,
        batch_size: usize,
        options: &BatchOptions,
    ) -> Result<Self, EnvError> {
        let sub_env = |index: usize| {
            let powered_on = &consoles[index % consoles.len()];
            let mut env = AtariEnv::new(powered_on);
            if let Some(games) = options.film {
                env.film(games);
            }
            SubEnv::new(env, options.autoreset)
        };
        let sub_envs: Vec<SubEnv> = (0..num_envs).map(sub_env).collect();
        let action_space = sub_envs[0].env.action_space();
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let num_threads = match options.num_threads {
            0 => cores().min(num_envs),
            threads => threads.min(num_envs),
        };
        let obs_spec = ObsSpec {
            shape: sub_envs[0].env.obs_shape(),
            dtype: Dtype::Uint8,
        };
        let threads = Threads {
            count: num_threads - 1,
            spin: options.spin,
        };
        let pool = Pool::new(sub_envs, obs_spec.num_bytes(), &threads);
        Ok(Self {
            pool: Some(pool.map_err(|error| usage(format!("num_threads={num_threads}: {error}")))?),
            ticket: Ticket::default(),
            spec: BatchSpec {
                backend: "native".to_owned(),
                num_players: options.num_players,
                batch_size,
                autoreset_mode: options.autoreset,
                ..BatchSpec::new(num_envs, obs_spec, action_space)
            },
            was_reset: false,
            ready: Vec::with_capacity(num_envs),
            named: vec![false; num_envs],
        })
    }

    /// What is in flight.
    #[must_use]
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Whether threads of its own emulate, too: a process that was forked has none of them.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        self.pool.as_ref().is_some_and(Pool::has_threads)
    }

    /// Those of the environments named that are in flight.
    #[must_use]
    pub fn busy(&self, env_ids: &[usize]) -> Vec<usize> {
        let is_busy = |&index: &usize| {
            let pool = self.pool.as_ref();
            index < self.spec.num_envs && pool.is_some_and(|pool| pool.is_busy(index))
        };
        env_ids.iter().copied().filter(is_busy).collect()
    }

    /// An environment, to look into, to take its film, or to change it.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`]; [`EnvError::Order`] while it is in flight; [`EnvError::Closed`]; [`EnvError::Backend`] once
    /// the emulator has panicked.
    pub fn env(&mut self, index: usize) -> Result<&mut AtariEnv, EnvError> {
        Ok(&mut self.sub_env(index)?.env)
    }

    /// What an environment shows: uint8 RGB `[height, 160, 3]`, the last frame.
    ///
    /// # Errors
    /// As [`AtariVecEnv::env`].
    pub fn render(&mut self, index: usize) -> Result<Vec<u8>, EnvError> {
        Ok(self.env(index)?.render())
    }

    /// The whole states of the environments named, as plain data.
    ///
    /// # Errors
    /// [`EnvError::Order`] before the first reset, and for one that is in flight; [`EnvError::NoSuchEnv`].
    pub fn save_states(&mut self, env_ids: &[usize]) -> Result<Vec<Vec<u8>>, EnvError> {
        self.expect_reset("save_state")?;
        let states = env_ids.iter().map(|&index| Ok(self.sub_env(index)?.save()));
        states.collect()
    }

    /// Brings the environments named to states that were saved: all of them, or none where one is refused. States of
    /// the whole batch stand for a first reset.
    ///
    /// # Errors
    /// [`EnvError::State`]; those of [`AtariVecEnv::save_states`].
    pub fn restore_states(&mut self, env_ids: &[usize], states: &[&[u8]]) -> Result<(), EnvError> {
        if !self.was_reset && !(0..self.spec.num_envs).all(|index| env_ids.contains(&index)) {
            self.open()?;
            return Err(order("restore_state: call reset first"));
        }
        if states.len() != env_ids.len() {
            let (given, wanted) = (states.len(), env_ids.len());
            return Err(EnvError::State(format!(
                "{given} states for {wanted} environments"
            )));
        }
        // All are checked before one is restored.
        for (&index, state) in env_ids.iter().zip(states) {
            let refuse = |error| EnvError::State(format!("that of environment {index}: {error}"));
            self.sub_env(index)?.check(state).map_err(refuse)?;
        }
        for (&index, state) in env_ids.iter().zip(states) {
            let _checked = self.sub_env(index)?.restore(state);
        }
        self.was_reset = true;
        Ok(())
    }

    pub(super) fn sub_env(&mut self, index: usize) -> Result<&mut SubEnv, EnvError> {
        let num_envs = self.spec.num_envs;
        if index >= num_envs {
            return Err(EnvError::NoSuchEnv { index, num_envs });
        }
        let sub_env = self.open()?.item(index);
        sub_env.ok_or_else(|| {
            EnvError::Order(format!("environment {index} is in flight: call recv first"))
        })
    }

    /// Refuses a step of an environment whose episode has ended while resets are the caller's matter.
    fn expect_no_end(&mut self, env_ids: &[usize]) -> Result<(), EnvError> {
        let by_hand = self.spec.autoreset_mode == AutoresetMode::Disabled;
        for &index in env_ids {
            if by_hand && self.sub_env(index)?.ended {
                return Err(EnvError::Order(format!(
                    "send: environment {index} needs a reset, as its episode has ended"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn open(&mut self) -> Result<&mut Pool<SubEnv>, EnvError> {
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        if let Some(problem) = pool.panic() {
            return Err(EnvError::Backend {
                message: format!("the emulator panicked, a bug of atari_core: {problem}"),
                details: None,
                is_usage: false,
            });
        }
        Ok(pool)
    }
}

impl VecEnv for AtariVecEnv {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.drain();
        let all: Vec<usize> = (0..self.spec.num_envs).collect();
        let seed_of = |&index: &usize| seed.map(|seed| seed.wrapping_add(index as u64));
        let seeds: Vec<Option<u64>> = all.iter().map(seed_of).collect();
        self.begin_reset(&all, &seeds, true)?;
        self.take(self.spec.num_envs)?;
        self.read(&all, None, Some(obs), &mut StepBatch::default())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        let turn = mem::take(&mut self.ready);
        let sent = self
            .expect_no_end(&turn)
            .and_then(|()| self.begin_step(actions, &turn, Some(obs)));
        self.ready = turn;
        if sent.is_ok() {
            self.ready.clear();
        }
        sent
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.open()?;
        let Some(count) = self.num_offered() else {
            return Err(order("recv: call send first"));
        };
        self.take(count)?;
        let ready = mem::take(&mut self.ready);
        let read = self.read(&ready, None, None, step);
        self.ready = ready;
        read
    }

    fn close(&mut self) -> Result<(), EnvError> {
        // The threads end before the slot goes to which they write.
        self.pool = None;
        self.ticket.clear();
        Ok(())
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.save_states(&(0..self.spec.num_envs).collect::<Vec<_>>())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let states: Vec<&[u8]> = states.iter().map(Vec::as_slice).collect();
        let all: Vec<usize> = (0..self.spec.num_envs).collect();
        self.restore_states(&all, &states)?;
        for (index, row) in obs
            .chunks_exact_mut(self.spec.obs_spec.num_bytes())
            .enumerate()
        {
            self.env(index)?.write_obs(row);
        }
        self.ready = all;
        Ok(())
    }
}

pub(super) fn usage(message: String) -> EnvError {
    EnvError::Backend {
        message,
        details: None,
        is_usage: true,
    }
}

pub(super) fn order(message: &str) -> EnvError {
    EnvError::Order(message.to_owned())
}

/// A console for each cartridge, all of which must have the same actions and screens.
fn consoles(
    cartridges: &[Arc<Cartridge>],
    recipe: &Recipe,
    num_players: usize,
) -> Result<Vec<PoweredOn>, EnvError> {
    let refuse = |error: CoreError| usage(error.to_string());
    let mut consoles: Vec<PoweredOn> = Vec::new();
    for cartridge in cartridges {
        let known = consoles
            .iter()
            .find(|known| known.console().cartridge().md5() == cartridge.md5());
        let console = match known {
            Some(known) => known.clone(),
            None if num_players == 2 => PoweredOn::for_two(cartridge, recipe).map_err(refuse)?,
            None => PoweredOn::new(cartridge, recipe).map_err(refuse)?,
        };
        let game = console.console().game();
        let first = consoles.first().unwrap_or(&console);
        if !recipe.continuous && console.actions() != first.actions() {
            let remedy = if recipe.full_action_space {
                "give each a batch of its own"
            } else {
                "full_action_space makes them equal"
            };
            return Err(usage(format!(
                "{} and {} have other actions: {remedy}",
                game.name,
                first.console().game().name
            )));
        }
        consoles.push(console);
    }
    Ok(consoles)
}
