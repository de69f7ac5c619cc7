//! [`AtariVecEnv`]: a batch of Atari games, emulated by threads of its own: how it is made. `calls` has its calls.

use std::{fmt, sync::Arc, thread, time::Duration};

use vec_env::{AutoresetMode, BatchSpec, Dtype, EnvError, ObsSpec};

use super::{
    pool::{Pool, Threads},
    sub_env::SubEnv,
    ticket::Ticket,
};
use crate::{
    Cartridge, CoreError,
    rl::{
        game::{AtariEnv, FilmedGames, PoweredOn},
        recipe::Recipe,
    },
    simd::Simd,
};

/// How a batch runs its games.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// How games become episodes of observations.
    pub recipe: Recipe,
    /// Players of each game: 1, or 2 who play against each other. With two, rewards, returns and actions come in pairs, and
    /// observations have an axis of the players first.
    pub num_players: usize,
    /// When an ended episode is followed by the next.
    pub autoreset: AutoresetMode,
    /// Threads that emulate, the one that calls `recv` included; 0 for as many as there are cores, and at most one for
    /// each environment. With 1 everything happens in `recv`.
    pub num_threads: usize,
    /// Cores to run the other threads on, in turn; empty leaves that to the system.
    pub cores: Vec<usize>,
    /// How long a thread that finds nothing to do looks for work before it sleeps, and is woken for some 30 µs.
    pub spin: Duration,
    /// Environments that one `recv` waits for, the first that are ready; 0 for all.
    pub batch_size: usize,
    /// Draw every frame, for [`AtariVecEnv::render`], and not only those that are observed.
    pub draw_all: bool,
    /// Keep a picture of every frame of these games, for [`AtariEnv::take_film`].
    pub film: Option<FilmedGames>,
    /// Instructions to use.
    pub simd: Simd,
}

impl BatchOptions {
    /// All defaults with a recipe.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        Self {
            recipe,
            num_players: 1,
            autoreset: AutoresetMode::SameStep,
            num_threads: 0,
            cores: Vec::new(),
            spin: Duration::from_micros(50),
            batch_size: 0,
            draw_all: false,
            film: None,
            simd: Simd::detect(),
        }
    }
}

/// A batch of Atari games. Observations are uint8; rewards, flags and records are those of `atari_wrappers`.
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
            let mut env = AtariEnv::new(powered_on, options.simd);
            if options.draw_all {
                env.draw_all();
            }
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
            cores: &options.cores,
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
        if console.actions() != first.actions() {
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
