//! Keeps SIGINT with whoever handles it.
//!
//! The first import of Python's `signal` module in a process installs Python's own handler where
//! SIGINT has its default action, even in an interpreter that was told to install none. Ctrl-C would
//! then only set a flag that no Python code ever looks at.

use std::{mem::MaybeUninit, ptr};

/// Remembers the action of SIGINT and puts it back when dropped.
pub(crate) struct KeepSigint(Option<libc::sigaction>);

impl KeepSigint {
    #[expect(unsafe_code, reason = "libc::sigaction")]
    pub(crate) fn new() -> Self {
        let mut action = MaybeUninit::uninit();
        // SAFETY: with a null new action the call only writes the present one.
        let status = unsafe { libc::sigaction(libc::SIGINT, ptr::null(), action.as_mut_ptr()) };
        // SAFETY: status 0 says that the action was written.
        Self((status == 0).then(|| unsafe { action.assume_init() }))
    }
}

impl Drop for KeepSigint {
    #[expect(unsafe_code, reason = "libc::sigaction")]
    fn drop(&mut self) {
        if let Some(action) = &self.0 {
            // SAFETY: `action` is one that the system reported for this process.
            unsafe { libc::sigaction(libc::SIGINT, action, ptr::null_mut()) };
        }
    }
}
