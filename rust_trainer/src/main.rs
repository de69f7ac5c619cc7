//! The program `rust_trainer`; everything is in the library.

use std::io::{self, Write};

fn main() {
    rust_trainer::heap::prepare();
    let status = rust_trainer::cli::run(std::env::args_os().collect());
    end(status)
}

/// Ends the process where it stands. What C and C++ libraries do at an exit would take their data away under
/// a thread that was left to itself, such as one that makes environments when a stop is asked for: one Ctrl-C
/// in six while the program started ended in SIGSEGV.
fn end(status: i32) -> ! {
    let _ = io::stdout().flush();
    #[expect(
        unsafe_code,
        reason = "std has no way to end without the handlers of exit"
    )]
    // SAFETY: it only ends the process.
    unsafe {
        libc::_exit(status)
    }
}
