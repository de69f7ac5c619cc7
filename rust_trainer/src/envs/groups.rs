//! [`EnvGroups`]: environments in groups that take turns, so that the network acts for one while the others'
//! steps are in flight.

use std::time::Duration;

use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

/// Batches of equally many environments as one batch, of which a group is stepped at a time.
///
/// [`VecEnv::send`] is for the group behind the one sent last, at first for the first, and
/// [`VecEnv::recv`] receives from the groups in the same order, however fast they are: what follows does
/// not depend on time. Each group is sent to again once it was received from. Environments are numbered
/// through, and get the seeds that they would have in a single batch.
pub struct EnvGroups {
    groups: Vec<Box<dyn VecEnv>>,
    /// How many environments, which a row or several are each, a group has.
    envs_of_group: usize,
    spec: BatchSpec,
    /// The group that is received from next.
    turn: usize,
    /// Groups whose steps are in flight: that one and those behind it.
    in_flight: usize,
}

impl EnvGroups {
    /// The environments of all `groups`, so many in each: they have a row each, or one for each player or agent.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for none, or for groups that are not alike.
    pub fn new(groups: Vec<Box<dyn VecEnv>>, envs_of_group: usize) -> Result<Self, EnvError> {
        let unfit = |what: &str| Err(EnvError::Unsupported(format!("groups: {what}")));
        let Some((first, others)) = groups.split_first() else {
            return unfit("there are none");
        };
        let is_alike = |other: &dyn VecEnv| {
            other.num_envs() == first.num_envs()
                && other.obs_spec() == first.obs_spec()
                && other.action_space() == first.action_space()
        };
        if !others.iter().all(|other| is_alike(&**other)) {
            return unfit("they differ in size, observations or actions");
        }
        Ok(Self {
            spec: BatchSpec {
                num_envs: groups.len() * first.num_envs(),
                batch_size: first.num_envs(),
                ..first.spec().clone()
            },
            groups,
            envs_of_group,
            turn: 0,
            in_flight: 0,
        })
    }

    /// The number of a group's first environment.
    fn start(&self, group: usize) -> usize {
        group * self.batch_size()
    }

    fn numbers(&self, group: usize, indices: &[usize]) -> Vec<usize> {
        let start = self.start(group);
        indices.iter().map(|index| start + index).collect()
    }

    /// Each group with its part of `obs`.
    fn with_obs<'a>(
        &'a mut self,
        obs: &'a mut [u8],
    ) -> Result<impl Iterator<Item = (&'a mut Box<dyn VecEnv>, &'a mut [u8])>, EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let of_group = self.groups[0].spec().obs_bytes();
        Ok(self.groups.iter_mut().zip(obs.chunks_exact_mut(of_group)))
    }

    fn check_idle(&self, call: &str) -> Result<(), EnvError> {
        if self.in_flight == 0 {
            return Ok(());
        }
        Err(EnvError::Order(format!("{call}: call recv first")))
    }
}

impl VecEnv for EnvGroups {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        (self.turn, self.in_flight) = (0, 0);
        let of_group = self.envs_of_group as u64;
        for (number, (group, obs)) in (0..).zip(self.with_obs(obs)?) {
            group.reset(seed.map(|seed| seed.wrapping_add(number * of_group)), obs)?;
        }
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        if self.in_flight == self.groups.len() {
            return Err(EnvError::Order("send: call recv first".to_owned()));
        }
        let group = (self.turn + self.in_flight) % self.groups.len();
        self.groups[group].send(actions, obs)?;
        self.in_flight += 1;
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        if self.in_flight == 0 {
            return Err(EnvError::Order("recv: call send first".to_owned()));
        }
        let group = self.turn;
        self.groups[group]
            .recv_timeout(step, timeout)
            .map_err(|error| error.renumbered(|indices| self.numbers(group, indices)))?;
        step.env_ids = self.numbers(group, &step.env_ids);
        let start = self.start(group);
        for episode in &mut step.episodes {
            episode.env += start;
        }
        self.turn = (group + 1) % self.groups.len();
        self.in_flight -= 1;
        Ok(())
    }

    fn worker_pids(&self) -> Vec<u32> {
        let of_each = self.groups.iter().map(|group| group.worker_pids());
        of_each.flatten().collect()
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        let restarted = self.groups[self.turn].restart_workers()?;
        Ok(self.numbers(self.turn, &restarted))
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.in_flight = 0;
        let closed: Vec<_> = self.groups.iter_mut().map(|group| group.close()).collect();
        closed.into_iter().collect()
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.check_idle("save_state")?;
        let states = self.groups.iter_mut().map(|group| group.save_state());
        Ok(states.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_idle("restore_state")?;
        if states.is_empty() || !states.len().is_multiple_of(self.groups.len()) {
            self.spec.check_states(states)?;
        }
        // A state of each environment, or in games for two of each game: each group counts its own.
        let size = states.len() / self.groups.len();
        let before = self.save_state()?;
        let (mut failed, mut seen) = (None, vec![0; obs.len()]);
        let groups = self.with_obs(obs)?.zip(states.chunks_exact(size));
        for (number, ((group, obs), states)) in groups.enumerate() {
            if let Err(error) = group.restore_state(states, obs) {
                failed = Some((number, error));
                break;
            }
        }
        let Some((number, error)) = failed else {
            return Ok(());
        };
        let back = self.with_obs(&mut seen)?.zip(before.chunks_exact(size));
        for ((group, seen), before) in back.take(number) {
            group.restore_state(before, seen)?; // they were there a moment ago
        }
        Err(error)
    }
}
