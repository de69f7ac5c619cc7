//! Links the program as `python_shim` says; see its build script.

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_PYTHON_SHIM_LINK_ARGS");
    let arguments = std::env::var("DEP_PYTHON_SHIM_LINK_ARGS").unwrap_or_default();
    for argument in arguments.split(';').filter(|argument| !argument.is_empty()) {
        println!("cargo::rustc-link-arg={argument}");
    }
}
