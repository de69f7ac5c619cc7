//! Links the program as `python_shim` says (see its build script), and compiles `csrc` against the same
//! libtorch: with CUDA graphs where that has CUDA and CUDA's own headers are there.

use std::{
    env,
    path::{Path, PathBuf},
};

const SOURCES: [&str; 2] = ["csrc/cuda.cpp", "csrc/node.cpp"];

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_PYTHON_SHIM_LINK_ARGS");
    let arguments = env::var("DEP_PYTHON_SHIM_LINK_ARGS").unwrap_or_default();
    for argument in arguments.split(';').filter(|argument| !argument.is_empty()) {
        println!("cargo::rustc-link-arg={argument}");
    }
    compile();
}

fn compile() {
    for name in ["DEP_PYTHON_SHIM_TORCH_LIB", "CUDA_HOME"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=csrc");
    println!("cargo::rustc-check-cfg=cfg(cuda_graphs)");
    let torch_lib = PathBuf::from(env::var_os("DEP_PYTHON_SHIM_TORCH_LIB").unwrap_or_default());
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .files(SOURCES)
        .std("c++20")
        .opt_level(1)
        .flag("-isystem")
        .flag(torch_lib.with_file_name("include"));
    let headers = cuda_headers(&torch_lib);
    if let Some(headers) = &headers {
        build.define("WITH_CUDA_GRAPHS", None);
        build.flag("-isystem").flag(headers);
        println!("cargo::rustc-cfg=cuda_graphs");
    }
    // Lints link nothing, and would compile this a second time.
    if env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|name| name.ends_with("clippy-driver")) {
        return;
    }
    build.compile("rust_trainer_torch");
    println!("cargo::rustc-link-search=native={}", torch_lib.display());
    if headers.is_some() {
        println!("cargo::rustc-link-lib=torch_cuda");
    }
    for library in ["torch_cpu", "c10"] {
        println!("cargo::rustc-link-lib={library}");
    }
}

/// CUDA's headers, where this libtorch has CUDA: those of the Python packages that it comes with, or of a
/// toolkit.
fn cuda_headers(torch_lib: &Path) -> Option<PathBuf> {
    if !torch_lib.join("libtorch_cuda.so").exists() {
        return None;
    }
    let packages = torch_lib.parent()?.parent()?.join("nvidia");
    let toolkit = env::var_os("CUDA_HOME").unwrap_or_else(|| "/usr/local/cuda".into());
    let folders = [
        packages.join("cu13/include"),
        PathBuf::from(toolkit).join("include"),
    ];
    let is_whole = |folder: &PathBuf| {
        let names = ["cuda_runtime.h", "crt/host_config.h"];
        names.iter().all(|name| folder.join(name).exists())
    };
    folders.into_iter().find(is_whole)
}
