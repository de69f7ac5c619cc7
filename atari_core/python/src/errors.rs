//! [`Error`]: what goes wrong in the core, as the exception that Python programs expect.

use atari_core::CoreError;
use pyo3::{PyErr, exceptions::PyValueError};
use vec_env::EnvError;

/// An exception on its way to the caller, made of whatever error `?` finds.
pub(crate) struct Error(PyErr);

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// As every batch in Rust raises it.
impl From<EnvError> for Error {
    fn from(error: EnvError) -> Self {
        Self(vec_env_python::exception(&error))
    }
}

/// A ROM that cannot be read is the `OSError` that opening it would be; else a `ValueError`.
impl From<CoreError> for Error {
    fn from(error: CoreError) -> Self {
        let message = error.to_string();
        Self(match error {
            CoreError::Read { source, .. } => std::io::Error::new(source.kind(), message).into(),
            _ => PyValueError::new_err(message),
        })
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        error.0
    }
}
