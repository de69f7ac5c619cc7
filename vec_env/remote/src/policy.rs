//! [`RemotePolicy`]: a policy that a server has, which chooses actions for observations.

use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec};

use crate::{
    error::RemoteError,
    messages::{Act, Acts, Array, Dict, Hello, Welcome, reply::Answer, request::Call as Asked},
    server::Server,
    session::{POLICIES, Session},
    values::{Number, action_space, obs_spec},
};

/// A policy that `rust_trainer serve-policy` serves.
///
/// What a recurrent network remembers is this client's own, a row for each observation of a batch.
pub struct RemotePolicy {
    session: Session,
    obs_spec: ObsSpec,
    action_space: ActionSpace,
    welcome: Welcome,
}

/// Observations `[n, ...]`, C order.
#[derive(Clone, Copy, Debug)]
pub enum Observations<'a> {
    /// As a batch writes them: numbers of the policy's type.
    Bytes(&'a [u8]),
    /// For a policy of [`Dtype::Float32`].
    Floats(&'a [f32]),
}

/// How actions are chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// The best actions; otherwise they are drawn, as the trainer's `eval` draws them.
    pub greedy: bool,
    /// Where episodes begin, so that the network forgets those before: one for each observation or one for all; none for
    /// nowhere.
    pub episode_start: &'a [bool],
}

/// What a policy says of observations `[n, ...]`, as far as it has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// An action for each.
    pub actions: ActionBatch,
    /// `[n]`: the return that is expected.
    pub value: Option<Vec<f32>>,
    /// `[n, actions]`
    pub probabilities: Option<Vec<f32>>,
    /// `[n, dims]`, of continuous actions.
    pub mean: Option<Vec<f32>>,
    /// `[n, dims]`
    pub deviation: Option<Vec<f32>>,
    /// `[n, actions]`, of DQN and PQN.
    pub action_values: Option<Vec<f32>>,
}

impl RemotePolicy {
    /// Asks the server for its policy.
    ///
    /// # Errors
    /// [`RemoteError::Absent`] and others where there is no server, or it refuses this client.
    pub fn connect(server: &Server) -> Result<Self, RemoteError> {
        let (session, welcome) = Session::open(server, POLICIES, Hello::default())?;
        let (obs_spec, _) =
            obs_spec(welcome.observation_space.as_ref()).map_err(RemoteError::Unsupported)?;
        let (action_space, _) =
            action_space(welcome.action_space.as_ref()).map_err(RemoteError::Unsupported)?;
        Ok(Self {
            session,
            obs_spec,
            action_space,
            welcome,
        })
    }

    /// Actions for observations, or for one.
    ///
    /// # Errors
    /// Those of [`RemotePolicy::decide`].
    pub fn act<'a>(
        &mut self,
        observations: impl Into<Observations<'a>>,
        choice: Choice<'_>,
    ) -> Result<ActionBatch, RemoteError> {
        Ok(self.decide(observations, choice)?.actions)
    }

    /// Actions for observations, and what the policy says of them.
    ///
    /// # Errors
    /// [`RemoteError::Unsupported`] for observations of another size or type; [`RemoteError::Failed`] for more or fewer than
    /// a recurrent policy remembers; those of a connection that is gone.
    pub fn decide<'a>(
        &mut self,
        observations: impl Into<Observations<'a>>,
        choice: Choice<'_>,
    ) -> Result<Decision, RemoteError> {
        let (count, observations) = self.rows(observations.into())?;
        let starts = choice.episode_start.iter().map(|&start| u8::from(start));
        let act = Act {
            observations: Some(observations),
            greedy: choice.greedy,
            episode_start: Some(Array::of(
                "|b1",
                [choice.episode_start.len()],
                starts.collect(),
            )),
        };
        let reply = self.session.call(Asked::Act(act))?;
        let Some(Answer::Acts(acts)) = reply.answer else {
            return Err(self.session.broken("no actions"));
        };
        let decided = self.decision(&acts, count);
        decided.map_err(|what| self.session.broken(&format!("no actions: {what}")))
    }

    /// Observations as a message, and how many.
    fn rows(&self, observations: Observations<'_>) -> Result<(usize, Array), RemoteError> {
        let (dtype, data) = match (self.obs_spec.dtype, observations) {
            (Dtype::Uint8, Observations::Bytes(bytes)) => ("|u1", bytes.to_vec()),
            (Dtype::Float32, Observations::Bytes(bytes)) => ("<f4", bytes.to_vec()),
            (Dtype::Float32, Observations::Floats(numbers)) => {
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
                ("<f4", bytes.collect())
            }
            (Dtype::Uint8, Observations::Floats(_)) => {
                let problem = "this policy observes bytes, not float32".to_owned();
                return Err(RemoteError::Unsupported(problem));
            }
        };
        let (size, given) = (self.obs_spec.num_bytes(), data.len());
        if size == 0 || given == 0 || !given.is_multiple_of(size) {
            return Err(RemoteError::Unsupported(format!(
                "an observation has {size} bytes ({:?} of {dtype}), got {given}",
                self.obs_spec.shape
            )));
        }
        let count = given / size;
        let shape = [count]
            .into_iter()
            .chain(self.obs_spec.shape.iter().copied());
        Ok((count, Array::of(dtype, shape, data)))
    }

    fn decision(&self, acts: &Acts, count: usize) -> Result<Decision, String> {
        let chosen = acts.actions.as_ref().ok_or("there are none")?;
        let numbers = count * self.action_space.num_values();
        let actions = match self.action_space {
            ActionSpace::Box { .. } => ActionBatch::Continuous(read(chosen, numbers)?),
            _ => ActionBatch::Discrete(read(chosen, numbers)?),
        };
        let said = acts.said.clone().unwrap_or_default();
        Ok(Decision {
            actions,
            value: named(&said, "value")?,
            probabilities: named(&said, "probabilities")?,
            mean: named(&said, "mean")?,
            deviation: named(&said, "deviation")?,
            action_values: named(&said, "action_values")?,
        })
    }

    /// The shape and type of one observation, as the environment gives it.
    #[must_use]
    pub fn obs_spec(&self) -> &ObsSpec {
        &self.obs_spec
    }

    /// The actions of one environment.
    #[must_use]
    pub fn action_space(&self) -> &ActionSpace {
        &self.action_space
    }

    /// The id of the environments that it was learned in.
    #[must_use]
    pub fn env_name(&self) -> &str {
        &self.welcome.env_name
    }

    /// What it was learned by, such as `ppo`.
    #[must_use]
    pub fn algorithm(&self) -> &str {
        &self.welcome.algorithm
    }

    /// How many agent steps it has learned from.
    #[must_use]
    pub fn agent_steps(&self) -> u64 {
        self.welcome.agent_steps
    }

    /// Whether it remembers what it has seen.
    #[must_use]
    pub fn is_recurrent(&self) -> bool {
        self.welcome.is_recurrent
    }

    /// Leaves; a second call does nothing, and any other afterwards is [`RemoteError::Closed`].
    pub fn close(&mut self) {
        self.session.close();
    }
}

impl std::fmt::Debug for RemotePolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RemotePolicy")
            .field("env_name", &self.env_name())
            .field("address", &self.session.address.to_string())
            .finish_non_exhaustive()
    }
}

impl<'a> From<&'a [u8]> for Observations<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a [f32]> for Observations<'a> {
    fn from(numbers: &'a [f32]) -> Self {
        Self::Floats(numbers)
    }
}

impl<'a, const N: usize> From<&'a [f32; N]> for Observations<'a> {
    fn from(numbers: &'a [f32; N]) -> Self {
        Self::Floats(numbers)
    }
}

fn read<T: Number>(array: &Array, count: usize) -> Result<Vec<T>, String> {
    let mut out = Vec::new();
    array.read(count, &mut out)?;
    Ok(out)
}

fn named(said: &Dict, name: &str) -> Result<Option<Vec<f32>>, String> {
    said.array(name).map(Array::numbers).transpose()
}
