//! What is looked up: the interpreter and its packages, shared libraries, what libtorch can use.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use pyo3::{exceptions::PyModuleNotFoundError, prelude::*};
use tch::{Cuda, Device, Kind, Tensor};
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
/// The name of the one that only some backends need: an extra of `atari_wrappers`.
pub(super) const OPENCV: &str = "opencv-python-headless";

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
    /// Name and installed version of each package that is used; `None` where it is missing.
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
        let (sys, platform) = (py.import("sys")?, py.import("platform")?);
        let packages = DISTRIBUTIONS.iter().map(|names| installed(py, names));
        Ok(PythonFacts {
            executable: sys.getattr("executable")?.extract()?,
            version: platform.call_method0("python_version")?.extract()?,
            prefix: sys.getattr("prefix")?.extract()?,
            origin,
            packages: packages.collect::<PyResult<_>>()?,
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

/// Paths of the libraries that matter; `None` where one is not loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    /// `libpython3.x.so`; none inside a Python that has it linked in.
    pub python: Option<PathBuf>,
    /// `libtorch_cpu.so`.
    pub torch: Option<PathBuf>,
    /// `libtorch_cuda.so`.
    pub torch_cuda: Option<PathBuf>,
    /// Every OpenMP runtime; more than one can pin libtorch to one thread.
    pub openmp: Vec<PathBuf>,
}

impl Libraries {
    /// Reads `/proc/self/maps`; empty where there is none.
    #[must_use]
    pub fn mapped() -> Self {
        Self::from_maps(&fs::read_to_string("/proc/self/maps").unwrap_or_default())
    }

    /// `maps`: lines of `address permissions offset device inode path`.
    fn from_maps(maps: &str) -> Self {
        let paths: BTreeSet<&Path> = maps
            .lines()
            .filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])))
            .collect();
        let named = |prefix: &'static str| {
            let is_one = move |path: &&&Path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| name.starts_with(prefix))
            };
            paths.iter().filter(is_one).map(|path| path.to_path_buf())
        };
        Self {
            python: named("libpython3.").next(),
            torch: named("libtorch_cpu.so").next(),
            torch_cuda: named("libtorch_cuda.so").next(),
            openmp: ["libgomp", "libomp", "libiomp5"]
                .into_iter()
                .flat_map(named)
                .collect(),
        }
    }

    /// Whether the loaded libtorch comes with a CUDA half.
    pub(super) fn has_cuda_torch(&self) -> bool {
        let half = |path: &PathBuf| path.with_file_name("libtorch_cuda.so").exists();
        self.torch.as_ref().is_some_and(half)
    }
}

/// Rows and columns: large enough for the threads to matter, small enough for tenths of a second.
const MATMUL_SIZE: i64 = 1536;

/// libtorch's devices and threads.
#[derive(Clone, Debug)]
pub struct TorchFacts {
    /// Size of the intra-operation thread pool as the program found it.
    pub num_threads: usize,
    /// Time of a large matrix product with one thread over that with one for each CPU.
    pub matmul_speedup: f64,
    /// Whether CUDA works.
    pub cuda_available: bool,
    /// Number of CUDA devices.
    pub num_cuda_devices: i64,
}

/// Measures, and leaves the number of threads as it was.
pub(super) fn torch_facts(num_cpus: usize) -> TorchFacts {
    let num_threads = tch::get_num_threads();
    let matrix = Tensor::rand([MATMUL_SIZE, MATMUL_SIZE], (Kind::Float, Device::Cpu));
    let one = matmul_seconds(&matrix, 1);
    let all = matmul_seconds(&matrix, num_cpus as i32);
    tch::set_num_threads(num_threads);
    TorchFacts {
        num_threads: num_threads as usize,
        matmul_speedup: one / all,
        cuda_available: Cuda::is_available(),
        num_cuda_devices: Cuda::device_count(),
    }
}

/// The best of several, because other programs disturb.
fn matmul_seconds(matrix: &Tensor, num_threads: i32) -> f64 {
    tch::set_num_threads(num_threads);
    let seconds = (0..5).map(|_| {
        let start = Instant::now();
        let _product = matrix.matmul(matrix);
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_in_maps() {
        let maps = "\
7f00-7f01 r-xp 00000000 08:01 1 /opt/python/lib/libpython3.11.so.1.0
7f01-7f02 r--p 00000000 08:01 1 /opt/python/lib/libpython3.11.so.1.0
7f02-7f03 r-xp 00000000 08:01 2 /venv with space/torch/lib/libtorch_cpu.so
7f03-7f04 r-xp 00000000 08:01 3 /venv with space/torch/lib/libgomp-24e2ab19.so.1.0.0
7f04-7f05 r-xp 00000000 08:01 4 /usr/lib/libgomp.so.1.0.0
7f05-7f06 rw-p 00000000 00:00 0
7f06-7f07 rw-p 00000000 00:00 0 [heap]
";
        let libraries = Libraries::from_maps(maps);
        assert_eq!(
            libraries.python,
            Some("/opt/python/lib/libpython3.11.so.1.0".into())
        );
        assert_eq!(
            libraries.torch,
            Some("/venv with space/torch/lib/libtorch_cpu.so".into())
        );
        assert_eq!(libraries.torch_cuda, None);
        assert_eq!(libraries.openmp.len(), 2);
    }
}
