//! What can go wrong between Rust and an environment.

use pyo3::{
    PyErr,
    exceptions::{PyRuntimeError, PyValueError},
};

/// An error of a vectorized environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The number of actions is not the number of environments.
    #[error("expected {expected} actions, one for each environment, got {got}")]
    ActionCount {
        /// Number of environments.
        expected: usize,
        /// Number of actions given.
        got: usize,
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
    /// Calls out of order, such as two `send`s without a `recv`.
    #[error("{0}")]
    Order(&'static str),
    /// The environment was closed before.
    #[error("the environment is closed")]
    Closed,
    /// An observation or action space that this interface does not carry.
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

impl EnvError {
    /// The message without a traceback: `ValueError: num_envs must be at least 1, got 0`.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Python(error) => crate::python::summary(error),
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
            _ => true,
        }
    }
}

impl From<EnvError> for PyErr {
    fn from(error: EnvError) -> Self {
        match error {
            EnvError::Python(error) => error,
            EnvError::ActionCount { .. }
            | EnvError::ActionRange { .. }
            | EnvError::BufferSize { .. }
            | EnvError::Unsupported { .. } => PyValueError::new_err(error.to_string()),
            other => PyRuntimeError::new_err(other.to_string()),
        }
    }
}
