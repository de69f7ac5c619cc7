//! [`RemoteVecEnv`]: a batch that a server steps.

use std::{fmt, mem, time::Duration};

use prost::bytes::Bytes;
use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

use crate::{
    error::RemoteError,
    messages::{
        Drop as DropPending, Hello, Reply, Reset, Restart, Restore, Save, Step, Wait, Welcome,
        reply::Answer, request::Call as Asked,
    },
    server::Server,
    session::{BATCHES, Session},
    step::Rows,
    values::{MOST_NUMBERS, Setting, action_bytes, action_space, dict, obs_spec},
};

/// A batch that `python -m atari_wrappers serve` makes for this client, and closes with it.
///
/// A step of all environments is one request and one reply. With [`Server::reconnect`] a connection that is lost and comes
/// back loses nothing: no step is done twice, and none is left out. When the server is gone, the batch is closed; make
/// another one, and bring it to states that you saved.
pub struct RemoteVecEnv {
    session: Session,
    rows: Rows,
    env_name: String,
    action_width: usize,
    was_reset: bool,
    /// Whose actions the next `send` has.
    turn: Vec<usize>,
    /// Environments that work, and where the next of them are to be written to.
    working: usize,
    in_flight: Option<InFlight>,
    is_closed: bool,
    scratch: StepBatch,
}

struct InFlight {
    slot: ObsSlot,
    /// The request whose reply has the result.
    awaited: Option<u64>,
}

impl RemoteVecEnv {
    /// A batch of `num_envs` environments, 0 for as many as the server gives a client, with settings in place of the
    /// server's: `preset`, `autoreset`, `batch_size`, `clip_actions`, `num_players` and the parts of a recipe.
    ///
    /// # Errors
    /// [`RemoteError::Absent`] and others where there is no server or it refuses this client, [`RemoteError::Failed`]
    /// where it has fewer environments or they cannot do what the settings say, [`RemoteError::Unsupported`] for spaces
    /// that [`BatchSpec`] does not carry.
    pub fn connect(
        server: &Server,
        num_envs: usize,
        settings: &[(&str, Setting)],
    ) -> Result<Self, RemoteError> {
        let hello = Hello {
            num_envs: u32::try_from(num_envs).unwrap_or(u32::MAX),
            settings: Some(dict(settings)),
            ..Hello::default()
        };
        let (session, welcome) = Session::open(server, BATCHES, hello)?;
        let (spec, narrows_obs, action_width) = spec(&welcome).map_err(|problem| {
            RemoteError::Unsupported(format!("{}: {problem}", welcome.env_name))
        })?;
        Ok(Self {
            session,
            turn: Vec::new(),
            rows: Rows { spec, narrows_obs },
            env_name: welcome.env_name,
            action_width,
            was_reset: false,
            working: 0,
            in_flight: None,
            is_closed: false,
            scratch: StepBatch::default(),
        })
    }

    /// The id that the server makes its environments of; ids by commas where they differ.
    #[must_use]
    pub fn env_name(&self) -> &str {
        &self.env_name
    }

    fn is_whole(&self) -> bool {
        self.rows.spec.batch_size == self.rows.spec.num_envs
    }

    fn check_open(&self) -> Result<(), EnvError> {
        if self.is_closed {
            return Err(EnvError::Closed);
        }
        Ok(())
    }

    /// Why states cannot be saved or brought back now, if so.
    fn check_idle(&self, call: &str) -> Result<(), EnvError> {
        self.check_open()?;
        if self.working > 0 {
            let first = if self.was_reset { "recv" } else { "reset" };
            return Err(EnvError::Order(format!("{call}: call {first} first")));
        }
        Ok(())
    }

    /// Passes on what the session gives; a batch whose connection is gone is closed.
    fn heard<T>(&mut self, heard: Result<T, RemoteError>) -> Result<T, EnvError> {
        heard.map_err(|error| {
            if error.is_end() {
                self.is_closed = true;
                self.in_flight = None;
                self.session.close();
            }
            error.into()
        })
    }

    fn call(&mut self, asked: Asked) -> Result<Reply, EnvError> {
        let heard = self.session.call(asked);
        self.heard(heard)
    }

    fn read(
        &mut self,
        reply: Reply,
        num_rows: usize,
        obs: &mut [u8],
        step: &mut StepBatch,
    ) -> Result<(), EnvError> {
        let read = self.rows.read(reply, num_rows, obs, step);
        let broken = |what: String| {
            self.session
                .broken(&format!("a result that is none: {what}"))
        };
        let read = read.map_err(broken);
        self.heard(read)
    }

    /// Reads the rows of all environments, which a reset or restored states bring.
    fn read_all(&mut self, reply: Reply, obs: &mut [u8]) -> Result<(), EnvError> {
        let mut step = mem::take(&mut self.scratch);
        let num_envs = self.rows.spec.num_envs;
        let read = self.read(reply, num_envs, obs, &mut step);
        self.scratch = step;
        read?;
        self.was_reset = true;
        self.turn = (0..num_envs).collect();
        Ok(())
    }

    /// Has the server wait for what works, and drops its results.
    fn drop_pending(&mut self) -> Result<(), EnvError> {
        self.in_flight = None;
        if self.working == 0 {
            return Ok(());
        }
        self.session.forget();
        self.call(Asked::Drop(DropPending {}))?;
        self.working = 0;
        Ok(())
    }

    /// Brings the batch to rest after a step that the server refused. Of a whole batch nothing works then; of parts
    /// others may, and what they bring is dropped.
    fn after_refusal(&mut self) {
        self.session.forget();
        if !self.is_whole() {
            // That it failed is heard from the next call.
            let _ = self.call(Asked::Drop(DropPending {}));
            self.was_reset = false;
        }
        self.working = 0;
    }

    fn all(&self) -> Vec<u32> {
        (0..self.rows.spec.num_envs as u32).collect()
    }
}

/// What the server has made.
fn spec(welcome: &Welcome) -> Result<(BatchSpec, bool, usize), String> {
    let (obs_spec, narrows_obs) = obs_spec(welcome.observation_space.as_ref())?;
    let (action_space, action_width) = action_space(welcome.action_space.as_ref())?;
    let [num_envs, batch_size, num_players] =
        [welcome.num_envs, welcome.batch_size, welcome.num_players].map(|count| count as usize);
    let shape = &obs_spec.shape;
    // Memory is allocated for so many.
    let obs_numbers = num_envs.checked_mul(shape.iter().product());
    if obs_numbers.is_none_or(|numbers| numbers > MOST_NUMBERS)
        || !(1..=num_envs).contains(&batch_size)
        || !(1..=2).contains(&num_players)
    {
        return Err(format!(
            "a batch of {batch_size} of {num_envs} environments of {num_players} players, with observations of shape \
             {shape:?}"
        ));
    }
    let spec = BatchSpec {
        backend: welcome.backend.clone(),
        num_players,
        batch_size,
        autoreset_mode: welcome
            .autoreset
            .parse()
            .map_err(|error: EnvError| error.to_string())?,
        ..BatchSpec::new(num_envs, obs_spec, action_space)
    };
    Ok((spec, narrows_obs, action_width))
}

impl VecEnv for RemoteVecEnv {
    fn spec(&self) -> &BatchSpec {
        &self.rows.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_open()?;
        EnvError::check_length(obs, self.rows.spec.obs_bytes())?;
        let last = self.rows.spec.num_envs as u64 - 1;
        if let Some(seed) = seed
            && seed
                .checked_add(last)
                .is_none_or(|last| i64::try_from(last).is_err())
        {
            let problem = format!("seed {seed}: a server takes seeds below 2**63");
            return Err(EnvError::Unsupported(problem));
        }
        self.drop_pending()?;
        let seeds = seed.map_or(Vec::new(), |seed| {
            (seed..=seed + last).map(|seed| seed as i64).collect()
        });
        // Until it has succeeded, what the server has begun is in its way.
        (self.was_reset, self.working) = (false, self.rows.spec.num_envs);
        let reply = self.call(Asked::Reset(Reset {
            seeds,
            wait: true,
            ..Reset::default()
        }))?;
        self.read_all(reply, obs)?;
        self.working = 0;
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.check_open()?;
        if self.in_flight.is_some() {
            return Err(EnvError::Order("send: call recv first".to_owned()));
        }
        if !self.was_reset {
            return Err(EnvError::Order("send: call reset first".to_owned()));
        }
        let (spec, turn) = (&self.rows.spec, &self.turn);
        let (space, num_envs) = (&spec.action_space, turn.len());
        space.check(actions, num_envs, |row| turn[row])?;
        let num_rows = (self.working + num_envs).min(spec.batch_size);
        EnvError::check_length(&obs, num_rows * spec.obs_spec.num_bytes())?;
        let wait = self.is_whole();
        let step = Step {
            actions: action_bytes(actions, self.action_width),
            env_ids: if wait {
                Vec::new()
            } else {
                turn.iter().map(|&id| id as u32).collect()
            },
            wait,
        };
        let asked = self.session.ask(Asked::Step(step));
        let number = self.heard(asked)?;
        self.working += num_envs;
        self.in_flight = Some(InFlight {
            slot: obs,
            awaited: wait.then_some(number),
        });
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        self.check_open()?;
        let Some(InFlight { mut slot, awaited }) = self.in_flight.take() else {
            return Err(EnvError::Order("recv: call send first".to_owned()));
        };
        let num_rows = self.working.min(self.rows.spec.batch_size);
        let awaited = awaited.map_or_else(
            || {
                let count = num_rows as u32;
                self.session.ask(Asked::Wait(Wait {
                    count,
                    ..Wait::default()
                }))
            },
            Ok,
        );
        let number = self.heard(awaited)?;
        let answer = self.session.answer(number, timeout);
        let reply = match self.heard(answer) {
            Ok(reply) => reply,
            Err(error) => {
                if error.is_in_flight() {
                    // Once those that failed are restarted, the rest is asked for again.
                    let awaited = (error == EnvError::Timeout).then_some(number);
                    self.in_flight = Some(InFlight { slot, awaited });
                } else if !self.is_closed {
                    self.after_refusal();
                }
                return Err(error);
            }
        };
        self.read(reply, num_rows, &mut slot, step)?;
        self.working -= num_rows;
        self.turn.clone_from(&step.env_ids);
        Ok(())
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        self.check_open()?;
        match self.call(Asked::Restart(Restart::default()))?.answer {
            Some(Answer::Restarted(made)) => {
                Ok(made.env_ids.into_iter().map(|id| id as usize).collect())
            }
            _ => self.heard_none("no list of environments"),
        }
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.check_idle("save_state")?;
        let env_ids = self.all();
        let num_envs = env_ids.len();
        match self.call(Asked::Save(Save { env_ids }))?.answer {
            Some(Answer::States(saved)) if saved.states.len() == num_envs => {
                Ok(saved.states.iter().map(|state| state.to_vec()).collect())
            }
            _ => self.heard_none("no states"),
        }
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.check_idle("restore_state")?;
        EnvError::check_length(obs, self.rows.spec.obs_bytes())?;
        self.rows.spec.check_states(states)?;
        let states = states.iter().map(|state| Bytes::copy_from_slice(state));
        let restore = Restore {
            env_ids: self.all(),
            states: states.collect(),
        };
        let reply = match self.session.call(Asked::Restore(restore)) {
            Err(RemoteError::Failed(failure)) if failure.kind == "ValueError" => {
                return Err(EnvError::State(failure.message));
            }
            heard => self.heard(heard)?,
        };
        self.read_all(reply, obs)
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.is_closed = true;
        self.in_flight = None;
        self.session.close();
        Ok(())
    }
}

impl RemoteVecEnv {
    fn heard_none<T>(&mut self, what: &str) -> Result<T, EnvError> {
        let broken = self.session.broken(what);
        self.heard(Err(broken))
    }
}

impl fmt::Debug for RemoteVecEnv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteVecEnv")
            .field("env_name", &self.env_name)
            .field("address", &self.session.address.to_string())
            .field("spec", &self.rows.spec)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
