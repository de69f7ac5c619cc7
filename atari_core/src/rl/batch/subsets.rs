//! Calls for some of the environments at a time: any may be begun while others are in flight, and received in parts.
//! Rows are written by the threads if memory for them is offered in time, else when they are read; a whole batch, whose
//! rows are known beforehand, goes by [`AtariVecEnv::send_to`].

use vec_env::{Actions, AutoresetMode, EnvError, ObsSlot, StepBatch};

use super::{
    env::{AtariVecEnv, order, usage},
    results::Rows,
    sub_env::{Command, SubEnv},
    ticket::Asked,
};

impl AtariVecEnv {
    /// Starts a step of the environments named, one action for each.
    ///
    /// # Errors
    /// [`EnvError::NoSuchEnv`]; [`EnvError::Order`] before the first reset, for one that is in flight, named twice, or
    /// whose game is over while resets are the caller's matter (a lost life is no such end); those of actions. Nothing
    /// was begun then.
    pub fn begin_step(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), EnvError> {
        self.expect_reset("send")?;
        self.check_actions(actions, env_ids)?;
        let (by_hand, num_players) = (
            self.spec.autoreset_mode == AutoresetMode::Disabled,
            self.spec.num_players,
        );
        let is_over = |sub_env: &SubEnv| {
            (by_hand && !sub_env.env.is_in_play()).then_some("needs a reset, as its game is over")
        };
        self.begin(Asked::Step, env_ids, is_over, |place, sub_env| {
            sub_env.command = Command::step(actions, place, num_players);
        })?;
        self.ready.clear();
        Ok(())
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
        let any = |_: &SubEnv| None;
        self.begin(Asked::Reset, env_ids, any, |place, sub_env| {
            sub_env.command = Command::Reset {
                seed: seeds[place],
                new_game,
            };
        })?;
        self.ready.clear();
        self.was_reset = true;
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
        let row_bytes = self.spec.obs_spec.num_bytes();
        let num_rows = (obs.len() / row_bytes).max(1);
        EnvError::check_length(&obs, num_rows * row_bytes)?;
        if self.ticket.has_slot() || self.ticket.count() < num_rows {
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
        let ticket = &self.ticket;
        let fits = match ticket.num_offered {
            0 => !ticket.has_slot() && count <= ticket.count(),
            num_offered => count == num_offered,
        };
        if !fits {
            return Err(order("recv: call send first"));
        }
        self.take(count)?;
        Ok(self.ready.clone())
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
        let mut obs_rows = match obs {
            Some(obs) => {
                EnvError::check_length(obs, env_ids.len() * row_bytes)?;
                Some(obs.chunks_exact_mut(row_bytes))
            }
            None => None,
        };
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
}
