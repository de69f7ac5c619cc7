//! Publishes how a program is linked to libpython and libtorch, for the build script of whatever makes one.
//!
//! Link arguments of a dependency do not reach the final program (tch-rs issues #329, #907, #980),
//! so the crate that makes a program emits `DEP_PYTHON_SHIM_LINK_ARGS`; this script does the same for
//! the tests and examples of this crate. The folders are also compiled in, so that `doctor` can tell
//! what was linked.

use std::{env, path::Path};

/// Between two arguments: a path may well hold a space.
const SEPARATOR: &str = ";";

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    println!("cargo::rerun-if-env-changed=PYO3_PYTHON");
    let config = pyo3_build_config::get();
    let python_lib = config.lib_dir().unwrap_or_default();
    let torch_lib = env::var("DEP_TCH_LIBTORCH_LIB").unwrap_or_default();
    let python = config.executable().unwrap_or_default();
    println!("cargo::rustc-env=PYTHON_SHIM_PYTHON_LIB={python_lib}");
    println!("cargo::rustc-env=PYTHON_SHIM_TORCH_LIB={torch_lib}");
    println!("cargo::rustc-env=PYTHON_SHIM_PYTHON={python}");

    // An extension module gets none: the process that loads it brings its own Python and libtorch.
    let extension = env::var_os("CARGO_FEATURE_EXTENSION_MODULE").is_some();
    let arguments = if extension {
        Vec::new()
    } else {
        link_arguments(python_lib, &torch_lib)
    };
    for argument in &arguments {
        println!("cargo::rustc-link-arg={argument}");
    }
    println!("cargo::metadata=link_args={}", arguments.join(SEPARATOR));
    println!("cargo::metadata=torch_lib={torch_lib}");
}

/// Lets a program find both libraries, and keeps the CUDA half of libtorch, of which no symbol is named
/// in Rust and which the linker would drop otherwise.
fn link_arguments(python_lib: &str, torch_lib: &str) -> Vec<String> {
    let cuda = Path::new(torch_lib).join("libtorch_cuda.so").exists();
    let libraries = if cuda {
        "-ltorch_cuda,-ltorch"
    } else {
        "-ltorch"
    };
    vec![
        format!("-L{torch_lib}"),
        format!("-Wl,-rpath,{python_lib}"),
        format!("-Wl,-rpath,{torch_lib}"),
        format!("-Wl,--push-state,--no-as-needed,{libraries},--pop-state"),
    ]
}
