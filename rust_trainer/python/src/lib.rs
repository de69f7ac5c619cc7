//! The Python module `rust_trainer._rust_trainer`: the program, inside a Python process.

python_shim::extension_module!(
    _rust_trainer,
    rust_trainer::cli::run,
    rust_trainer::cli::run_heard
);
