//! What can go wrong with a batch of environments.

use crate::spaces::ActionSpace;

/// An error of a batch of environments. Its message is one line or few; [`EnvError::details`] has the
/// rest.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EnvError {
    /// The number of actions is not the number of environments.
    #[error("expected {expected} actions, {}, got {got}", per_env(*.num_values))]
    ActionCount {
        /// Numbers that the environments take.
        expected: usize,
        /// Numbers given.
        got: usize,
        /// Numbers in one environment's action.
        num_values: usize,
    },
    /// Whole numbers where real ones are needed, or the other way round.
    #[error("these actions are not of the action space {space}")]
    ActionKind {
        /// What the environments take.
        space: ActionSpace,
    },
    /// An action that the environment does not have.
    #[error("action {action} of environment {env} is out of range: valid actions are 0 to {}", .num_actions - 1)]
    ActionRange {
        /// Index of the environment.
        env: usize,
        /// The action given.
        action: i64,
        /// Number of valid actions.
        num_actions: i64,
    },
    /// Real numbers out of the bounds of the action space.
    #[error("action {action:?} of environment {env} is outside of {low:?} to {high:?}")]
    ActionBounds {
        /// Index of the environment.
        env: usize,
        /// The action given.
        action: Vec<f32>,
        /// Least value of each number.
        low: Vec<f32>,
        /// Greatest value of each number.
        high: Vec<f32>,
    },
    /// Memory for observations of the wrong length.
    #[error("an observation buffer of {expected} bytes is needed, got {got}")]
    BufferSize {
        /// Bytes that the batch of observations takes.
        expected: usize,
        /// Bytes given.
        got: usize,
    },
    /// An index that no environment has.
    #[error("no environment {index} among 0 to {}", .num_envs - 1)]
    NoSuchEnv {
        /// The index given.
        index: usize,
        /// Number of environments.
        num_envs: usize,
    },
    /// A saved state that environments cannot be brought to.
    #[error("the saved state of the environments does not fit: {0}")]
    State(String),
    /// Calls out of order, such as two `send`s without a `recv`.
    #[error("{0}")]
    Order(String),
    /// What is in flight was not ready in time; it goes on.
    #[error("the environments were not ready in time: receive again")]
    Timeout,
    /// An environment failed, or the process that runs it died or hangs. What the others brought is
    /// kept: [`restart_workers`](crate::VecEnv::restart_workers) makes it anew, and receiving again
    /// gives the whole step.
    #[error("{message}")]
    Worker {
        /// The environments that are lost.
        env_indices: Vec<usize>,
        /// What they were doing, such as `step 17 with action 3`.
        doing: String,
        /// What went wrong.
        message: String,
        /// More lines, such as a traceback.
        details: Option<String>,
    },
    /// The environment was closed before.
    #[error("the environment is closed")]
    Closed,
    /// Something that this interface, or this environment, does not carry.
    #[error("{0}")]
    Unsupported(String),
    /// Whatever else the environments' own code raised.
    #[error("{message}")]
    Backend {
        /// What went wrong.
        message: String,
        /// More lines, such as a traceback.
        details: Option<String>,
        /// The message says all that a user needs: an unknown id, a value out of range.
        is_usage: bool,
    },
}

fn per_env(num_values: usize) -> String {
    match num_values {
        1 => "one for each environment".to_owned(),
        count => format!("{count} for each environment"),
    }
}

impl EnvError {
    /// Of a batch in which an environment has panicked: nobody knows what it left behind.
    #[must_use]
    pub fn panicked(problem: &str) -> Self {
        Self::Backend {
            message: format!("an environment panicked, which is a bug of its own: {problem}"),
            details: None,
            is_usage: false,
        }
    }

    /// What the message leaves out, for whoever looks for the cause: a traceback.
    #[must_use]
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Worker { details, .. } | Self::Backend { details, .. } => details.as_deref(),
            _ => None,
        }
    }

    /// Whether the message says all that a user needs, because a setting is wrong and not the
    /// program: an unknown id, a value out of range, a folder that cannot be written.
    ///
    /// Meant for errors of making an environment. An exception that a step raises deserves its details
    /// whatever it is.
    #[must_use]
    pub fn is_usage_error(&self) -> bool {
        match self {
            Self::Backend { is_usage, .. } => *is_usage,
            Self::Worker { .. } => false,
            _ => true,
        }
    }

    /// Whether the step that was waited for is still in flight.
    #[must_use]
    pub fn is_in_flight(&self) -> bool {
        matches!(self, Self::Timeout | Self::Worker { .. })
    }

    /// This with the environments that it names under the numbers that `of` gives them.
    #[must_use]
    pub fn renumbered(mut self, of: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        if let Self::Worker { env_indices, .. } = &mut self {
            *env_indices = of(env_indices);
        }
        self
    }
}
