//! Starts the virtual environment's interpreter inside this process.
//!
//! Embedded Python does not find a virtual environment by itself. It is told the environment's
//! `bin/python` before it starts and derives the rest from that, as that program would; so
//! `sys.executable`, which `multiprocessing` starts workers with, is Python and not this program
//! (`PyO3` issue #4215).

use std::{
    env,
    ffi::{CStr, CString, OsStr},
    fs,
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use pyo3::{ffi, prelude::*};

use super::{Origin, REMEDY, sigint::KeepSigint};
use crate::variables;

/// Chooses the interpreter and starts it.
pub(super) fn start() -> Result<Origin, String> {
    start_chosen(choose(env::var_os("VIRTUAL_ENV").as_deref()))
}

/// Checks that an interpreter fits, starts it, and checks that it took its environment.
fn start_chosen(origin: Origin) -> Result<Origin, String> {
    let (python, chosen_by) = match &origin {
        Origin::VirtualEnv(python) => (python, "chosen by VIRTUAL_ENV"),
        Origin::BuiltAgainst(python) => (python, "which this program was built against"),
        Origin::Running => return Ok(origin),
    };
    let name = format!("`{}`, {chosen_by}", python.display());
    if !python.exists() {
        return Err(format!(
            "no Python interpreter at {name}: {REMEDY}, or activate another"
        ));
    }
    check_version(python, &linked_version()).map_err(|what| format!("{name}, {what}: {REMEDY}"))?;
    {
        let _keep = KeepSigint::new();
        initialize(Some(python))
            .map_err(|what| format!("{name}, does not start: {what}; {REMEDY}"))?;
    }
    check_prefix(python).map_err(|what| format!("{name}, {what}"))?;
    add_current_folder().map_err(|error| format!("{name}, cannot import: {error}"))?;
    Ok(origin)
}

/// Starts Python with whatever it finds by itself; a failure is left for the caller to meet.
pub(super) fn start_bare() {
    let _keep = KeepSigint::new();
    let _ = initialize(None);
}

/// The interpreter of the active environment if there is one, else that of the build.
fn choose(virtual_env: Option<&OsStr>) -> Origin {
    let active = virtual_env
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join("bin/python"))
        .filter(|python| python.exists());
    match active {
        Some(python) => Origin::VirtualEnv(python),
        None => Origin::BuiltAgainst(PathBuf::from(env!("PYTHON_SHIM_PYTHON"))),
    }
}

/// Version of the libpython in this process, such as `3.11.7`.
#[expect(unsafe_code, reason = "the C API's version string")]
fn linked_version() -> String {
    // SAFETY: Py_GetVersion may be called before Python starts and returns a static string.
    let version = unsafe { CStr::from_ptr(ffi::Py_GetVersion()) }.to_string_lossy();
    version.split(' ').next().unwrap_or_default().to_owned()
}

/// Folder of the environment that an interpreter belongs to.
fn prefix_of(python: &Path) -> Option<&Path> {
    python.parent()?.parent()
}

/// An environment made by another minor version has packages that libpython cannot load.
fn check_version(python: &Path, linked: &str) -> Result<(), String> {
    let config =
        prefix_of(python).and_then(|prefix| fs::read_to_string(prefix.join("pyvenv.cfg")).ok());
    let Some(made_by) = config.as_deref().and_then(venv_version) else {
        return Ok(());
    };
    if minor(made_by) == minor(linked) {
        Ok(())
    } else {
        Err(format!(
            "is Python {made_by}, but this program was built against Python {linked}"
        ))
    }
}

/// The version in the text of a `pyvenv.cfg`: `version` by venv, `version_info` by virtualenv and uv.
fn venv_version(config: &str) -> Option<&str> {
    config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        matches!(key.trim(), "version" | "version_info").then(|| value.trim())
    })
}

/// `["3", "11"]` of `3.11.7`.
fn minor(version: &str) -> Vec<&str> {
    version.split('.').take(2).collect()
}

/// Started with the environment's interpreter, Python must have taken the environment's folder.
fn check_prefix(python: &Path) -> Result<(), String> {
    let Some(expected) = prefix_of(python).filter(|prefix| prefix.join("pyvenv.cfg").exists())
    else {
        return Ok(());
    };
    let prefix: PathBuf = Python::attach(|py| py.import("sys")?.getattr("prefix")?.extract())
        .map_err(|error: PyErr| error.to_string())?;
    if fs::canonicalize(&prefix).ok() == fs::canonicalize(expected).ok() {
        Ok(())
    } else {
        Err(format!(
            "started with sys.prefix `{}`: {REMEDY}",
            prefix.display()
        ))
    }
}

/// Lets modules of the folder that the program was started in be imported, as Python does: a user's own
/// environments. Behind all others, so that they never stand for a package. Worker processes are told.
fn add_current_folder() -> PyResult<()> {
    // There may be none any more.
    let Ok(folder) = env::current_dir() else {
        return Ok(());
    };
    let append = |py: Python<'_>| {
        let path = py.import("sys")?.getattr("path")?;
        // As a string: other paths are passed over.
        path.call_method1("append", (folder.into_os_string(),))
            .map(drop)
    };
    Python::attach(append)
}

/// Starts Python in this thread and lets go of the GIL.
#[expect(unsafe_code, reason = "PyConfig is reached through the C API only")]
fn initialize(python: Option<&Path>) -> Result<(), String> {
    variables::remove();
    let path = python
        .map(|python| CString::new(python.as_os_str().as_bytes()))
        .transpose();
    let path = path.map_err(|error| error.to_string())?;
    let mut config = MaybeUninit::uninit();
    // SAFETY: PyConfig_InitPythonConfig fills the configuration, which is cleared on every way out;
    // the strings outlive the calls that copy them; nothing else starts Python at the same time,
    // because `start` runs inside a OnceLock and `start_bare`, behind it, inside a Once.
    unsafe {
        ffi::PyConfig_InitPythonConfig(config.as_mut_ptr());
        let config: &mut ffi::PyConfig = config.assume_init_mut();
        config.install_signal_handlers = 0;
        // Leave the buffering of the host's stdin and stdout as it is.
        config.configure_c_stdio = 0;
        let mut status = ffi::PyStatus_Ok();
        if let Some(path) = &path {
            let configuration = &raw mut *config;
            for field in [&raw mut config.program_name, &raw mut config.executable] {
                if ffi::PyStatus_Exception(status) == 0 {
                    status = ffi::PyConfig_SetBytesString(configuration, field, path.as_ptr());
                }
            }
        }
        if ffi::PyStatus_Exception(status) == 0 {
            status = ffi::Py_InitializeFromConfig(config);
        }
        ffi::PyConfig_Clear(config);
        if ffi::PyStatus_Exception(status) != 0 {
            return Err(status_text(&status));
        }
        ffi::PyEval_SaveThread();
    }
    Ok(())
}

#[expect(unsafe_code, reason = "C strings of PyStatus")]
fn status_text(status: &ffi::PyStatus) -> String {
    if status.err_msg.is_null() {
        return format!("exit status {}", status.exitcode);
    }
    // SAFETY: err_msg is a static string where it is not null.
    unsafe { CStr::from_ptr(status.err_msg) }
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_both_kinds_of_pyvenv_cfg() {
        assert_eq!(
            venv_version("home = /usr/bin\nversion = 3.11.7\n"),
            Some("3.11.7")
        );
        assert_eq!(
            venv_version("home = /usr/bin\nversion_info = 3.12.1.final.0\n"),
            Some("3.12.1.final.0")
        );
        assert_eq!(venv_version("home = /usr/bin\n"), None);
    }

    #[test]
    fn a_missing_interpreter_is_named_with_the_remedy() {
        let error =
            start_chosen(Origin::BuiltAgainst("/moved/.venv/bin/python".into())).unwrap_err();
        assert!(error.contains("/moved/.venv/bin/python"), "{error}");
        assert!(error.contains("./scripts/setup"), "{error}");
    }

    #[test]
    fn only_the_minor_version_must_agree() {
        assert_eq!(minor("3.11.7"), minor("3.11.2"));
        assert_ne!(minor("3.11.7"), minor("3.1.7"));
    }

    #[test]
    fn an_empty_or_broken_virtual_env_is_not_chosen() {
        for folder in ["", "/nonexistent"] {
            assert!(
                matches!(choose(Some(OsStr::new(folder))), Origin::BuiltAgainst(_)),
                "{folder}"
            );
        }
    }
}
