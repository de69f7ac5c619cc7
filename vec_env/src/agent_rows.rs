//! [`AgentRows`]: environments of several agents as a batch with a row for each agent, so that what learns from single
//! environments learns from them.

use std::time::Duration;

use crate::{
    agents::{Agent, MultiAgentEnv},
    env::{bytes_to_words, words_to_bytes, write_floats},
    error::EnvError,
    slot::ObsSlot,
    spaces::{Actions, BatchSpec, Dtype, ObsSpec},
    step::StepBatch,
    sub_env::restore_each,
    sync::{check_alike, no_envs},
    turn::Turn,
    vec_env::VecEnv,
};

/// Bytes of an agent's record in a saved state: its return and its length.
const RECORD_BYTES: usize = 16;

/// What an agent's row shows behind its own observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowLayout {
    /// The observations of the others of its environment, from the next agent on around: what a central critic reads.
    pub others: bool,
    /// At the end which agent it is: 1 in its own place and 0 in those of the others.
    pub agent: bool,
}

impl RowLayout {
    /// What a row is like, for `count` agents that observe `own` each.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] where the agent is to be shown beside what are no flat float32 numbers, or others beside
    /// a single number without an axis; and as [`ObsSpec::check`].
    pub fn obs_spec(self, own: &ObsSpec, count: usize) -> Result<ObsSpec, EnvError> {
        let mut row = own.clone();
        let is_flat = own.dtype == Dtype::Float32 && own.shape.len() == 1;
        if self.agent && !is_flat {
            return Err(EnvError::Unsupported(
                "which agent it is can be shown behind flat float32 observations alone".to_owned(),
            ));
        }
        own.check()?;
        if let Some(first) = row.shape.first_mut() {
            *first *= if self.others { count } else { 1 };
            *first += if self.agent { count } else { 0 };
        } else if self.others {
            return Err(EnvError::Unsupported(
                "observations without an axis cannot be shown beside one another".to_owned(),
            ));
        }
        Ok(row)
    }

    /// Writes the row of `agent` to `row`, where all observe `seen`.
    pub fn write(self, agent: usize, seen: &[Vec<u8>], row: &mut [u8]) {
        let count = seen.len();
        let shown = if self.others { count } else { 1 };
        let (observed, which) = row.split_at_mut(shown * seen[agent].len());
        let places = observed.chunks_exact_mut(seen[agent].len());
        for (behind, place) in places.enumerate() {
            place.copy_from_slice(&seen[(agent + behind) % count]);
        }
        let is_own = |other| f32::from(u8::from(other == agent));
        write_floats(which, (0..count).map(is_own));
    }
}

/// A batch of environments whose agents have the same spaces; row `agents · env + agent`.
///
/// Episodes are those of agents, and their returns. An agent whose episode ended before those of the others is
/// [absent](StepBatch::absent) and observes zeros until all have ended; then the next episode starts within the step.
#[derive(Debug)]
pub struct AgentRows<E> {
    envs: Vec<SubEnv<E>>,
    spec: BatchSpec,
    layout: RowLayout,
    turn: Turn,
}

/// One environment.
#[derive(Debug)]
struct SubEnv<E> {
    env: E,
    /// What each agent observes.
    seen: Vec<Vec<u8>>,
    /// Return and length of each agent's episode so far.
    records: Vec<(f64, i64)>,
}

impl<E: MultiAgentEnv> AgentRows<E> {
    /// A batch of `num_envs` environments, each from one call of `make` with its index.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for no environment, for agents or environments with different spaces, and as
    /// [`RowLayout::obs_spec`].
    pub fn new(
        num_envs: usize,
        layout: RowLayout,
        make: impl FnMut(usize) -> E,
    ) -> Result<Self, EnvError> {
        Self::of((0..num_envs).map(make).collect(), layout)
    }

    /// A batch of these environments, all of one kind.
    ///
    /// # Errors
    /// As [`AgentRows::new`].
    pub fn of(envs: Vec<E>, layout: RowLayout) -> Result<Self, EnvError> {
        let num_envs = envs.len();
        let sub_env = |env: E| {
            let room = |agent: &Agent| vec![0; agent.obs_spec.num_bytes()];
            let seen: Vec<_> = env.agents().iter().map(room).collect();
            let records = vec![(0.0, 0); seen.len()];
            SubEnv { env, seen, records }
        };
        let envs: Vec<SubEnv<E>> = envs.into_iter().map(sub_env).collect();
        let agents = envs.first().ok_or_else(no_envs)?.env.agents();
        let no_agents =
            || EnvError::Unsupported("an environment needs at least 1 agent".to_owned());
        let (first, others) = agents.split_first().ok_or_else(no_agents)?;
        let differs = |other: &&Agent| {
            (&other.obs_spec, &other.action_space) != (&first.obs_spec, &first.action_space)
        };
        if let Some(other) = others.iter().find(differs) {
            return Err(EnvError::Unsupported(format!(
                "agents `{}` and `{}` have different spaces; rows of a batch need the same",
                first.name, other.name
            )));
        }
        let is_other = |env: &SubEnv<E>| {
            let theirs = env.env.agents();
            theirs.len() != agents.len() || theirs.iter().any(|agent| differs(&agent))
        };
        check_alike(envs[1..].iter().position(is_other))?;
        let obs_spec = layout.obs_spec(&first.obs_spec, agents.len())?;
        let num_rows = num_envs * agents.len();
        let ends_apart = envs[0].env.ends_apart();
        let spec = BatchSpec::new(num_rows, obs_spec, first.action_space.clone());
        Ok(Self {
            spec: BatchSpec {
                num_agents: agents.len(),
                ends_apart,
                ..spec
            },
            envs,
            layout,
            turn: Turn::default(),
        })
    }

    /// What went wrong in an environment, if anything did.
    fn check_envs(&mut self) -> Result<(), EnvError> {
        let mut envs = self.envs.iter_mut();
        let error = envs.find_map(|each| each.env.take_error());
        error.map_or(Ok(()), Err)
    }

    /// The same with another name for what steps it.
    #[must_use]
    pub fn stepped_by(mut self, backend: &str) -> Self {
        backend.clone_into(&mut self.spec.backend);
        self
    }

    /// Writes all rows.
    fn write_rows(&self, rows: &mut [u8]) {
        let of_env = rows.chunks_exact_mut(self.spec.num_agents * self.spec.obs_spec.num_bytes());
        for (env, rows) in self.envs.iter().zip(of_env) {
            let rows = rows.chunks_exact_mut(self.spec.obs_spec.num_bytes());
            for (agent, row) in rows.enumerate() {
                self.layout.write(agent, &env.seen, row);
            }
        }
    }
}

impl<E: MultiAgentEnv> SubEnv<E> {
    fn reset(&mut self, seed: Option<u64>) {
        self.env.reset(seed, &mut self.seen);
        self.records.fill((0.0, 0));
        self.hide_absent();
    }

    /// Zeros are what agents observe that take no part.
    fn hide_absent(&mut self) {
        for (seen, part) in self.seen.iter_mut().zip(self.env.takes_part()) {
            if !part {
                seen.fill(0);
            }
        }
    }

    /// Takes the actions of all rows of this environment, whose first row is `first`, and says what they brought.
    fn step(
        &mut self,
        actions: &[Actions<'_>],
        first: usize,
        (layout, row_bytes): (RowLayout, usize),
        step: &mut StepBatch,
    ) {
        let takes_part = self.env.takes_part().iter();
        let given = takes_part
            .zip(actions)
            .map(|(part, action)| part.then_some(*action));
        let given: Vec<_> = given.collect();
        let transitions = self.env.step(&given, &mut self.seen);
        for (agent, transition) in transitions.iter().enumerate() {
            let row = first + agent;
            let Some(transition) = transition else {
                step.absent.resize(step.reward.len(), false);
                (step.absent[row], step.terminated[row]) = (true, true);
                continue;
            };
            let (episode_return, length) = &mut self.records[agent];
            *episode_return += f64::from(transition.reward);
            *length += 1;
            step.put(row, *transition, *episode_return, *length);
            if step.is_done(row) {
                let mut last = vec![0; row_bytes];
                layout.write(agent, &self.seen, &mut last);
                step.final_obs.push((row, last));
                step.final_lives.push(0);
            }
        }
        if !self.env.takes_part().contains(&true) {
            return self.reset(None);
        }
        self.hide_absent();
    }

    fn save(&self) -> Option<Vec<u8>> {
        let records = self.records.iter();
        let words = records.flat_map(|(sum, length)| [sum.to_bits(), length.cast_unsigned()]);
        let mut state = words_to_bytes(&words.collect::<Vec<_>>());
        state.extend(self.env.save_state()?);
        Some(state)
    }

    /// Goes to a state of [`SubEnv::save`]; `false`, and nothing changes, where it is none.
    fn restore(&mut self, state: &[u8]) -> bool {
        let length = self.records.len() * RECORD_BYTES;
        let Some((records, state)) = state.split_at_checked(length) else {
            return false;
        };
        let mut seen = self.seen.clone();
        if !self.env.restore_state(state, &mut seen) {
            return false;
        }
        for (record, bytes) in self
            .records
            .iter_mut()
            .zip(records.chunks_exact(RECORD_BYTES))
        {
            let [sum, length] = bytes_to_words(bytes).unwrap_or_default();
            *record = (f64::from_bits(sum), length.cast_signed());
        }
        self.seen = seen;
        self.hide_absent();
        true
    }
}

impl<E: MultiAgentEnv> VecEnv for AgentRows<E> {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.turn.begin_reset(&self.spec, obs)?;
        for (index, env) in self.envs.iter_mut().enumerate() {
            env.reset(seed.map(|seed| seed.wrapping_add(index as u64)));
        }
        self.check_envs()?;
        self.write_rows(obs);
        self.turn.set_ready();
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.turn.send(&self.spec, actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let (actions, mut obs) = self.turn.recv()?;
        step.clear(self.spec.num_envs, 1);
        let actions = actions.as_actions();
        let width = self.spec.action_space.num_values();
        let (count, row_bytes) = (self.spec.num_agents, self.spec.obs_spec.num_bytes());
        for (index, env) in self.envs.iter_mut().enumerate() {
            let first = index * count;
            let rows = first..first + count;
            let own: Vec<_> = rows.map(|row| actions.row(row, width)).collect();
            env.step(&own, first, (self.layout, row_bytes), step);
        }
        self.check_envs()?;
        self.write_rows(&mut obs);
        Ok(())
    }

    /// A state of each environment, not of each row.
    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.turn.check_ready("save_state")?;
        let states: Option<_> = self.envs.iter().map(SubEnv::save).collect();
        states.ok_or_else(|| self.has_no_states())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.turn.begin_restore(&self.spec, obs)?;
        self.spec.check_states(states)?;
        let before: Option<Vec<_>> = self.envs.iter().map(SubEnv::save).collect();
        let before = before.ok_or_else(|| self.has_no_states())?;
        restore_each(states, &before, |index, state| {
            self.envs[index].restore(state)
        })?;
        self.write_rows(obs);
        self.turn.set_ready();
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.turn.close();
        Ok(())
    }
}
