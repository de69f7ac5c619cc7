//! The calls of [`AtariVecEnv`]: resets, steps and states, their order, and where rows go.

use std::iter;

use vec_env::{ActionSpace, Actions, AutoresetMode, EnvError, ObsSlot, ObsSpec, StepBatch, VecEnv};

use super::{
    env::{AtariVecEnv, order, usage},
    pool::Work,
    results::Rows,
    rows::ObsRows,
    sub_env::Command,
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
        let (num_envs, was_reset) = (self.num_envs, self.was_reset);
        let row_bytes = self.obs_spec.num_bytes();
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
        let mut rows = Rows::new(step, num_envs, self.num_players);
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
    fn drain(&mut self) {
        if let Some(pool) = &mut self.pool {
            pool.wait(self.num_envs);
            while pool.take().is_some() {}
        }
        self.slot = None;
        self.num_offered = 0;
        self.in_flight.clear();
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
        mut obs: ObsSlot,
    ) -> Result<(), EnvError> {
        self.open()?;
        if !self.was_reset {
            return Err(order("send: call reset first"));
        }
        let ids = env_ids.unwrap_or(&self.ready);
        if self.slot.is_some() || ids.is_empty() {
            return Err(order("send: call recv first"));
        }
        self.check_actions(actions, ids)?;
        let is_whole = self.batch_size == self.num_envs;
        let num_rows = if is_whole { ids.len() } else { self.batch_size };
        let num_in_flight = self.in_flight.len();
        if num_in_flight + ids.len() < num_rows {
            return Err(EnvError::Order(format!(
                "send: {} environments are in flight then, and a batch takes {num_rows}: send more at once",
                num_in_flight + ids.len()
            )));
        }
        let row_bytes = self.obs_spec.num_bytes();
        EnvError::check_length(&obs, num_rows * row_bytes)?;
        self.in_flight.extend_from_slice(ids);
        self.check_ids(num_in_flight, true)?;
        let rows = ObsRows::new(&mut obs, row_bytes);
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        let ids = &self.in_flight[num_in_flight..];
        for (place, &index) in ids.iter().enumerate() {
            let Some(sub_env) = pool.item(index) else {
                continue; // `check_ids` has refused it
            };
            sub_env.command = Command::step(actions, place, self.num_players);
            if is_whole {
                let row = if ids.len() == self.num_envs {
                    index
                } else {
                    place
                };
                #[expect(unsafe_code, reason = "lends the slot's rows to the pool")]
                // SAFETY: the slot is kept, and not looked into, until all is received, or the pool is gone.
                let destination = unsafe { rows.row(row) };
                sub_env.destination = destination;
            }
        }
        pool.begin(ids.iter().copied());
        if is_whole {
            self.slot = Some(obs);
        } else {
            self.offer_rows(obs, num_rows);
        }
        self.ready.clear();
        Ok(())
    }

    /// Offers rows, no more than are in flight, to those that will be ready first, whichever that are.
    pub(super) fn offer_rows(&mut self, mut obs: ObsSlot, num_rows: usize) {
        let rows = ObsRows::new(&mut obs, self.obs_spec.num_bytes());
        if let Some(pool) = &mut self.pool {
            for place in 0..num_rows {
                #[expect(unsafe_code, reason = "lends the slot's rows to the pool")]
                // SAFETY: the slot is kept, and not looked into, until as many items were taken, and each row with its
                // item (`take_offered`, `drain`), or the pool is gone.
                if let Some(row) = unsafe { rows.row(place) } {
                    pool.offer(place, row);
                }
            }
        }
        self.slot = Some(obs);
        self.num_offered = num_rows;
    }

    /// Waits for as many environments as rows were offered, which are then `ready` in the order of their rows.
    pub(super) fn take_offered(&mut self) {
        let count = std::mem::take(&mut self.num_offered);
        self.ready.clear();
        if let Some(pool) = &mut self.pool {
            pool.wait(count);
            while self.ready.len() < count
                && let Some((index, row)) = pool.take()
            {
                self.ready.push(index);
                // It was ready before a row was offered.
                if let (Some(row), Some(sub_env)) = (row, pool.item(index)) {
                    sub_env.write_to(row);
                }
            }
            self.in_flight.retain(|&index| pool.is_busy(index));
        }
        self.slot = None;
    }

    /// Refuses environments that there are not, that are named twice, or whose episodes wait for a reset and not for a
    /// step, among those named from `first` on; then none of them is begun.
    pub(super) fn check_ids(&mut self, first: usize, is_step: bool) -> Result<(), EnvError> {
        let num_envs = self.num_envs;
        let by_hand = is_step && self.mode == AutoresetMode::Disabled;
        let Some(pool) = &mut self.pool else {
            return Err(EnvError::Closed);
        };
        let (in_flight, named) = (&self.in_flight, &mut self.named);
        named.fill(false);
        for &index in &in_flight[..first] {
            named[index] = true;
        }
        let found = (first..in_flight.len()).find_map(|place| {
            let index = in_flight[place];
            if index >= num_envs {
                return Some(EnvError::NoSuchEnv { index, num_envs });
            }
            if std::mem::replace(&mut named[index], true) {
                let problem = "is in flight, or named twice; receive it first";
                return Some(EnvError::Order(format!(
                    "send: environment {index} {problem}"
                )));
            }
            let ended = by_hand && pool.item(index).is_some_and(|sub_env| sub_env.ended);
            let problem = "needs a reset, as its episode has ended";
            ended.then(|| EnvError::Order(format!("send: environment {index} {problem}")))
        });
        match found {
            None => Ok(()),
            Some(error) => {
                self.in_flight.truncate(first);
                Err(error)
            }
        }
    }

    pub(super) fn check_actions(
        &self,
        actions: Actions<'_>,
        ids: &[usize],
    ) -> Result<(), EnvError> {
        self.action_space
            .check(actions, ids.len(), |row| ids[row])?;
        let (ActionSpace::Box { low, high, .. }, Actions::Continuous(values)) =
            (&self.action_space, actions)
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
    fn num_envs(&self) -> usize {
        self.num_envs
    }

    fn obs_spec(&self) -> &ObsSpec {
        &self.obs_spec
    }

    fn action_space(&self) -> &ActionSpace {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        let seeds = seed.map(|first| {
            let seeds = iter::successors(Some(first), |seed| Some(seed.wrapping_add(1)));
            seeds.map(Some).take(self.num_envs).collect()
        });
        let request = ResetRequest { seeds, mask: None };
        self.reset_with(&request, obs, &mut StepBatch::default())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.send_to(actions, None, obs)
    }

    fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
        self.open()?;
        if self.slot.is_none() {
            return Err(order("recv: call send first"));
        }
        if self.num_offered > 0 {
            self.take_offered();
        } else if let Some(pool) = &mut self.pool {
            pool.wait(self.in_flight.len());
            while pool.take().is_some() {}
            self.ready.append(&mut self.in_flight);
            if self.ready.len() == self.num_envs {
                self.ready.sort_unstable();
            }
            self.slot = None;
        }
        let pool = self.pool.as_mut().ok_or(EnvError::Closed)?;
        let mut rows = Rows::new(step, self.ready.len(), self.num_players);
        for (row, &index) in self.ready.iter().enumerate() {
            if let Some(sub_env) = pool.item(index) {
                if let Some(error) = sub_env.error.take() {
                    return Err(error);
                }
                rows.fill_step(row, index, &mut sub_env.result);
            }
        }
        self.open()?;
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        // The threads end before the slot goes to which they write.
        self.pool = None;
        self.slot = None;
        Ok(())
    }

    fn backend(&self) -> &'static str {
        "native"
    }

    fn num_players(&self) -> usize {
        self.num_players
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.mode
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.save_states(&(0..self.num_envs).collect::<Vec<_>>())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        let (num_envs, row_bytes) = (self.num_envs, self.obs_spec.num_bytes());
        EnvError::check_length(obs, num_envs * row_bytes)?;
        if states.len() != num_envs {
            let given = states.len();
            return Err(EnvError::State(format!(
                "{given} states for {num_envs} environments"
            )));
        }
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
