//! Publishes where libpython and libtorch live, for the build script of whatever links them.
//!
//! Link arguments of a dependency do not reach the final program (tch-rs issues #329, #907, #980),
//! so the crate that makes a program or an extension module reads `DEP_PYTHON_SHIM_*` and emits them;
//! this script does the same for the tests and examples of this crate. The facts are also compiled in,
//! so that `doctor` can tell what was linked.

use std::{env, path::Path};

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    println!("cargo::rerun-if-env-changed=PYO3_PYTHON");
    let config = pyo3_build_config::get();
    let python_lib = config.lib_dir().unwrap_or_default();
    println!("cargo::metadata=python_lib={python_lib}");
    println!("cargo::rustc-env=PYTHON_SHIM_PYTHON_LIB={python_lib}");

    let torch_lib = env::var("DEP_TCH_LIBTORCH_LIB").unwrap_or_default();
    println!("cargo::metadata=torch_lib={torch_lib}");
    println!("cargo::rustc-env=PYTHON_SHIM_TORCH_LIB={torch_lib}");

    let python = config.executable().unwrap_or_default();
    println!("cargo::metadata=python={python}");
    println!("cargo::rustc-env=PYTHON_SHIM_PYTHON={python}");

    if env::var_os("CARGO_FEATURE_EXTENSION_MODULE").is_none() {
        link_own_tests(python_lib, &torch_lib);
    }
}

/// Lets this crate's tests and examples find both libraries, and keeps the CUDA half of libtorch,
/// of which no symbol is named in Rust.
fn link_own_tests(python_lib: &str, torch_lib: &str) {
    let cuda = Path::new(torch_lib).join("libtorch_cuda.so").exists();
    let libraries = if cuda {
        "-ltorch_cuda,-ltorch"
    } else {
        "-ltorch"
    };
    println!("cargo::rustc-link-search=native={torch_lib}");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{python_lib}");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{torch_lib}");
    println!("cargo::rustc-link-arg=-Wl,--push-state,--no-as-needed,{libraries},--pop-state");
}
