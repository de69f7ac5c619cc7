//! Python exceptions and [`EnvError`]s, each turned into the other.

use pyo3::{
    exceptions::{
        PyConnectionError, PyOSError, PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError,
    },
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::PyString,
};
use vec_env::{Dtype, EnvError, ObsSpec};

use crate::variables;

/// What a call into Python ends with; either kind of error where it leaves this crate.
#[derive(Debug)]
pub(crate) enum CallError {
    Python(PyErr),
    Env(EnvError),
}

impl From<PyErr> for CallError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<EnvError> for CallError {
    fn from(error: EnvError) -> Self {
        Self::Env(error)
    }
}

impl From<CallError> for EnvError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Python(error) => env_error(&error),
            CallError::Env(error) => error,
        }
    }
}

impl From<CallError> for PyErr {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Python(error) => error,
            CallError::Env(error) => py_err(&error),
        }
    }
}

/// For what Python's side cannot supply: an id, a package; said in one line.
pub(crate) fn setup_error(message: String) -> EnvError {
    EnvError::Backend {
        message,
        details: None,
        is_usage: true,
    }
}

/// For rewards and observations that are not finite: a loss would show them later, and not say where they come from.
pub(crate) fn not_finite(who: &str, what: &str) -> EnvError {
    EnvError::Backend {
        message: format!(
            "{who} {what}: nothing can be learned from numbers that are not finite; mend the environment, or wrap it"
        ),
        details: None,
        is_usage: false,
    }
}

/// What is wrong with a reward that is not finite.
pub(crate) fn gave(reward: f32) -> String {
    format!("gave the reward {reward}")
}

/// What is wrong with an observation with a number that is not finite, if one is.
pub(crate) fn showed(spec: &ObsSpec, obs: &[u8]) -> Option<String> {
    if spec.dtype != Dtype::Float32 {
        return None;
    }
    let numbers = obs.as_chunks().0.iter();
    let mut numbers = numbers.map(|bytes| f32::from_ne_bytes(*bytes)).enumerate();
    let (place, shown) = numbers.find(|(_, number)| !number.is_finite())?;
    let shape = &spec.shape;
    Some(format!(
        "showed {shown} at place {place} of an observation of shape {shape:?}"
    ))
}

/// The exception that stands for an error: `ValueError` for what is out of range, `RuntimeError` for
/// what comes at the wrong time, and so on, as `vec_env_python` raises them.
#[must_use]
pub fn py_err(error: &EnvError) -> PyErr {
    let message = error.to_string();
    match error {
        EnvError::Timeout => PyTimeoutError::new_err(message),
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

/// The error that an exception of Python's is: its last line as the message, the traceback as details.
#[must_use]
pub fn env_error(error: &PyErr) -> EnvError {
    Python::try_attach(|py| {
        specific(py, error).unwrap_or_else(|| EnvError::Backend {
            message: last_line(py, error),
            details: Some(traceback(py, error)),
            is_usage: is_usage_error(py, error),
        })
    })
    .unwrap_or_else(|| {
        setup_error("a Python exception that cannot be shown: the interpreter has ended".to_owned())
    })
}

/// Those of `atari_wrappers` that have a counterpart.
fn specific(py: Python<'_>, error: &PyErr) -> Option<EnvError> {
    let value = error.value(py);
    let errors = errors_module(py).ok()?;
    let is = |class: &str| {
        errors
            .getattr(class)
            .is_ok_and(|class| error.is_instance(py, &class))
    };
    if is("WorkerError") {
        return Some(EnvError::Worker {
            env_indices: value
                .getattr(intern!(py, "env_indices"))
                .ok()?
                .extract()
                .ok()?,
            doing: value.getattr(intern!(py, "doing")).ok()?.extract().ok()?,
            message: value.getattr(intern!(py, "reason")).ok()?.extract().ok()?,
            details: worker_traceback(py, error),
        });
    }
    if is("ClosedError") {
        return Some(EnvError::Closed);
    }
    if is("PendingStepError") || is("NoPendingStepError") || is("ResetNeededError") {
        return Some(EnvError::Order(value.to_string()));
    }
    if is("ServerError") {
        return Some(setup_error(value.to_string()));
    }
    if is("UnknownEnvError") {
        return Some(setup_error(where_modules_are(value.to_string())));
    }
    if is("UnsupportedError") {
        return Some(EnvError::Unsupported(value.to_string()));
    }
    is("StepTimeoutError").then_some(EnvError::Timeout)
}

/// A module that is not found may lie in a folder that the user has named, and this Python does not read.
fn where_modules_are(message: String) -> String {
    const FOLDERS: &str = "PYTHONPATH";
    if message.contains("cannot be imported") && variables::ignored().contains(&FOLDERS) {
        return format!(
            "{message}; {FOLDERS} is not read, for it may name another Python's folders: start in the module's folder"
        );
    }
    message
}

/// Where in the environment's own code it happened, in whichever process.
fn worker_traceback(py: Python<'_>, error: &PyErr) -> Option<String> {
    let remote = error.value(py).getattr(intern!(py, "remote_traceback"));
    let remote: Option<String> = remote.ok()?.extract().ok()?;
    remote.or_else(|| Some(traceback(py, &error.cause(py)?)))
}

fn errors_module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let import = || {
        let module = py.import(intern!(py, "atari_wrappers.errors"))?;
        Ok::<_, PyErr>(module.unbind())
    };
    Ok(MODULE.get_or_try_init(py, import)?.bind(py))
}

/// Whether an exception of making an environment tells of a wrong setting.
fn is_usage_error(py: Python<'_>, error: &PyErr) -> bool {
    let is_gymnasium_error = || -> PyResult<bool> {
        let base = py
            .import(intern!(py, "gymnasium.error"))?
            .getattr(intern!(py, "Error"))?;
        Ok(error.is_instance(py, &base))
    };
    error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || (error.is_instance_of::<PyOSError>(py) && !error.is_instance_of::<PyConnectionError>(py))
        || is_gymnasium_error().unwrap_or(false)
}

/// Type and message of an exception, as the last line of Python's traceback has them.
fn last_line(py: Python<'_>, error: &PyErr) -> String {
    format_with(py, intern!(py, "format_exception_only"), error)
        .unwrap_or_else(|_| error.to_string())
}

/// The traceback with its causes, as Python prints it.
fn traceback(py: Python<'_>, error: &PyErr) -> String {
    format_with(py, intern!(py, "format_exception"), error).unwrap_or_else(|_| error.to_string())
}

/// Lines that a function of Python's `traceback` module makes of an exception.
fn format_with(py: Python<'_>, function: &Bound<'_, PyString>, error: &PyErr) -> PyResult<String> {
    // Before Python 3.12 an exception that was fetched has its traceback beside it, until it is raised again.
    let raised = error.clone_ref(py).into_value(py);
    let lines: Vec<String> = py
        .import(intern!(py, "traceback"))?
        .getattr(function)?
        .call1((raised,))?
        .extract()?;
    Ok(lines.concat().trim_end().to_owned())
}
