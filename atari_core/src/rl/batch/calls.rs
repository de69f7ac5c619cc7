//! The calls of [`AtariVecEnv`]: resets, steps and states, their order, and where rows go.

use std::{iter, mem, time::Duration};

use vec_env::{
    ActionSpace, Actions, AutoresetMode, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv,
};

use super::{
    env::{AtariVecEnv, order, usage},
    pool::Work,
    results::Rows,
    rows::ObsRows,
    sub_env::{Command, SubEnv},
    ticket::Asked,
};

/// What a reset is to be.
#[derive(Clone, Debug, Default)]
pub struct ResetRequest {
    /// A seed for each environment of the batch; `None` where its random numbers go on.
    pub seeds: Option<Vec<Option<u64>>>,
    /// Which environments to restart; the others stay as they are. One that waits after a lost life goes on as the
    /// recipe says, unless it gets a seed. The first reset is of all.
    pub mask: Option<Vec<bool>>,
}

impl ResetRequest {
    fn check(&self, num_envs: usize, was_reset: bool) -> Result<(), EnvError> {
        if let Some(mask) = &self.mask {
            if mask.len() != num_envs || !mask.contains(&true) {
                let given = mask.len();
                return Err(usage(format!(
                    "a reset mask needs {num_envs} places and one of them true, got {given} places"
                )));
            }
            if !was_reset && mask.contains(&false) {
                return Err(order("reset: the first reset must be of all environments"));
            }
        }
        match &self.seeds {
            Some(seeds) if seeds.len() != num_envs => {
                let given = seeds.len();
                Err(usage(format!("{given} seeds for {num_envs} environments")))
            }
            _ => Ok(()),
        }
    }

    fn is_chosen(&self, index: usize) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask[index])
    }
}

impl AtariVecEnv {
    /// Restarts environments as the request says. Writes to `obs` what all show then, and to `step` what is known of
    /// all. A step in flight is dropped.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`]; [`EnvError::Order`] for a mask before the first whole reset; [`EnvError::Backend`] for
    /// another number of seeds, or a mask that does not fit.
    pub fn reset_with(
        &mut self,
        request: &ResetRequest,
        obs: &mut [u8],
        step: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let (num_envs, was_reset) = (self.spec.num_envs, self.was_reset);
        let row_bytes = self.spec.obs_spec.num_bytes();
        self.open()?;
        EnvError::check_length(obs, num_envs * row_bytes)?;
        request.check(num_envs, was_reset)?;
        self.drain();
        let rows = ObsRows::new(obs, row_bytes);
        let pool = self.open()?;
        for index in (0..num_envs).filter(|&index| request.is_chosen(index)) {
            let Some(sub_env) = pool.item(index) else {
                continue; // none is in flight
            };
            sub_env.command = Command::Reset {
                seed: request.seeds.as_ref().and_then(|seeds| seeds[index]),
                new_game: request.mask.is_none() || !was_reset,
            };
            #[expect(unsafe_code, reason = "lends the caller's rows to the pool")]
            // SAFETY: `obs` is borrowed, and not looked into, until the rows were written: `drain` waits for them.
            let destination = unsafe { rows.row(index) };
            sub_env.destination = destination;
        }
        pool.begin((0..num_envs).filter(|&index| request.is_chosen(index)));
        self.drain();
        self.was_reset = true;
        self.ready.extend(0..num_envs);
        let mut rows = Rows::new(step, num_envs, self.spec.num_players);
        let pool = self.open()?;
        for (index, row) in obs.chunks_exact_mut(row_bytes).enumerate() {
            if let Some(sub_env) = pool.item(index) {
                let is_chosen = request.is_chosen(index);
                rows.fill_record(index, index, &sub_env.result, is_chosen);
                if !is_chosen {
                    sub_env.env.write_obs(row);
                }
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

    /// Starts a step of the environments named (`None`: of those received last, after a reset all), whose actions are
    /// given in the same order. `obs` has a row for each that the next `recv` gives: for these, or, with a
    /// `batch_size`, for as many as that. The rows of all environments are in their order.
    ///
    /// # Errors
    /// Those of [`VecEnv::send`]; [`EnvError::NoSuchEnv`].
    pub fn send_to(
        &mut self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
        obs: ObsSlot,
    ) -> Result<(), EnvError> {
        let turn = mem::take(&mut self.ready);
        let sent = self.send_into(actions, env_ids.unwrap_or(&turn), obs);
        self.ready = turn;
        if sent.is_ok() {
            self.ready.clear();
        }
        sent
    }

    fn send_into(
        &mut self,
        actions: Actions<'_>,
        ids: &[usize],
        mut obs: ObsSlot,
    ) -> Result<(), EnvError> {
        self.expect_reset("send")?;
        if self.ticket.has_slot() || ids.is_empty() {
            return Err(order("send: call recv first"));
        }
        self.check_actions(actions, ids)?;
        let (num_envs, num_players) = (self.spec.num_envs, self.spec.num_players);
        let is_whole = self.spec.batch_size == num_envs;
        let num_rows = if is_whole {
            ids.len()
        } else {
            self.spec.batch_size
        };
        let num_in_flight = self.ticket.count() + ids.len();
        if num_in_flight < num_rows {
            return Err(EnvError::Order(format!(
                "send: {num_in_flight} environments are in flight then, and a batch takes {num_rows}: send more at once"
            )));
        }
        let row_bytes = self.spec.obs_spec.num_bytes();
        EnvError::check_length(&obs, num_rows * row_bytes)?;
        let by_hand = self.spec.autoreset_mode == AutoresetMode::Disabled;
        let waits = |sub_env: &SubEnv| {
            (by_hand && sub_env.ended).then_some("needs a reset, as its episode has ended")
        };
        let rows = ObsRows::new(&mut obs, row_bytes);
        self.begin(Asked::Step, ids, waits, |place, sub_env| {
            sub_env.command = Command::step(actions, place, num_players);
            if is_whole {
                let row = if ids.len() == num_envs {
                    ids[place]
                } else {
                    place
                };
                #[expect(unsafe_code, reason = "lends the slot's rows to the pool")]
                // SAFETY: the ticket keeps the slot, and nobody looks into it, until all is received, or the pool is gone.
                let destination = unsafe { rows.row(row) };
                sub_env.destination = destination;
            }
        })?;
        if is_whole {
            self.ticket.slot = Some(obs);
        } else {
            self.offer_rows(obs, num_rows);
        }
        Ok(())
    }

    /// Puts environments on the ticket, has each prepared, and lets the pool begin with them; or refuses those that there
    /// are not, that are in flight or named twice, and those of which `refusal` says why. None is begun then.
    pub(super) fn begin(
        &mut self,
        asked: Asked,
        ids: &[usize],
        refusal: impl Fn(&SubEnv) -> Option<&'static str>,
        mut prepare: impl FnMut(usize, &mut SubEnv),
    ) -> Result<(), EnvError> {
        let num_envs = self.spec.num_envs;
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        self.named.fill(false);
        for &index in ids {
            if index >= num_envs {
                return Err(EnvError::NoSuchEnv { index, num_envs });
            }
            let problem = match pool.item(index) {
                Some(sub_env) if !mem::replace(&mut self.named[index], true) => refusal(sub_env),
                _ => Some("is in flight, or named twice; receive it first"),
            };
            if let Some(problem) = problem {
                return Err(EnvError::Order(format!(
                    "send: environment {index} {problem}"
                )));
            }
        }
        for (place, &index) in ids.iter().enumerate() {
            if let Some(sub_env) = pool.item(index) {
                prepare(place, sub_env);
            }
        }
        self.ticket.asked = Some(asked);
        self.ticket.envs.extend_from_slice(ids);
        pool.begin(ids.iter().copied());
        Ok(())
    }

    /// Offers rows, no more than are in flight, to those that will be ready first, whichever that are.
    pub(super) fn offer_rows(&mut self, mut obs: ObsSlot, num_rows: usize) {
        let rows = ObsRows::new(&mut obs, self.spec.obs_spec.num_bytes());
        if let Some(pool) = &mut self.pool {
            for place in 0..num_rows {
                #[expect(unsafe_code, reason = "lends the slot's rows to the pool")]
                // SAFETY: the ticket keeps the slot, and nobody looks into it, until as many items were taken, and each row
                // with its item (`take`, `drain`), or the pool is gone.
                if let Some(row) = unsafe { rows.row(place) } {
                    pool.offer(place, row);
                }
            }
        }
        self.ticket.slot = Some(obs);
        self.ticket.num_offered = num_rows;
    }

    /// Waits for `count` of the environments in flight and takes them off the ticket. They are `ready` then: in the order
    /// in which they were begun if nothing else is in flight and no rows were offered (in their own if they are all), else
    /// in that in which they were ready, which is that of the rows.
    pub(super) fn take(&mut self, count: usize) -> Result<(), EnvError> {
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        let ticket = &mut self.ticket;
        pool.wait(count);
        self.ready.clear();
        while self.ready.len() < count
            && let Some((index, row)) = pool.take()
        {
            self.ready.push(index);
            // It was ready before a row was offered.
            if let (Some(row), Some(sub_env)) = (row, pool.item(index)) {
                sub_env.write_to(row);
            }
        }
        if count < ticket.envs.len() || ticket.num_offered > 0 {
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

    pub(super) fn expect_reset(&mut self, call: &str) -> Result<(), EnvError> {
        self.open()?;
        if !self.was_reset {
            return Err(EnvError::Order(format!("{call}: call reset first")));
        }
        Ok(())
    }

    pub(super) fn check_actions(
        &self,
        actions: Actions<'_>,
        ids: &[usize],
    ) -> Result<(), EnvError> {
        self.spec
            .action_space
            .check(actions, ids.len(), |row| ids[row])?;
        let (ActionSpace::Box { low, high, .. }, Actions::Continuous(values)) =
            (&self.spec.action_space, actions)
        else {
            return Ok(());
        };
        let bounds = low.iter().zip(high).cycle();
        let is_outside =
            |(value, (low, high)): (&f32, (&f32, &f32))| !(low..=high).contains(&value);
        match values.iter().zip(bounds).position(is_outside) {
            None => Ok(()),
            Some(place) => Err(usage(format!(
                "action {:?} of environment {} is outside of {low:?} to {high:?}",
                &values[place / 3 * 3..][..3],
                ids[place / 3]
            ))),
        }
    }
}

impl VecEnv for AtariVecEnv {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        let seeds = seed.map(|first| {
            let seeds = iter::successors(Some(first), |seed| Some(seed.wrapping_add(1)));
            seeds.map(Some).take(self.spec.num_envs).collect()
        });
        let request = ResetRequest { seeds, mask: None };
        self.reset_with(&request, obs, &mut StepBatch::default())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.send_to(actions, None, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.open()?;
        let ticket = &self.ticket;
        let count = match ticket.num_offered {
            0 => ticket.count(),
            num_offered => num_offered,
        };
        if !ticket.has_slot() {
            return Err(order("recv: call send first"));
        }
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
        let (num_envs, row_bytes) = (self.spec.num_envs, self.spec.obs_spec.num_bytes());
        EnvError::check_length(obs, num_envs * row_bytes)?;
        self.spec.check_states(states)?;
        let states: Vec<&[u8]> = states.iter().map(Vec::as_slice).collect();
        self.restore_states(&(0..num_envs).collect::<Vec<_>>(), &states)?;
        let pool = self.open()?;
        for (index, row) in obs.chunks_exact_mut(row_bytes).enumerate() {
            if let Some(sub_env) = pool.item(index) {
                sub_env.env.write_obs(row);
            }
        }
        self.ready.clear();
        self.ready.extend(0..num_envs);
        Ok(())
    }
}
