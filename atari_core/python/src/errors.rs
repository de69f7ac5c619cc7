//! Errors of the core as the exceptions that Python programs expect.

use atari_core::CoreError;
use pyo3::{
    PyErr,
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
};
use vec_env::EnvError;

/// A value that a caller can mend is a `ValueError`; calls out of order, and bugs, are a `RuntimeError`.
pub(crate) fn exception(error: &EnvError) -> PyErr {
    let message = error.to_string();
    match error {
        EnvError::ActionKind { .. } => PyTypeError::new_err(message),
        EnvError::ActionCount { .. }
        | EnvError::ActionRange { .. }
        | EnvError::BufferSize { .. }
        | EnvError::NoSuchEnv { .. }
        | EnvError::State(_)
        | EnvError::Backend { is_usage: true, .. } => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// A ROM that cannot be read is the `OSError` that opening it would be; else a `ValueError`.
pub(crate) fn core_exception(error: &CoreError) -> PyErr {
    let message = error.to_string();
    match error {
        CoreError::Read { source, .. } => std::io::Error::new(source.kind(), message).into(),
        _ => PyValueError::new_err(message),
    }
}
