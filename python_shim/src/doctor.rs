//! The facts that decide whether a program can run, and how fast: for a `doctor` command.
//!
//! Everything is looked up in the running process, not in what the build intended.

mod facts;

use std::{env, fmt, path::Path, thread};

pub use facts::{Libraries, PythonFacts, TorchFacts};
use vec_env::EnvError;

use crate::{
    interpreter::{self, Origin},
    variables,
};

/// What [`facts`] found; shown as one fact for each line, problems last.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The interpreter and its packages; none where Python does not start.
    pub python: Option<PythonFacts>,
    /// Shared libraries as mapped into this process.
    pub libraries: Libraries,
    /// libtorch's devices and threads.
    pub torch: TorchFacts,
    /// Variables that are set for another Python, and that the embedded one does not see.
    pub ignored_variables: Vec<&'static str>,
    /// CPUs that this process may use.
    pub num_cpus: usize,
    /// What is wrong, and what to do about it; empty where all is well.
    pub problems: Vec<String>,
    /// What looks odd and need not be wrong, such as threads that do not help while others use the machine.
    pub notes: Vec<String>,
}

/// Looks everything up: brings Python up, imports `atari_wrappers`, and multiplies matrices for about
/// a second.
#[must_use]
pub fn facts() -> Facts {
    let (python, mut problems) = match python_facts() {
        Ok(python) => (Some(python), Vec::new()),
        Err(error) => (None, vec![error.to_string()]),
    };
    let num_cpus = thread::available_parallelism().map_or(1, usize::from);
    let torch = facts::torch_facts(num_cpus);
    let libraries = Libraries::mapped();
    let mut notes = Vec::new();
    if let Some(python) = &python {
        problems.extend(facts::try_import().map(|error| error.to_string()));
        problems.extend(ignored_virtual_env(&python.origin));
        problems.extend(packages_missing(python));
        notes.extend(opencv_missing(python));
        problems.extend(other_torch(python, &libraries));
    }
    // Threads hardly help; generous, because the machine may be busy, which looks as if settings held them back.
    if num_cpus > 1 && torch.matmul_speedup < 1.3 {
        let slow = format!(
            "a large matrix product is only {:.1} times as fast with {num_cpus} threads as with one",
            torch.matmul_speedup
        );
        if libraries.openmp.len() > 1 {
            problems.push(format!(
                "{slow}; two OpenMP runtimes are loaded, which can pin libtorch to one thread: link the one of libtorch"
            ));
        } else {
            notes.push(format!(
                "{slow}; the machine is busy, or OMP_NUM_THREADS or the CPU affinity is limited"
            ));
        }
    }
    if libraries.torch_cuda.is_none() && libraries.has_cuda_torch() {
        problems.push(
            "libtorch has CUDA but libtorch_cuda is not loaded, so no GPU is found: \
             link the program with -Wl,--no-as-needed -ltorch_cuda"
                .to_owned(),
        );
    }
    if !torch.cuda_available && Path::new("/dev/nvidia0").exists() {
        problems.push(
            "this machine has an NVIDIA GPU but libtorch cannot use it: \
             check that the driver is as new as the CUDA version of torch"
                .to_owned(),
        );
    }
    Facts {
        python,
        libraries,
        torch,
        ignored_variables: variables::ignored().to_vec(),
        num_cpus,
        problems,
        notes,
    }
}

/// The interpreter and its packages alone: quick enough for the log of every run.
///
/// # Errors
/// [`EnvError::Backend`] where Python does not start.
pub fn python_facts() -> Result<PythonFacts, EnvError> {
    interpreter::start().and_then(facts::python_facts)
}

fn ignored_virtual_env(origin: &Origin) -> Option<String> {
    let folder = env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty())?;
    matches!(origin, Origin::BuiltAgainst(_)).then(|| {
        format!(
            "VIRTUAL_ENV is `{}`, which has no bin/python, so the environment of the build is used: unset it",
            folder.display()
        )
    })
}

fn packages_missing(python: &PythonFacts) -> Option<String> {
    let missing = python
        .packages
        .iter()
        .filter(|(name, version)| version.is_none() && *name != facts::OPENCV);
    let names: Vec<&str> = missing.map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Python packages are not installed: {}; {}",
            names.join(", "),
            interpreter::REMEDY
        )
    })
}

fn opencv_missing(python: &PythonFacts) -> Option<String> {
    python.packages.contains(&(facts::OPENCV, None)).then(|| {
        "OpenCV is not installed, which Atari games on the backends sync and async need: \
             pip install \"atari-wrappers[opencv]\""
            .to_owned()
    })
}

/// The libtorch of the build must be that of the interpreter's environment.
fn other_torch(python: &PythonFacts, libraries: &Libraries) -> Option<String> {
    let folder = libraries.torch.as_ref()?.parent()?.canonicalize().ok()?;
    let prefix = python.prefix.canonicalize().ok()?;
    (!folder.starts_with(&prefix)).then(|| {
        format!(
            "libtorch is loaded from `{}`, outside of the environment `{}`: unset LD_LIBRARY_PATH, or {}",
            folder.display(),
            prefix.display(),
            interpreter::REMEDY
        )
    })
}

impl fmt::Display for Facts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Vec::new();
        if let Some(python) = &self.python {
            let executable = python.executable.display();
            rows.push(("python", format!("{} ({executable})", python.version)));
            rows.push(("chosen by", python.chosen_by().to_owned()));
            rows.push(("sys.prefix", python.prefix.display().to_string()));
            if !self.ignored_variables.is_empty() {
                rows.push(("set, but ignored", self.ignored_variables.join(", ")));
            }
            for (name, version) in &python.packages {
                rows.push((name, version.as_deref().unwrap_or("missing").to_owned()));
            }
        }
        let (libraries, torch, num_cpus) = (&self.libraries, &self.torch, self.num_cpus);
        for (name, path) in [
            ("libpython", &libraries.python),
            ("libtorch", &libraries.torch),
            ("libtorch_cuda", &libraries.torch_cuda),
        ] {
            let path = path.as_ref().map(|path| path.display().to_string());
            rows.push((name, path.unwrap_or_else(|| "not loaded".to_owned())));
        }
        let openmp = libraries.openmp.iter();
        rows.extend(openmp.map(|path| ("openmp", path.display().to_string())));
        let speedup = format!("{:.2} with {num_cpus} threads", torch.matmul_speedup);
        let not = if torch.cuda_available { "" } else { "not " };
        rows.extend([
            ("cpus", num_cpus.to_string()),
            ("libtorch threads", torch.num_threads.to_string()),
            ("matmul speedup", speedup),
            (
                "cuda",
                format!("{not}available, {} devices", torch.num_cuda_devices),
            ),
        ]);
        rows.extend(self.notes.iter().map(|note| ("note", note.clone())));
        rows.extend(
            self.problems
                .iter()
                .map(|problem| ("problem", problem.clone())),
        );
        rows.iter()
            .try_for_each(|(name, value)| writeln!(formatter, "{name:<24}{value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_only_some_backends_need_is_no_problem() {
        let python = PythonFacts {
            executable: "/env/bin/python".into(),
            version: "3.11.7".to_owned(),
            prefix: "/env".into(),
            origin: Origin::Running,
            packages: vec![(facts::OPENCV, None), ("numpy", None)],
        };
        let missing = packages_missing(&python).unwrap_or_default();
        assert!(missing.contains(": numpy; "), "{missing}");
        assert!(opencv_missing(&python).is_some());
    }
}
