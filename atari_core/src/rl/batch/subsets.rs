//! Calls for some of the environments at a time: any may be begun while others are in flight, and received in parts.
//! Rows are written by the threads if memory for them is offered in time, else when they are read; a whole batch, whose
//! rows are known beforehand, goes by [`AtariVecEnv::send_to`].

use vec_env::{Actions, AutoresetMode, EnvError, ObsSlot, StepBatch};

use super::{
    env::{AtariVecEnv, order, usage},
    results::Rows,
    sub_env::Command,
};

impl AtariVecEnv {
    /// Starts a step of the environments named, one action for each.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`]; [`EnvError::Order`] before the first reset, for one that is in flight, named twice, or
    /// whose game is over while resets are the caller's matter (a lost life is no such end); those of actions. Nothing
    /// was begun then.
    pub fn begin_step(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), EnvError> {
        self.open()?;
        if !self.was_reset {
            return Err(order("send: call reset first"));
        }
        self.check_actions(actions, env_ids)?;
        let num_in_flight = self.in_flight.len();
        self.in_flight.extend_from_slice(env_ids);
        self.check_ids(num_in_flight, false)?;
        let over = env_ids.iter().find(|&&index| self.is_over(index));
        if let Some(index) = over.copied() {
            self.in_flight.truncate(num_in_flight);
            let problem = "needs a reset, as its game is over";
            return Err(EnvError::Order(format!(
                "send: environment {index} {problem}"
            )));
        }
        let num_players = self.num_players;
        self.start(env_ids, |place| Command::step(actions, place, num_players))
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
        if !self.in_flight.is_empty() {
            return Err(order("reset: call recv first"));
        }
        if !self.was_reset && env_ids.len() != self.num_envs {
            return Err(order("reset: the first reset must be of all environments"));
        }
        if seeds.len() != env_ids.len() {
            let (given, needed) = (seeds.len(), env_ids.len());
            return Err(usage(format!("{given} seeds for {needed} environments")));
        }
        self.in_flight.extend_from_slice(env_ids);
        self.check_ids(0, false)?;
        self.was_reset = true;
        self.start(env_ids, |place| Command::Reset {
            seed: seeds[place],
            new_game,
        })
    }

    fn is_over(&mut self, index: usize) -> bool {
        self.mode == AutoresetMode::Disabled
            && self
                .sub_env(index)
                .is_ok_and(|sub_env| !sub_env.env.is_in_play())
    }

    /// Lets the pool begin with environments that were checked.
    fn start(
        &mut self,
        env_ids: &[usize],
        command: impl Fn(usize) -> Command,
    ) -> Result<(), EnvError> {
        self.ready.clear();
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        for (place, &index) in env_ids.iter().enumerate() {
            if let Some(sub_env) = pool.item(index) {
                sub_env.command = command(place);
            }
        }
        pool.begin(env_ids.iter().copied());
        Ok(())
    }

    /// Gives the next [`AtariVecEnv::receive`] memory for its rows, and says with it how many it waits for. What is ready
    /// first is in the first row.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`] for memory of no whole rows; [`EnvError::Order`] if fewer environments are in flight, or
    /// memory was given before.
    pub fn offer(&mut self, obs: ObsSlot) -> Result<(), EnvError> {
        self.open()?;
        let row_bytes = self.obs_spec.num_bytes();
        let num_rows = (obs.len() / row_bytes).max(1);
        EnvError::check_length(&obs, num_rows * row_bytes)?;
        if self.slot.is_some() || self.in_flight.len() < num_rows {
            return Err(order("offer: send more first, or receive what was sent"));
        }
        self.offer_rows(obs, num_rows);
        Ok(())
    }

    /// Waits for `count` of the environments in flight, and says which: in the order in which they were begun if these
    /// are all that are in flight (and in their own if they are all there are), else, and where rows were offered, in that
    /// in which they were ready.
    ///
    /// # Errors
    /// [`EnvError::Order`] if fewer are in flight, or rows were offered for another number.
    pub fn receive(&mut self, count: usize) -> Result<Vec<usize>, EnvError> {
        self.open()?;
        if self.num_offered > 0 && self.num_offered == count {
            self.take_offered();
            self.open()?;
            return Ok(self.ready.clone());
        }
        if self.slot.is_some() || self.in_flight.len() < count {
            return Err(order("recv: call send first"));
        }
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        pool.wait(count);
        let received = if self.in_flight.len() == count {
            while pool.take().is_some() {}
            let mut all = std::mem::take(&mut self.in_flight);
            if count == self.num_envs {
                all.sort_unstable();
            }
            all
        } else {
            let ready: Vec<usize> = (0..count)
                .map_while(|_| pool.take().map(|(index, _)| index))
                .collect();
            self.in_flight.retain(|&index| pool.is_busy(index));
            ready
        };
        self.ready.clone_from(&received);
        self.open()?;
        Ok(received)
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
        let row_bytes = self.obs_spec.num_bytes();
        let mut obs_rows = match obs {
            Some(obs) => {
                EnvError::check_length(obs, env_ids.len() * row_bytes)?;
                Some(obs.chunks_exact_mut(row_bytes))
            }
            None => None,
        };
        if let Some(flags) = took_part
            && flags.len() != self.num_envs
        {
            let (given, num_envs) = (flags.len(), self.num_envs);
            return Err(usage(format!(
                "took_part has {given} flags for {num_envs} environments"
            )));
        }
        let mut rows = Rows::new(step, env_ids.len(), self.num_players);
        for (row, &index) in env_ids.iter().enumerate() {
            let sub_env = self.sub_env(index)?;
            if let Some(error) = sub_env.error.take() {
                return Err(error);
            }
            if took_part.is_none_or(|took_part| took_part[index]) {
                rows.fill_step(row, index, &mut sub_env.result);
            } else {
                rows.fill_row(row, index, &sub_env.result, false);
            }
            if let Some(out) = obs_rows.as_mut().and_then(Iterator::next) {
                sub_env.env.write_obs(out);
            }
        }
        Ok(())
    }

    /// The whole states of the environments named, as plain data.
    ///
    /// # Errors
    /// [`EnvError::Order`] before the first reset, and for one that is in flight; [`EnvError::NoSuchEnv`].
    pub fn save_states(&mut self, env_ids: &[usize]) -> Result<Vec<Vec<u8>>, EnvError> {
        if !self.was_reset {
            self.open()?;
            return Err(order("save_state: call reset first"));
        }
        let states = env_ids.iter().map(|&index| Ok(self.sub_env(index)?.save()));
        states.collect()
    }

    /// Brings the environments named to states that were saved: all of them, or none where one is refused. States of
    /// the whole batch stand for a first reset.
    ///
    /// # Errors
    /// [`EnvError::State`]; those of [`AtariVecEnv::save_states`].
    pub fn restore_states(&mut self, env_ids: &[usize], states: &[&[u8]]) -> Result<(), EnvError> {
        if !self.was_reset && !(0..self.num_envs).all(|index| env_ids.contains(&index)) {
            self.open()?;
            return Err(order("restore_state: call reset first"));
        }
        if states.len() != env_ids.len() {
            let (given, wanted) = (states.len(), env_ids.len());
            return Err(EnvError::State(format!(
                "{given} states for {wanted} environments"
            )));
        }
        // All are read before one is put in place.
        for (&index, state) in env_ids.iter().zip(states) {
            let refuse = |error| EnvError::State(format!("that of environment {index}: {error}"));
            self.sub_env(index)?.read(state).map(drop).map_err(refuse)?;
        }
        for (&index, state) in env_ids.iter().zip(states) {
            let sub_env = self.sub_env(index)?;
            if let Ok(read) = sub_env.read(state) {
                sub_env.put(read);
            }
        }
        self.was_reset = true;
        Ok(())
    }
}
