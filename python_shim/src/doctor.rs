//! The facts that decide whether a program can run, and how fast: for a `doctor` command.
//!
//! Everything is looked up in the running process, not in what the build intended.

mod facts;

use std::{env, fmt, path::PathBuf, thread};

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
    let (python, problems) = match python_facts() {
        Ok(python) => (Some(python), Vec::new()),
        Err(error) => (None, vec![error.to_string()]),
    };
    let num_cpus = thread::available_parallelism().map_or(1, usize::from);
    let torch = facts::torch_facts(num_cpus);
    let mut facts = Facts {
        python,
        libraries: Libraries::mapped(),
        torch,
        ignored_variables: variables::ignored().to_vec(),
        num_cpus,
        problems,
        notes: Vec::new(),
    };
    facts.problems.extend(find_problems(&facts));
    facts.notes.extend(find_note(&facts));
    facts
}

/// The interpreter and its packages alone: quick enough for the log of every run.
///
/// # Errors
/// [`EnvError::Backend`] where Python does not start.
pub fn python_facts() -> Result<PythonFacts, EnvError> {
    interpreter::start().and_then(facts::python_facts)
}

fn find_problems(facts: &Facts) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(python) = &facts.python {
        problems.extend(facts::try_import().map(|error| error.to_string()));
        problems.extend(ignored_virtual_env(&python.origin));
        problems.extend(packages_missing(python));
        problems.extend(other_torch(python, &facts.libraries));
    }
    let libraries = &facts.libraries;
    if scales_badly(facts) && libraries.openmp.len() > 1 {
        problems.push(format!(
            "{}; two OpenMP runtimes are loaded, which can pin libtorch to one thread: link the one of libtorch",
            speedup(facts)
        ));
    }
    if libraries.torch_cuda.is_none() && libraries.has_cuda_torch() {
        problems.push(
            "libtorch has CUDA but libtorch_cuda is not loaded, so no GPU is found: \
             link the program with -Wl,--no-as-needed -ltorch_cuda"
                .to_owned(),
        );
    }
    if !facts.torch.cuda_available && PathBuf::from("/dev/nvidia0").exists() {
        problems.push(
            "this machine has an NVIDIA GPU but libtorch cannot use it: \
             check that the driver is as new as the CUDA version of torch"
                .to_owned(),
        );
    }
    problems
}

/// A busy machine looks as one whose threads are held back by its settings.
fn find_note(facts: &Facts) -> Option<String> {
    let is_unexplained = scales_badly(facts) && facts.libraries.openmp.len() <= 1;
    is_unexplained.then(|| {
        format!(
            "{}; the machine is busy, or OMP_NUM_THREADS or the CPU affinity is limited",
            speedup(facts)
        )
    })
}

fn scales_badly(facts: &Facts) -> bool {
    facts.torch.scales_badly(facts.num_cpus)
}

fn speedup(facts: &Facts) -> String {
    format!(
        "a large matrix product is only {:.1} times as fast with {} threads as with one",
        facts.torch.matmul_speedup, facts.num_cpus
    )
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
        .filter(|(_, version)| version.is_none());
    let names: Vec<&str> = missing.map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Python packages are not installed: {}; {}",
            names.join(", "),
            interpreter::REMEDY
        )
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
        let mut line =
            |name: &str, value: &dyn fmt::Display| writeln!(formatter, "{name:<24}{value}");
        if let Some(python) = &self.python {
            line(
                "python",
                &format!("{} ({})", python.version, python.executable.display()),
            )?;
            line("chosen by", &python.chosen_by())?;
            line("sys.prefix", &python.prefix.display())?;
            if !self.ignored_variables.is_empty() {
                line("set, but ignored", &self.ignored_variables.join(", "))?;
            }
            for (name, version) in &python.packages {
                line(name, &version.as_deref().unwrap_or("missing"))?;
            }
        }
        let path = |path: &Option<PathBuf>| {
            path.as_ref()
                .map_or("not loaded".to_owned(), |path| path.display().to_string())
        };
        line("libpython", &path(&self.libraries.python))?;
        line("libtorch", &path(&self.libraries.torch))?;
        line("libtorch_cuda", &path(&self.libraries.torch_cuda))?;
        for runtime in &self.libraries.openmp {
            line("openmp", &runtime.display())?;
        }
        line("cpus", &self.num_cpus)?;
        line("libtorch threads", &self.torch.num_threads)?;
        line(
            "matmul speedup",
            &format!(
                "{:.2} with {} threads",
                self.torch.matmul_speedup, self.num_cpus
            ),
        )?;
        line(
            "cuda",
            &format!(
                "{}, {} devices",
                if self.torch.cuda_available {
                    "available"
                } else {
                    "not available"
                },
                self.torch.num_cuda_devices
            ),
        )?;
        for note in &self.notes {
            line("note", note)?;
        }
        for problem in &self.problems {
            line("problem", problem)?;
        }
        Ok(())
    }
}
