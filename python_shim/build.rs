//! Publishes how a program is linked to libpython and libtorch, for the build script of whatever makes one.
//!
//! Link arguments of a dependency do not reach the final program (tch-rs issues #329, #907, #980),
//! so the crate that makes a program emits `DEP_PYTHON_SHIM_LINK_ARGS`; this script does the same for
//! the tests and examples of this crate. An extension module emits nothing: the process that loads it
//! brings its own Python and libtorch. The folders are also compiled in, so that `doctor` can tell
//! what was linked.

use std::{env, path::Path};

use pyo3_build_config::InterpreterConfig;

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

    let arguments = link_arguments(config, python_lib, &torch_lib);
    for argument in &arguments {
        println!("cargo::rustc-link-arg={argument}");
    }
    println!("cargo::metadata=link_args={}", arguments.join(SEPARATOR));
    println!("cargo::metadata=torch_lib={torch_lib}");
}

/// Lets a program find both libraries. libpython is named here, so that pyo3 need not name it, which would be for modules,
/// too (`PYO3_BUILD_EXTENSION_MODULE`). Of libtorch's CUDA half no symbol is named in Rust, and the linker would drop it.
fn link_arguments(config: &InterpreterConfig, python_lib: &str, torch_lib: &str) -> Vec<String> {
    let cuda = Path::new(torch_lib).join("libtorch_cuda.so").exists();
    let libraries = if cuda {
        "-ltorch_cuda,-ltorch"
    } else {
        "-ltorch"
    };
    vec![
        format!("-L{python_lib}"),
        format!("-l{}", config.lib_name().unwrap_or("python3")),
        format!("-L{torch_lib}"),
        format!("-Wl,-rpath,{python_lib}"),
        format!("-Wl,-rpath,{torch_lib}"),
        format!("-Wl,--push-state,--no-as-needed,{libraries},--pop-state"),
    ]
}
