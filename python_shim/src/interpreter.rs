//! The Python interpreter of this process: the one that runs already, or an embedded one.
//!
//! A program that embeds Python gets the virtual environment's interpreter: its packages, and its
//! executable for the worker processes that `multiprocessing` starts. An extension module uses the
//! interpreter that loaded it. Python is never finalised: threads of native libraries may still run
//! when a program ends, and finalising under them can hang.

#[cfg(not(feature = "abi3"))]
mod embed;
mod sigint;

#[cfg(not(feature = "abi3"))]
use std::sync::Once;
use std::{ffi::CStr, path::PathBuf, sync::OnceLock};

use pyo3::{
    exceptions::{PyImportError, PyModuleNotFoundError},
    intern,
    prelude::*,
    sync::PyOnceLock,
};

use crate::error::{CallError, setup_error};
pub(crate) use sigint::KeepSigint;
use vec_env::EnvError;

/// What to do when the environment on disk does not fit the program.
pub(crate) const REMEDY: &str =
    "run ./scripts/setup, which makes the virtual environment and builds against it";

/// Where the interpreter of this process came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Python ran before this crate was used: an extension module, or another embedding library.
    Running,
    /// Embedded; the interpreter of the environment that `VIRTUAL_ENV` names.
    VirtualEnv(PathBuf),
    /// Embedded; the interpreter that the program was built against.
    BuiltAgainst(PathBuf),
}

static STARTED: OnceLock<Result<Origin, String>> = OnceLock::new();

/// Brings Python up, once for the process; later calls return the first one's outcome.
///
/// SIGINT stays with whoever handled it before: Python's own handler is never installed.
///
/// # Errors
/// [`EnvError::Backend`], with what to do about it: no virtual environment where one is expected,
/// one of another Python version than the libpython linked, or one that Python does not accept.
pub fn start() -> Result<Origin, EnvError> {
    // Nobody can hold the GIL while waiting here: before the first call Python does not run, and if
    // it runs already `begin` does not touch the GIL.
    STARTED.get_or_init(begin).clone().map_err(setup_error)
}

fn begin() -> Result<Origin, String> {
    if is_running() {
        return Ok(Origin::Running);
    }
    #[cfg(not(feature = "abi3"))]
    return embed::start();
    #[cfg(feature = "abi3")]
    Err("a module on the stable ABI needs a running Python: import it from one".to_owned())
}

/// Whether this is a guest in a Python process, which Python began and will end, such as an extension module is.
#[must_use]
pub fn is_guest() -> bool {
    match STARTED.get() {
        Some(origin) => *origin == Ok(Origin::Running),
        None => is_running(),
    }
}

#[expect(unsafe_code, reason = "the C API's test for a running interpreter")]
fn is_running() -> bool {
    // SAFETY: Py_IsInitialized may be called at any time, from any thread.
    unsafe { pyo3::ffi::Py_IsInitialized() != 0 }
}

/// Makes sure that a `PyErr` can be shown although [`start`] failed, for the callers
/// with `PyResult`: showing one without any interpreter panics.
pub(crate) fn start_for_messages() {
    #[cfg(not(feature = "abi3"))]
    {
        static STARTED_BARE: Once = Once::new();
        STARTED_BARE.call_once(|| {
            if !is_running() {
                embed::start_bare();
            }
        });
    }
}

/// The module `atari_wrappers`, imported once.
pub(crate) fn atari_wrappers(py: Python<'_>) -> Result<&Bound<'_, PyModule>, CallError> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        import_signal(py)?;
        py.import(intern!(py, "atari_wrappers")).map(Bound::unbind)
    });
    match module {
        Ok(module) => Ok(module.bind(py)),
        Err(error) => Err(explain_import_error(py, error)),
    }
}

/// Imports `signal`, which takes SIGINT over, once in a process; so it happens here and not later.
///
/// Whoever handled SIGINT has it back at once, and not when all else is imported: who handles it may change meanwhile,
/// as other threads go on. Where the import is done nothing is put back.
fn import_signal(py: Python<'_>) -> PyResult<()> {
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    let _keep = (!modules.contains(intern!(py, "_signal"))?).then(KeepSigint::new);
    py.import(intern!(py, "signal")).map(drop)
}

/// A module of this crate's own `code`, made once and kept in `once`.
pub(crate) fn embedded_module<'py>(
    py: Python<'py>,
    once: &'static PyOnceLock<Py<PyModule>>,
    code: &CStr,
    file: &CStr,
    name: &CStr,
) -> Result<&'py Bound<'py, PyModule>, CallError> {
    // Brings the signals' handlers in order before anything else imports `signal`.
    atari_wrappers(py)?;
    let make = || PyModule::from_code(py, code, file, name).map(Bound::unbind);
    Ok(once.get_or_try_init(py, make)?.bind(py))
}

/// A module that needs packages of an extra, once there is [`atari_wrappers`]; its `ImportError` says which.
pub(crate) fn import<'py>(py: Python<'py>, name: &str) -> Result<Bound<'py, PyModule>, CallError> {
    let missing = |error: &PyErr| error.is_instance_of::<PyImportError>(py);
    match py.import(name) {
        Ok(module) => Ok(module),
        Err(error) if missing(&error) => Err(setup_error(error.value(py).to_string()).into()),
        Err(error) => Err(error.into()),
    }
}

/// A package that is missing is a matter of set-up; anything else that an import raises is shown whole.
fn explain_import_error(py: Python<'_>, error: PyErr) -> CallError {
    let missing = || -> Option<String> {
        let error = error.value(py);
        error
            .is_instance_of::<PyModuleNotFoundError>()
            .then_some(())?;
        error.getattr(intern!(py, "name")).ok()?.extract().ok()
    };
    let executable = || -> PyResult<String> { py.import("sys")?.getattr("executable")?.extract() };
    let or_else = match STARTED.get() {
        Some(Ok(Origin::VirtualEnv(_))) => ", or deactivate this virtual environment",
        _ => "",
    };
    match missing() {
        Some(package) => setup_error(format!(
            "the Python package `{package}` is not installed for `{}`: {REMEDY}{or_else}",
            executable().unwrap_or_default(),
        ))
        .into(),
        None => error.into(),
    }
}

/// Ends what Python started in the background: runs its exit functions, which stop worker processes
/// still alive, and writes out `sys.stdout` and `sys.stderr`. For the end of a program; environments
/// must not be used afterwards. Python that was not embedded by this crate is left alone.
///
/// # Errors
/// [`EnvError::Backend`] for what the exit functions raise.
pub fn shutdown() -> Result<(), EnvError> {
    match STARTED.get() {
        Some(Ok(Origin::VirtualEnv(_) | Origin::BuiltAgainst(_))) => {}
        _ => return Ok(()),
    }
    let end = |py: Python<'_>| -> PyResult<()> {
        py.import("atexit")?.call_method0("_run_exitfuncs")?;
        let sys = py.import("sys")?;
        for stream in ["stdout", "stderr"] {
            let stream = sys.getattr(stream)?;
            if !stream.is_none() {
                stream.call_method0("flush")?;
            }
        }
        Ok(())
    };
    Ok(Python::attach(|py| end(py).map_err(CallError::from))?)
}
