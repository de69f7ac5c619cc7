//! What can go wrong between Rust and an environment.

use pyo3::{
    PyErr,
    exceptions::{PyIndexError, PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError},
};

use crate::ActionSpace;

/// An error of a vectorized environment.
#[derive(Debug, thiserror::Error)]
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
    #[error("these actions are not of the action space {space:?}")]
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
    /// An observation buffer of the wrong length.
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
    /// Calls out of order, such as two `send`s without a `recv`.
    #[error("{0}")]
    Order(String),
    /// What is in flight was not ready in time; it goes on.
    #[error("the environments were not ready in time: receive again")]
    Timeout,
    /// An environment failed, or the process that runs it died or hangs. What the others brought is
    /// kept: [`restart_workers`](crate::VecEnv::restart_workers) makes it anew, and receiving again
    /// gives the whole step.
    #[error("{}", crate::python::describe(.error))]
    Worker {
        /// The environments that are lost.
        env_indices: Vec<usize>,
        /// What they were doing, such as `step 17 with action 3`.
        doing: String,
        /// The Python exception; its message ends with the traceback out of the worker.
        error: PyErr,
    },
    /// The environment was closed before.
    #[error("the environment is closed")]
    Closed,
    /// Something that this interface, or this environment, does not carry.
    #[error("`{env}`: {what}")]
    Unsupported {
        /// Id of the environment.
        env: String,
        /// What is not supported, and what is.
        what: String,
    },
    /// The interpreter could not be brought up.
    #[error("{0}")]
    Interpreter(String),
    /// A Python exception; its message ends with the traceback.
    #[error("{}", crate::python::describe(.0))]
    Python(#[from] PyErr),
}

fn per_env(num_values: usize) -> String {
    match num_values {
        1 => "one for each environment".to_owned(),
        count => format!("{count} for each environment"),
    }
}

impl EnvError {
    /// For a method that the environment of type `E` has not supplied.
    pub(crate) fn unsupported<E: ?Sized>(method: &str) -> Self {
        Self::Unsupported {
            env: std::any::type_name::<E>().to_owned(),
            what: format!("this environment has no `{method}`"),
        }
    }

    /// The message without a traceback: `ValueError: num_envs must be at least 1, got 0`.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Python(error) => crate::python::summary(error),
            Self::Worker { error, .. } => {
                // A traceback out of another process is a part of the message, behind an empty line.
                let message = crate::python::summary(error);
                message.split("\n\n").next().unwrap_or_default().to_owned()
            }
            other => other.to_string(),
        }
    }

    /// Whether [`EnvError::summary`] says all that a user needs, because a setting is wrong and not
    /// the program: an unknown id, a value out of range, a folder that cannot be written.
    ///
    /// Meant for errors of making an environment. An exception that `step` raises deserves its
    /// traceback whatever its type.
    #[must_use]
    pub fn is_usage_error(&self) -> bool {
        match self {
            Self::Python(error) => crate::python::is_usage_error(error),
            Self::Worker { .. } => false,
            _ => true,
        }
    }
}

impl From<EnvError> for PyErr {
    fn from(error: EnvError) -> Self {
        match error {
            EnvError::Python(error) | EnvError::Worker { error, .. } => error,
            EnvError::Timeout => PyTimeoutError::new_err(error.to_string()),
            EnvError::NoSuchEnv { .. } => PyIndexError::new_err(error.to_string()),
            EnvError::ActionKind { .. } => PyTypeError::new_err(error.to_string()),
            EnvError::ActionCount { .. }
            | EnvError::ActionRange { .. }
            | EnvError::BufferSize { .. }
            | EnvError::Unsupported { .. } => PyValueError::new_err(error.to_string()),
            other => PyRuntimeError::new_err(other.to_string()),
        }
    }
}
