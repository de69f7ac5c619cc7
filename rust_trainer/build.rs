//! Links the program against the libpython and the libtorch that `python_shim` found.
//!
//! `--no-as-needed -ltorch_cuda -ltorch` keeps the CUDA half of libtorch, of which no symbol is named
//! in Rust and which the linker would drop (tch-rs issues #329, #907, #942, #980). An extension module
//! gets none of this: the process that loads it brings its own Python and its own libtorch.

use std::{env, path::Path};

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_PYTHON_SHIM_TORCH_LIB");
    println!("cargo::rerun-if-env-changed=DEP_PYTHON_SHIM_PYTHON_LIB");
    if env::var_os("CARGO_FEATURE_EXTENSION_MODULE").is_some() {
        return;
    }
    for variable in ["DEP_PYTHON_SHIM_PYTHON_LIB", "DEP_PYTHON_SHIM_TORCH_LIB"] {
        if let Ok(folder) = env::var(variable) {
            println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
        }
    }
    let torch_lib = env::var("DEP_PYTHON_SHIM_TORCH_LIB").unwrap_or_default();
    println!("cargo::rustc-link-search=native={torch_lib}");
    let cuda = Path::new(&torch_lib).join("libtorch_cuda.so").exists();
    let libraries = if cuda {
        "-ltorch_cuda,-ltorch"
    } else {
        "-ltorch"
    };
    println!("cargo::rustc-link-arg=-Wl,--push-state,--no-as-needed,{libraries},--pop-state");
}
