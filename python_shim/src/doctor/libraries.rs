//! Which shared libraries this process has mapped.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

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
            paths
                .iter()
                .filter(move |path| file_name(path).starts_with(prefix))
                .map(|path| path.to_path_buf())
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
        self.torch
            .as_ref()
            .is_some_and(|path| path.with_file_name("libtorch_cuda.so").exists())
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
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
