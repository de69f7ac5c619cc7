//! The interpreter and the versions of its packages.

use std::path::PathBuf;

use pyo3::{exceptions::PyModuleNotFoundError, prelude::*};

use vec_env::EnvError;

use crate::{
    error::CallError,
    interpreter::{self, Origin},
};

/// Distributions whose versions are told; alternatives for one package are separated by `|`.
const DISTRIBUTIONS: [&str; 6] = [
    "atari_wrappers",
    "ale-py",
    "gymnasium",
    "numpy",
    "opencv-python-headless|opencv-python",
    "torch",
];

/// The interpreter of this process.
#[derive(Clone, Debug)]
pub struct PythonFacts {
    /// `sys.executable`, which worker processes are started with.
    pub executable: PathBuf,
    /// Such as `3.11.7`.
    pub version: String,
    /// `sys.prefix`: the virtual environment's folder.
    pub prefix: PathBuf,
    /// How it was chosen.
    pub origin: Origin,
    /// Name and installed version of every package needed; `None` where it is missing.
    pub packages: Vec<(&'static str, Option<String>)>,
}

impl PythonFacts {
    pub(super) fn chosen_by(&self) -> &'static str {
        match self.origin {
            Origin::Running => "the Python that runs this program",
            Origin::VirtualEnv(_) => "VIRTUAL_ENV",
            Origin::BuiltAgainst(_) => "the build",
        }
    }
}

/// Asks the running interpreter.
pub(super) fn python_facts(origin: Origin) -> Result<PythonFacts, EnvError> {
    let look_up = |py: Python<'_>| -> Result<_, CallError> {
        let sys = py.import("sys")?;
        let packages = DISTRIBUTIONS
            .iter()
            .map(|names| installed(py, names))
            .collect::<PyResult<_>>()?;
        Ok(PythonFacts {
            executable: sys.getattr("executable")?.extract()?,
            version: py
                .import("platform")?
                .call_method0("python_version")?
                .extract()?,
            prefix: sys.getattr("prefix")?.extract()?,
            origin,
            packages,
        })
    };
    Ok(Python::attach(look_up)?)
}

/// Imports `atari_wrappers`: an installed package can still be broken.
pub(super) fn try_import() -> Option<EnvError> {
    Python::attach(|py| interpreter::atari_wrappers(py).err().map(Into::into))
}

/// The first of the alternatives that is installed. Reads metadata only: importing torch would load
/// a second libtorch where the program's is another.
fn installed(py: Python<'_>, names: &'static str) -> PyResult<(&'static str, Option<String>)> {
    let metadata = py.import("importlib.metadata")?;
    for name in names.split('|') {
        match metadata.call_method1("version", (name,)) {
            Ok(version) => return Ok((name, Some(version.extract()?))),
            Err(error) if error.is_instance_of::<PyModuleNotFoundError>(py) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((names.split('|').next().unwrap_or(names), None))
}
