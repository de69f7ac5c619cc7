//! The program `rust_trainer`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    rust_trainer::heap::prepare();
    let status = rust_trainer::cli::run(std::env::args_os().collect());
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}
