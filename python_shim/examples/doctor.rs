//! Prints what this process runs on; fails when something is wrong.

use std::process::ExitCode;

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() -> ExitCode {
    let facts = python_shim::doctor::facts();
    print!("{facts}");
    if facts.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
