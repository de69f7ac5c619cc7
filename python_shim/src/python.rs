//! Python exceptions in words.

use pyo3::{
    exceptions::{PyConnectionError, PyOSError, PyTypeError, PyValueError},
    intern,
    prelude::*,
};

/// Type and message of an exception, then the traceback with its causes as Python prints it.
#[must_use]
pub fn describe(error: &PyErr) -> String {
    let formatted = Python::try_attach(|py| {
        let value = error.value(py);
        format_with(py, intern!(py, "format_exception"), value)
    });
    match formatted {
        Some(Ok(traceback)) => format!("{}\n{}", summary(error), traceback.trim_end()),
        _ => summary(error),
    }
}

/// Type and message of an exception, as the last line of Python's traceback has them.
#[must_use]
pub fn summary(error: &PyErr) -> String {
    let formatted = Python::try_attach(|py| {
        let value = error.value(py);
        format_with(py, intern!(py, "format_exception_only"), value)
            .unwrap_or_else(|_| error.to_string())
    });
    match formatted {
        Some(line) => line.trim_end().to_owned(),
        None => "a Python exception that cannot be shown: the interpreter has ended".to_owned(),
    }
}

/// Whether an exception of making an environment tells of a wrong setting.
pub(crate) fn is_usage_error(error: &PyErr) -> bool {
    Python::try_attach(|py| {
        error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyTypeError>(py)
            || (error.is_instance_of::<PyOSError>(py)
                && !error.is_instance_of::<PyConnectionError>(py))
            || is_gymnasium_error(py, error).unwrap_or(false)
    })
    .unwrap_or(false)
}

fn is_gymnasium_error(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    let base = py
        .import(intern!(py, "gymnasium.error"))?
        .getattr(intern!(py, "Error"))?;
    Ok(error.is_instance(py, &base))
}

/// Lines that a function of Python's `traceback` module makes of an exception.
fn format_with(
    py: Python<'_>,
    function: &Bound<'_, pyo3::types::PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let lines: Vec<String> = py
        .import(intern!(py, "traceback"))?
        .getattr(function)?
        .call1((value,))?
        .extract()?;
    Ok(lines.concat())
}
