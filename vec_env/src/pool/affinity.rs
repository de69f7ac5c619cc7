//! Threads on cores of their own, where the system can do that.

use std::{io, thread::JoinHandle};

/// Lets a thread run on one core only.
#[cfg(target_os = "linux")]
pub(super) fn pin_to_core<T>(thread: &JoinHandle<T>, core: usize) -> io::Result<()> {
    use std::os::unix::thread::JoinHandleExt;

    if core >= libc::CPU_SETSIZE as usize {
        let problem = format!(
            "there is no core {core}: the system counts up to {}",
            libc::CPU_SETSIZE
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    #[expect(unsafe_code, reason = "a call of the C library")]
    // SAFETY: a set of cores is plain bits, of which all may be 0; `core` is one of them; the handle keeps the thread.
    let error = unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut cores);
        libc::pthread_setaffinity_np(thread.as_pthread_t(), size_of_val(&cores), &raw const cores)
    };
    match error {
        0 => Ok(()),
        error => {
            let cause = io::Error::from_raw_os_error(error);
            Err(io::Error::new(
                cause.kind(),
                format!("a thread cannot run on core {core}: {cause}"),
            ))
        }
    }
}

/// Refuses: this is known of Linux only.
#[cfg(not(target_os = "linux"))]
pub(super) fn pin_to_core<T>(_thread: &JoinHandle<T>, core: usize) -> io::Result<()> {
    let problem =
        format!("threads can be pinned (to core {core}) on Linux only: leave cores empty");
    Err(io::Error::new(io::ErrorKind::Unsupported, problem))
}
