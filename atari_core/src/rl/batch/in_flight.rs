//! The calls of which a reset and a step of [`AtariVecEnv`] are made: environments are begun, any of them while others are
//! in flight; memory for observations is offered; those that are ready are received, and what they brought is read.

use std::mem;

use vec_env::{Actions, AutoresetMode, EnvError, ObsSlot, StepBatch};

use super::{
    results::Rows,
    sub_env::{Command, SubEnv},
    ticket::Asked,
    vec_env::{AtariVecEnv, order, usage},
};

impl AtariVecEnv {
    /// Starts a step of the environments named, one action for each. Memory in `obs`, of as many rows as a batch has, is
    /// [offered](Self::offer) with it.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`]; [`EnvError::Order`] before the first reset, for one that is in flight, named twice, or
    /// whose game is over while resets are the caller's matter (a lost life is no such end); those of actions and of
    /// [`AtariVecEnv::offer`]. Nothing was begun then.
    pub fn begin_step(
        &mut self,
        actions: Actions<'_>,
        env_ids: &[usize],
        obs: Option<ObsSlot>,
    ) -> Result<(), EnvError> {
        self.expect_reset("send")?;
        if let Some(obs) = &obs {
            self.check_offer(obs, self.spec.batch_size, env_ids.len())?;
        }
        let space = &self.spec.action_space;
        space.check(actions, env_ids.len(), |row| env_ids[row])?;
        space.check_bounds(actions, |row| env_ids[row])?;
        let (by_hand, num_players) = (
            self.spec.autoreset_mode == AutoresetMode::Disabled,
            self.spec.num_players,
        );
        self.begin(Asked::Step, env_ids, |place, sub_env| {
            if by_hand && !sub_env.env.is_in_play() {
                return Err("needs a reset, as its game is over");
            }
            Ok(Command::step(actions, place, num_players))
        })?;
        obs.map_or(Ok(()), |obs| self.offer(obs))
    }

    /// Starts to reset the environments named, with a seed for each, or `None` where its random numbers go on.
    /// Without a seed and without `new_game`, one that waits after a lost life goes on as the recipe says.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`]; [`EnvError::Order`] while any is in flight, for one named twice, and if the first reset
    /// is not of all; [`EnvError::Backend`] for another number of seeds. Nothing was begun then.
    pub fn begin_reset(
        &mut self,
        env_ids: &[usize],
        seeds: &[Option<u64>],
        new_game: bool,
    ) -> Result<(), EnvError> {
        self.open()?;
        if self.ticket.count() > 0 {
            return Err(order("reset: call recv first"));
        }
        if !self.was_reset && env_ids.len() != self.spec.num_envs {
            return Err(order("reset: the first reset must be of all environments"));
        }
        if seeds.len() != env_ids.len() {
            let (given, needed) = (seeds.len(), env_ids.len());
            return Err(usage(format!("{given} seeds for {needed} environments")));
        }
        self.begin(Asked::Reset, env_ids, |place, _| {
            let seed = seeds[place];
            Ok(Command::Reset { seed, new_game })
        })?;
        self.was_reset = true;
        Ok(())
    }

    /// Puts environments on the ticket and lets the pool begin with them, each with its command; or refuses those that
    /// there are not, that are in flight or named twice, and those of which `command` says why. None is begun then.
    fn begin(
        &mut self,
        asked: Asked,
        env_ids: &[usize],
        command: impl Fn(usize, &SubEnv) -> Result<Command, &'static str>,
    ) -> Result<(), EnvError> {
        let num_envs = self.spec.num_envs;
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        self.named.fill(false);
        for (place, &index) in env_ids.iter().enumerate() {
            if index >= num_envs {
                return Err(EnvError::NoSuchEnv { index, num_envs });
            }
            let prepared = match pool.item(index) {
                Some(sub_env) if !mem::replace(&mut self.named[index], true) => {
                    command(place, sub_env).map(|command| sub_env.command = command)
                }
                _ => Err("is in flight, or named twice; receive it first"),
            };
            prepared.map_err(|problem| {
                EnvError::Order(format!("send: environment {index} {problem}"))
            })?;
        }
        self.ticket.asked = Some(asked);
        self.ticket.envs.extend_from_slice(env_ids);
        self.ready.clear();
        pool.begin(env_ids.iter().copied());
        Ok(())
    }

    /// Gives the next call that receives memory for its rows, and says with it how many it waits for. Where these are all
    /// environments each writes to its own row; else what is ready first is in the first row.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`] for memory of no whole rows; [`EnvError::Order`] if fewer environments are in flight, or
    /// memory was given before.
    pub fn offer(&mut self, mut obs: ObsSlot) -> Result<(), EnvError> {
        let num_rows = (obs.len() / self.spec.obs_spec.num_bytes()).max(1);
        self.check_offer(&obs, num_rows, 0)?;
        let in_order = num_rows < self.spec.num_envs;
        let pool = self.open()?;
        #[expect(unsafe_code, reason = "lends the slot's rows to the pool")]
        // SAFETY: the ticket keeps the slot, and nobody looks into it, until as many items were taken (`take`, `drain`),
        // or the pool is gone.
        unsafe {
            pool.offer(&mut obs, in_order);
        }
        self.ticket.slot = Some(obs);
        Ok(())
    }

    /// Refuses memory of another number of rows, and of more than are in flight with so many more environments.
    fn check_offer(&self, obs: &[u8], num_rows: usize, num_more: usize) -> Result<(), EnvError> {
        if self.ticket.has_slot() {
            return Err(order("send: call recv first"));
        }
        let num_in_flight = self.ticket.count() + num_more;
        if num_in_flight < num_rows {
            return Err(EnvError::Order(format!(
                "send: {num_in_flight} environments are in flight then, and a batch takes {num_rows}: send more at once"
            )));
        }
        EnvError::check_length(obs, num_rows * self.spec.obs_spec.num_bytes())
    }

    /// For how many environments memory was offered, if it was.
    pub(super) fn num_offered(&self) -> Option<usize> {
        let slot = self.ticket.slot.as_ref();
        slot.map(|slot| slot.num_bytes() / self.spec.obs_spec.num_bytes())
    }

    /// Waits for `count` of the environments in flight, and says which: in the order in which they were begun if these
    /// are all that are in flight (and in their own if they are all there are), else, and where the rows offered are not
    /// each environment's own, in that in which they were ready.
    ///
    /// # Errors
    /// [`EnvError::Order`] if fewer are in flight, or rows were offered for another number.
    pub fn receive(&mut self, count: usize) -> Result<Vec<usize>, EnvError> {
        self.open()?;
        let fits = match self.num_offered() {
            Some(num_rows) => count == num_rows,
            None => count <= self.ticket.count(),
        };
        if !fits {
            return Err(order("recv: call send first"));
        }
        let is_reset = self.ticket.asked() == Some(Asked::Reset);
        self.take(count)?;
        let received = self.ready.clone();
        if is_reset && self.ticket.count() == 0 {
            // Those that were not reset stand where they stood: it is the turn of all.
            self.ready.clear();
            self.ready.extend(0..self.spec.num_envs);
        }
        Ok(received)
    }

    /// Waits for `count` of the environments in flight and takes them off the ticket. They are `ready` then, in the order
    /// that [`AtariVecEnv::receive`] says.
    pub(super) fn take(&mut self, count: usize) -> Result<(), EnvError> {
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        let ticket = &mut self.ticket;
        pool.wait(count);
        self.ready.clear();
        while self.ready.len() < count
            && let Some(index) = pool.take()
        {
            self.ready.push(index);
        }
        let rows_in_order = ticket.has_slot() && count < self.spec.num_envs;
        if count < ticket.envs.len() || rows_in_order {
            ticket.envs.retain(|&index| pool.is_busy(index));
        } else {
            mem::swap(&mut self.ready, &mut ticket.envs);
            ticket.envs.clear();
            if count == self.spec.num_envs {
                self.ready.sort_unstable();
            }
        }
        ticket.after_receiving();
        self.open().map(drop)
    }

    /// What the environments named brought last, none of which is in flight: row by row to `obs`, if that is given, and
    /// to `step`. What ended is told of those that `took_part`, `None` for all, and can be told once.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`], [`EnvError::NoSuchEnv`], [`EnvError::Order`]; [`EnvError::Backend`] for flags that are
    /// not as many as the environments.
    pub fn read(
        &mut self,
        env_ids: &[usize],
        took_part: Option<&[bool]>,
        obs: Option<&mut [u8]>,
        step: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let row_bytes = self.spec.obs_spec.num_bytes();
        if let Some(obs) = &obs {
            EnvError::check_length(obs, env_ids.len() * row_bytes)?;
        }
        let mut obs_rows = obs.map(|obs| obs.chunks_exact_mut(row_bytes));
        if let Some(flags) = took_part
            && flags.len() != self.spec.num_envs
        {
            let (given, num_envs) = (flags.len(), self.spec.num_envs);
            return Err(usage(format!(
                "took_part has {given} flags for {num_envs} environments"
            )));
        }
        let mut rows = Rows::new(step, env_ids.len(), self.spec.num_players);
        for (row, &index) in env_ids.iter().enumerate() {
            let sub_env = self.sub_env(index)?;
            if let Some(error) = sub_env.error.take() {
                return Err(error);
            }
            let took_part = took_part.is_none_or(|took_part| took_part[index]);
            rows.fill(row, index, &mut sub_env.result, took_part);
            if let Some(out) = obs_rows.as_mut().and_then(Iterator::next) {
                sub_env.env.write_obs(out);
            }
        }
        Ok(())
    }

    /// Waits for all that is in flight, and forgets it.
    pub fn drain(&mut self) {
        if let Some(pool) = &mut self.pool {
            pool.wait(self.spec.num_envs);
            while pool.take().is_some() {}
        }
        self.ticket.clear();
        self.ready.clear();
    }

    pub(super) fn expect_reset(&mut self, call: &str) -> Result<(), EnvError> {
        self.open()?;
        if !self.was_reset {
            return Err(EnvError::Order(format!("{call}: call reset first")));
        }
        Ok(())
    }
}
