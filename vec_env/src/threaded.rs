//! [`ThreadedVecEnv`]: a batch of single Rust environments on threads of its own.

use std::{fmt, thread, time::Duration};

use crate::{
    env::Env,
    error::EnvError,
    pool::{Pool, SPIN, Threads, Work},
    slot::ObsSlot,
    spaces::{ActionBatch, Actions, AutoresetMode, BatchSpec},
    step::StepBatch,
    sub_env::{SubEnv, restore_all, save_all},
    sync::spec_of,
    vec_env::VecEnv,
};

/// A batch of environments of one kind, stepped by several threads: whoever is free takes the next environment. The
/// thread that receives takes part, so that a timeout of [`VecEnv::recv_timeout`] counts for nothing.
pub struct ThreadedVecEnv<E: Env + 'static> {
    // Dropped first: its threads may be writing to the slot. `None` once the batch is closed.
    pool: Option<Pool<Job<E>>>,
    in_flight: Option<ObsSlot>,
    spec: BatchSpec,
    was_reset: bool,
}

/// An environment with what it is to do, and what it shows.
struct Job<E> {
    sub_env: SubEnv<E>,
    task: Task,
    action: ActionBatch,
    obs: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Task {
    Reset(Option<u64>),
    Step,
}

impl<E: Env + 'static> Work for Job<E> {
    fn work(&mut self) {
        match self.task {
            Task::Reset(seed) => self.sub_env.reset(seed, &mut self.obs),
            Task::Step => self.sub_env.step(self.action.as_actions(), &mut self.obs),
        }
    }

    fn write_to(&self, row: &mut [u8]) {
        row.copy_from_slice(&self.obs);
    }
}

impl<E: Env + 'static> fmt::Debug for ThreadedVecEnv<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let num_envs = self.spec.num_envs;
        write!(formatter, "ThreadedVecEnv({num_envs} environments)")
    }
}

impl<E: Env + 'static> ThreadedVecEnv<E> {
    /// A batch of environments that are alike. `num_threads` step them, the one that calls [`VecEnv::recv`] included; 0 is
    /// one for each core, and more than environments are not used.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] as [`SyncVecEnv::new`](crate::SyncVecEnv::new);
    /// [`EnvError::Backend`] for threads that the system refuses.
    pub fn new(
        envs: Vec<E>,
        autoreset_mode: AutoresetMode,
        num_threads: usize,
    ) -> Result<Self, EnvError> {
        let num_envs = envs.len();
        let spec = BatchSpec {
            autoreset_mode,
            ..spec_of(&envs)?
        };
        let (row_bytes, action) = (spec.obs_spec.num_bytes(), spec.action_space.any_action());
        let job = |env| Job {
            sub_env: SubEnv::new(env, autoreset_mode),
            task: Task::Step,
            action: action.clone(),
            obs: vec![0; row_bytes],
        };
        let num_threads = match num_threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let threads = Threads {
            count: num_threads.min(num_envs) - 1,
            spin: SPIN,
        };
        let jobs = envs.into_iter().map(job).collect();
        let pool = Pool::new(jobs, row_bytes, &threads).map_err(|error| EnvError::Backend {
            message: format!("num_threads={num_threads}: {error}"),
            details: None,
            is_usage: true,
        })?;
        Ok(Self {
            pool: Some(pool),
            in_flight: None,
            spec,
            was_reset: false,
        })
    }

    /// Whether threads of its own step environments, too: a process that was forked has none of them.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        self.pool.as_ref().is_some_and(Pool::has_threads)
    }

    /// Looks into an environment.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`]; [`EnvError::Order`] while a step is in flight; [`EnvError::Closed`];
    /// [`EnvError::Backend`] once an environment has panicked.
    pub fn look<T>(&mut self, index: usize, look: impl FnOnce(&mut E) -> T) -> Result<T, EnvError> {
        self.check_idle("look")?;
        let num_envs = self.spec.num_envs;
        let no_such_env = EnvError::NoSuchEnv { index, num_envs };
        let job = self.open()?.items().and_then(|mut jobs| jobs.nth(index));
        Ok(look(&mut job.ok_or(no_such_env)?.sub_env.env))
    }

    /// Which environments have ended an episode and wait for a reset.
    ///
    /// # Errors
    /// Those of [`ThreadedVecEnv::look`].
    pub fn ended(&mut self) -> Result<Vec<bool>, EnvError> {
        self.check_idle("ended")?;
        let jobs = self.open()?.items().into_iter().flatten();
        Ok(jobs.map(|job| job.sub_env.ended).collect())
    }

    /// Starts new episodes in the environments named, with a seed for each, or `None` where its random numbers go on; the
    /// first time in all of them. Writes what all environments show to `obs`.
    ///
    /// # Errors
    /// Those of [`VecEnv::reset`]; [`EnvError::NoSuchEnv`]; [`EnvError::Order`] where the first reset is not of all, and
    /// while a step is in flight; [`EnvError::Unsupported`] for another number of seeds.
    pub fn reset_envs(
        &mut self,
        env_ids: &[usize],
        seeds: &[Option<u64>],
        obs: &mut [u8],
    ) -> Result<(), EnvError> {
        self.check_idle("reset")?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let num_envs = self.spec.num_envs;
        if seeds.len() != env_ids.len() {
            let (given, needed) = (seeds.len(), env_ids.len());
            let problem = format!("{given} seeds for {needed} environments");
            return Err(EnvError::Unsupported(problem));
        }
        if let Some(&index) = env_ids.iter().find(|&&index| index >= num_envs) {
            return Err(EnvError::NoSuchEnv { index, num_envs });
        }
        if !self.was_reset && !(0..num_envs).all(|index| env_ids.contains(&index)) {
            return Err(order("reset: the first reset must be of all environments"));
        }
        for (&index, &seed) in env_ids.iter().zip(seeds) {
            if let Some(job) = self.open()?.item(index) {
                job.task = Task::Reset(seed);
            }
        }
        let pool = self.open()?;
        pool.begin(env_ids.iter().copied());
        pool.wait(num_envs);
        while pool.take().is_some() {}
        self.was_reset = true;
        self.show(obs)
    }

    /// Writes what all environments show.
    fn show(&mut self, obs: &mut [u8]) -> Result<(), EnvError> {
        let row_bytes = self.spec.obs_spec.num_bytes();
        let rows = obs.chunks_exact_mut(row_bytes);
        for (job, row) in self.open()?.items().into_iter().flatten().zip(rows) {
            job.write_to(row);
        }
        Ok(())
    }

    /// Waits for what is in flight, and forgets it.
    fn drain(&mut self) {
        if let Some(pool) = &mut self.pool {
            pool.wait(self.spec.num_envs);
            while pool.take().is_some() {}
        }
        self.in_flight = None;
    }

    fn check_idle(&mut self, call: &str) -> Result<(), EnvError> {
        self.open()?;
        if self.in_flight.is_some() {
            return Err(order(&format!("{call}: call recv first")));
        }
        Ok(())
    }

    fn check_was_reset(&self, call: &str) -> Result<(), EnvError> {
        if !self.was_reset {
            return Err(order(&format!("{call}: call reset first")));
        }
        Ok(())
    }

    fn open(&mut self) -> Result<&mut Pool<Job<E>>, EnvError> {
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        if let Some(problem) = pool.panic() {
            return Err(EnvError::panicked(problem));
        }
        Ok(pool)
    }
}

impl<E: Env + 'static> VecEnv for ThreadedVecEnv<E> {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.open()?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.drain();
        let all: Vec<usize> = (0..self.spec.num_envs).collect();
        let seed_of = |&index: &usize| seed.map(|seed| seed.wrapping_add(index as u64));
        let seeds: Vec<_> = all.iter().map(seed_of).collect();
        self.reset_envs(&all, &seeds, obs)
    }

    fn send(&mut self, actions: Actions<'_>, mut obs: ObsSlot) -> Result<(), EnvError> {
        self.open()?;
        self.check_was_reset("send")?;
        self.check_idle("send")?;
        let num_envs = self.spec.num_envs;
        self.spec.action_space.check(actions, num_envs, |row| row)?;
        self.spec.action_space.check_bounds(actions, |row| row)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        let width = self.spec.action_space.num_values();
        let by_hand = self.spec.autoreset_mode == AutoresetMode::Disabled;
        let pool = self.open()?;
        let ended = |job: &Job<E>| by_hand && job.sub_env.ended;
        if let Some(index) = pool
            .items()
            .and_then(|mut jobs| jobs.position(|job| ended(job)))
        {
            return Err(order(&format!(
                "send: environment {index} needs a reset, as its episode has ended"
            )));
        }
        for (index, job) in pool.items().into_iter().flatten().enumerate() {
            job.task = Task::Step;
            job.action.copy_from(actions.row(index, width));
        }
        #[expect(unsafe_code, reason = "lends the slot's rows to the pool")]
        // SAFETY: `in_flight` keeps the slot, and nobody looks into it, until all items were taken (`recv_timeout`,
        // `drain`), or the pool is gone.
        unsafe {
            pool.offer(&mut obs, false);
        }
        pool.begin(0..num_envs);
        self.in_flight = Some(obs);
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.open()?;
        if self.in_flight.is_none() {
            return Err(order("recv: call send first"));
        }
        self.drain();
        step.clear(self.spec.num_envs, 1);
        for (index, job) in self.open()?.items().into_iter().flatten().enumerate() {
            job.sub_env.fill(index, step);
        }
        Ok(())
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.check_idle("save_state")?;
        self.check_was_reset("save_state")?;
        let jobs = self.open()?.items().into_iter().flatten();
        let states = save_all(jobs.map(|job| &mut job.sub_env));
        states.ok_or_else(|| self.has_no_states())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_idle("restore_state")?;
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.spec.check_states(states)?;
        let (unsupported, row_bytes) = (self.has_no_states(), self.spec.obs_spec.num_bytes());
        let pool = self.open()?;
        let jobs = pool.items().into_iter().flatten();
        let sub_envs = jobs.map(|job| &mut job.sub_env).collect();
        restore_all(sub_envs, states, obs, unsupported)?;
        let rows = obs.chunks_exact(row_bytes);
        for (job, row) in pool.items().into_iter().flatten().zip(rows) {
            job.obs.copy_from_slice(row);
        }
        self.was_reset = true;
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        // The threads end before the slot goes to which they write.
        self.pool = None;
        self.in_flight = None;
        Ok(())
    }
}

fn order(message: &str) -> EnvError {
    EnvError::Order(message.to_owned())
}
