//! What goes wrong in a batch, as the exception that Python programs expect.

use pyo3::{
    PyErr,
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
};
use vec_env::EnvError;

/// A value that a caller can mend is a `ValueError`, or a `TypeError` where its kind is wrong; calls out of order, and
/// bugs, are a `RuntimeError`.
#[must_use]
pub fn exception(error: &EnvError) -> PyErr {
    let message = error.to_string();
    match error {
        EnvError::ActionKind { .. } => PyTypeError::new_err(message),
        EnvError::ActionCount { .. }
        | EnvError::ActionRange { .. }
        | EnvError::ActionBounds { .. }
        | EnvError::BufferSize { .. }
        | EnvError::NoSuchEnv { .. }
        | EnvError::State(_)
        | EnvError::Unsupported(_)
        | EnvError::Backend { is_usage: true, .. } => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}
