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

/// MKL ends the process by "FATAL ERROR" where the current folder was removed, as soon as its library is loaded:
/// this is called before any library's own code.
#[cfg(target_os = "linux")]
#[used]
#[expect(unsafe_code, reason = "the one place before all libraries")]
// SAFETY: the section holds addresses of functions without arguments, as this is.
#[unsafe(link_section = ".preinit_array")]
static CHECK_FOLDER: extern "C" fn() = check_folder;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "std is not ready yet")]
extern "C" fn check_folder() {
    const TEXT: &[u8] = b"error: the current folder was removed; change to one that is there\n";
    const LENGTH: usize = 4096;
    let mut folder = [0; LENGTH];
    // SAFETY: `folder` is as long as is said and the text static; nothing of std is used, and the C library is
    // ready when the loader calls this.
    unsafe {
        let found = libc::getcwd(folder.as_mut_ptr(), LENGTH);
        if found.is_null() && *libc::__errno_location() == libc::ENOENT {
            libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
            libc::_exit(1);
        }
    }
}
