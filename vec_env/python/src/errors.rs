//! What goes wrong in a batch, as the exception that Python programs expect.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::{
    PyErr, PyResult,
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
};
use vec_env::{EnvError, pool::message_of};

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

/// What `make` gives, or the exception that says why not.
pub(crate) fn made<T>(make: impl FnOnce() -> Result<T, String>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(result) => result.map_err(PyValueError::new_err),
        Err(payload) => Err(exception(&EnvError::panicked(message_of(&*payload)))),
    }
}
