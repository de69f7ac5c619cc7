//! Experiment trackers: trackio, Weights & Biases and `MLflow`, through their own Python packages.
//!
//! The calls may take long, as they may go over a network; whoever cannot wait calls from a thread of its own.

use std::{ffi::CStr, path::Path};

use pyo3::{
    ffi::c_str,
    prelude::*,
    sync::PyOnceLock,
    types::{IntoPyDict, PyDict, PyModule},
};
use vec_env::EnvError;

use crate::{
    error::{CallError, setup_error},
    interpreter,
};

const CODE: &CStr = c_str!(include_str!("tracker/trackers.py"));

/// The run of a tracker.
#[derive(Debug)]
pub struct Tracker(Py<PyAny>);

impl Tracker {
    /// Checks that the package of the tracker `kind` is installed, without importing it.
    ///
    /// # Errors
    /// A line that says how to install it.
    pub fn check(kind: &str) -> Result<(), EnvError> {
        interpreter::start()?;
        let missing = |py: Python<'_>| -> Result<bool, CallError> {
            let missing = module(py)?.call_method1("missing", (kind,))?;
            Ok(missing.extract()?)
        };
        if Python::attach(missing)? {
            let message =
                format!("--track {kind} needs the Python package {kind}: pip install {kind}");
            return Err(setup_error(message));
        }
        Ok(())
    }

    /// Begins the run of the name `run`, whose files are in `folder`, or goes on with the one that has this `id`.
    /// `settings` is a JSON object.
    ///
    /// # Errors
    /// What the package says.
    pub fn start(
        kind: &str,
        run: &str,
        folder: &Path,
        id: Option<&str>,
        settings: &str,
    ) -> Result<Self, EnvError> {
        interpreter::start()?;
        let start = |py: Python<'_>| -> Result<_, CallError> {
            let settings = py.import("json")?.call_method1("loads", (settings,))?;
            let kinds = module(py)?.getattr("KINDS")?;
            let folder = folder.to_string_lossy();
            let tracker = kinds.get_item(kind)?.call1((run, folder, id, settings))?;
            Ok(Self(tracker.unbind()))
        };
        Ok(Python::attach(start)?)
    }

    /// The id by which the run goes on.
    ///
    /// # Errors
    /// What the package says.
    pub fn id(&self) -> Result<String, EnvError> {
        let id = |py: Python<'_>| -> Result<_, CallError> {
            Ok(self.0.bind(py).getattr("id")?.extract()?)
        };
        Ok(Python::attach(id)?)
    }

    /// Logs named values at an agent step.
    ///
    /// # Errors
    /// What the package says.
    pub fn log(&self, step: u64, values: &[(String, f64)]) -> Result<(), EnvError> {
        let log = |py: Python<'_>| -> Result<(), CallError> {
            let values: Bound<'_, PyDict> = values.iter().cloned().into_py_dict(py)?;
            self.0.bind(py).call_method1("log", (step, values))?;
            Ok(())
        };
        Ok(Python::attach(log)?)
    }

    /// Logs a clip of play, the GIF at `path`, at an agent step.
    ///
    /// # Errors
    /// What the package says.
    pub fn clip(&self, step: u64, path: &Path) -> Result<(), EnvError> {
        let clip = |py: Python<'_>| -> Result<(), CallError> {
            let path = path.to_string_lossy();
            self.0.bind(py).call_method1("clip", (step, path))?;
            Ok(())
        };
        Ok(Python::attach(clip)?)
    }

    /// Ends the run, for good where it `is_done`.
    ///
    /// # Errors
    /// What the package says.
    pub fn finish(&self, is_done: bool) -> Result<(), EnvError> {
        let finish = |py: Python<'_>| -> Result<(), CallError> {
            let options = [("is_done", is_done)].into_py_dict(py)?;
            self.0.bind(py).call_method("finish", (), Some(&options))?;
            Ok(())
        };
        Ok(Python::attach(finish)?)
    }
}

/// The module of the trackers, made once.
fn module(py: Python<'_>) -> Result<&Bound<'_, PyModule>, CallError> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let (file, name) = (c"trackers.py", c"rust_trainer_trackers");
    interpreter::embedded_module(py, &MODULE, CODE, file, name)
}
