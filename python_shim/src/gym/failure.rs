//! The exceptions of `atari_wrappers` as [`EnvError`]s.

use pyo3::{exceptions::PyTimeoutError, intern, prelude::*, sync::PyOnceLock};

use crate::EnvError;

/// The error that an exception out of a batch with this id is.
pub(super) fn classify(py: Python<'_>, id: &str, error: PyErr) -> EnvError {
    typed(py, id, &error).unwrap_or(EnvError::Python(error))
}

fn typed(py: Python<'_>, id: &str, error: &PyErr) -> Option<EnvError> {
    let errors = errors_module(py).ok()?;
    let is = |class: &str| {
        errors
            .getattr(class)
            .is_ok_and(|class| error.is_instance(py, &class))
    };
    let message = || error.value(py).to_string();
    if is("WorkerError") {
        let value = error.value(py);
        return Some(EnvError::Worker {
            env_indices: value
                .getattr(intern!(py, "env_indices"))
                .ok()?
                .extract()
                .ok()?,
            doing: value.getattr(intern!(py, "doing")).ok()?.extract().ok()?,
            error: error.clone_ref(py),
        });
    }
    if is("ClosedError") {
        return Some(EnvError::Closed);
    }
    if is("PendingStepError") || is("NoPendingStepError") || is("ResetNeededError") {
        return Some(EnvError::Order(message()));
    }
    if is("UnsupportedError") {
        return Some(EnvError::Unsupported {
            env: id.to_owned(),
            what: message(),
        });
    }
    error
        .is_instance_of::<PyTimeoutError>(py)
        .then_some(EnvError::Timeout)
}

fn errors_module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        py.import(intern!(py, "atari_wrappers.errors"))
            .map(Bound::unbind)
    })?;
    Ok(module.bind(py))
}
