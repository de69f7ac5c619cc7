//! [`call`]: a function of a Python package, for programs a part of which is written in Python.

use pyo3::{
    exceptions::{PyImportError, PyOSError, PyValueError},
    prelude::*,
};
use vec_env::EnvError;

use crate::{
    error::{CallError, setup_error},
    interpreter::{self, KeepSigint},
    value::{self, Value},
};

/// Calls `module.function(**kwargs)`. SIGINT stays with whoever handles it.
///
/// # Errors
/// [`EnvError::Backend`] for what is raised: an `ImportError`, `OSError` or `ValueError` is the user's to mend, and its
/// text is the whole message; of others the traceback is told, too. [`EnvError::Unsupported`] for a result that is no
/// plain value.
pub fn call(module: &str, function: &str, kwargs: &[(&str, Value)]) -> Result<Value, EnvError> {
    interpreter::start()?;
    let call = |py: Python<'_>| -> Result<Value, CallError> {
        let _keep = KeepSigint::new();
        let called = py
            .import(module)
            .and_then(|module| module.getattr(function))
            .and_then(|function| function.call((), Some(&value::to_dict(py, kwargs)?)));
        value::from_python(&called.map_err(|error| told(py, error))?)
    };
    Ok(Python::attach(call)?)
}

fn told(py: Python<'_>, error: PyErr) -> CallError {
    let is_users = error.is_instance_of::<PyImportError>(py)
        || error.is_instance_of::<PyOSError>(py)
        || error.is_instance_of::<PyValueError>(py);
    if is_users {
        setup_error(error.value(py).to_string()).into()
    } else {
        error.into()
    }
}
