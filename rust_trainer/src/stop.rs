//! Ctrl-C, SIGTERM and SIGHUP: the first asks the program to stop at the next safe point, the second
//! ends it at once.
//!
//! The handlers are installed anew for each use, with `sigaction`, and what was there is put back: in a
//! Python process the same program may run several times, and others handle signals in between.

use std::{
    io::{self, Write},
    mem, ptr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use libc::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ, c_int, sigaction};

use crate::panics;

/// What a shell expects of a program that a signal ended.
const EXIT_BASE: i32 = 128;

/// How long what is in hand may still take once a stop was asked for.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// How long work that may take long is waited for without a word.
const SILENCE: Duration = Duration::from_secs(3);

/// How soon a wait notices that a stop was asked for.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The signal that arrived, 0 for none. Static, since a handler has nothing else to write to.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// What handled the signals before, while there are handlers of ours.
static INSTALLED: Mutex<Installed> = Mutex::new(Installed {
    users: 0,
    before: Vec::new(),
});

/// When the first signal came, in milliseconds; 0 before.
static FIRST_CAME: AtomicI64 = AtomicI64::new(0);

/// A signal so soon after the first is the same one: `timeout` sends it to a program and then to its group.
const ECHO: i64 = 200;

/// Whether a signal is answered with a line: among several ranks one says it.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Lets signals be answered in silence.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Ordering::SeqCst);
}

struct Installed {
    users: usize,
    before: Vec<(c_int, sigaction)>,
}

/// Whether, and by which signal, the program was asked to stop. What handled signals before is put back
/// when the last one is dropped.
#[derive(Debug)]
pub struct StopRequest {
    asked: Arc<AtomicI32>,
    hears_signals: bool,
    /// How long what is in hand may still take once a stop was asked for.
    pub(crate) grace_period: Duration,
}

impl StopRequest {
    /// This, where signals ask for a stop, too: installs the handlers. SIGHUP stays ignored where it is, as `nohup`
    /// wants it.
    pub fn hearing_signals(mut self) -> io::Result<Self> {
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if installed.users == 0 {
            RECEIVED.store(0, Ordering::SeqCst);
            FIRST_CAME.store(0, Ordering::SeqCst);
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                let before = set_action(signal, &action(note as *const () as usize))?;
                if signal == SIGHUP && before.sa_sigaction == libc::SIG_IGN {
                    set_action(signal, &before)?;
                }
                installed.before.push((signal, before));
            }
            // A file that grows past `ulimit -f` is a write that fails, which is told, and not the end.
            let before = set_action(SIGXFSZ, &action(libc::SIG_IGN))?;
            installed.before.push((SIGXFSZ, before));
        }
        installed.users += 1;
        self.hears_signals = true;
        Ok(self)
    }

    /// One that no signal reaches, for programs that stop by other means.
    #[must_use]
    pub fn never() -> Self {
        Self {
            asked: Arc::default(),
            hears_signals: false,
            grace_period: GRACE_PERIOD,
        }
    }

    /// This, where what is in hand when a stop is asked for may take so long, instead of a second.
    #[must_use]
    pub fn with_grace_period(mut self, grace_period: Duration) -> Self {
        self.grace_period = grace_period;
        self
    }

    /// Asks to stop as Ctrl-C does.
    pub fn ask(&self) {
        self.asker()();
    }

    /// What asks to stop as Ctrl-C does, from anywhere.
    pub(crate) fn asker(&self) -> impl Fn() + use<> {
        let asked = Arc::clone(&self.asked);
        move || asked.store(SIGINT, Ordering::SeqCst)
    }

    /// Asks for a stop as `signal` would: another rank received it.
    pub(crate) fn ask_by(&self, signal: i32) {
        if !self.is_asked() {
            self.asked.store(signal, Ordering::SeqCst);
        }
    }

    /// Whether the program was asked to stop.
    pub(crate) fn is_asked(&self) -> bool {
        self.signal() != 0
    }

    /// The exit status that tells the shell which signal it was: 130 for Ctrl-C.
    pub(crate) fn exit_status(&self) -> i32 {
        EXIT_BASE + self.signal()
    }

    /// The signal that asked for it, 0 for none.
    pub(crate) fn signal(&self) -> i32 {
        match self.asked.load(Ordering::SeqCst) {
            0 if self.hears_signals => RECEIVED.load(Ordering::SeqCst),
            asked => asked,
        }
    }

    /// Does `work` in a thread of its own and waits for it, or until a stop is asked for: `None` then,
    /// and the thread is left to itself. For what may block for long with nothing to lose; a line says `what` does.
    pub fn unless_asked<T: Send + 'static>(
        &self,
        what: Option<&str>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(panics::held(work)).is_ok());
        let began = Instant::now();
        let mut what = what.filter(|_| !IS_QUIET.load(Ordering::SeqCst));
        loop {
            if began.elapsed() >= SILENCE
                && let Some(what) = what.take()
            {
                let _ = writeln!(io::stderr(), "{what} …");
            }
            match receiver.recv_timeout(LOOK) {
                Ok(result) => return Some(result.unwrap_or_else(|panic| panic.resume())),
                Err(RecvTimeoutError::Timeout) if !self.is_asked() => {}
                Err(_) => return None,
            }
        }
    }
}

impl Drop for StopRequest {
    fn drop(&mut self) {
        if !self.hears_signals {
            return;
        }
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        installed.users -= 1;
        if installed.users == 0 {
            for (signal, before) in installed.before.drain(..) {
                let _ = set_action(signal, &before);
            }
        }
    }
}

/// The handler. Only what POSIX calls async-signal-safe may happen here.
extern "C" fn note(signal: c_int) {
    const TEXT: &[u8] =
        b"\nstopping at the next safe point; a second signal ends the program at once\n";
    let now = milliseconds();
    let first = FIRST_CAME.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst);
    if first.is_err_and(|first| now - first < ECHO) {
        return;
    }
    RECEIVED.store(signal, Ordering::SeqCst);
    #[expect(unsafe_code, reason = "async-signal-safe functions of libc")]
    // SAFETY: `_exit` and `write` may be called in a signal handler; the text is static; `errno` belongs
    // to this thread, and whoever was interrupted finds it as it was.
    unsafe {
        if first.is_err() {
            libc::_exit(EXIT_BASE + signal);
        }
        if IS_QUIET.load(Ordering::SeqCst) {
            return;
        }
        let errno = *libc::__errno_location();
        libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
        *libc::__errno_location() = errno;
    }
}

/// Of a clock that only goes on.
fn milliseconds() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    #[expect(unsafe_code, reason = "an async-signal-safe function of libc")]
    // SAFETY: it writes to `now`, which is there.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
    }
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// An action that goes on with system calls that it interrupts.
fn action(handler: usize) -> sigaction {
    #[expect(unsafe_code, reason = "a C struct")]
    // SAFETY: `sigaction` is a plain struct, for which zeros mean no flags and an empty mask.
    let mut action: sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    action
}

/// Sets what a signal does; returns what it did before.
fn set_action(signal: c_int, new: &sigaction) -> io::Result<sigaction> {
    let mut before = action(libc::SIG_DFL);
    #[expect(unsafe_code, reason = "libc::sigaction")]
    // SAFETY: both pointers are to structs that live through the call; `note` is async-signal-safe.
    let status = unsafe { sigaction(signal, ptr::from_ref(new), ptr::from_mut(&mut before)) };
    if status == 0 {
        Ok(before)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raise(signal: c_int) {
        #[expect(unsafe_code, reason = "libc::raise")]
        // SAFETY: sends this thread a signal that is handled here.
        let status = unsafe { libc::raise(signal) };
        assert_eq!(status, 0);
    }

    /// One test, since handlers are the whole process's.
    #[test]
    fn signals_are_heard_each_time_whatever_was_set_between() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A shell starts what runs in the background with SIGINT ignored.
            set_action(signal, &action(libc::SIG_DFL)).unwrap();
            let stop = StopRequest::never().hearing_signals().unwrap();
            assert!(!stop.is_asked());
            raise(signal);
            assert!(stop.is_asked());
            assert_eq!(stop.exit_status(), 128 + signal);
            assert!(!StopRequest::never().is_asked());
            drop(stop);
            // What Python's `signal.signal(number, SIG_DFL)` does between two trainings.
            let before = set_action(signal, &action(libc::SIG_DFL)).unwrap();
            assert_eq!(before.sa_sigaction, libc::SIG_DFL, "put back");
        }
        let ignored = set_action(SIGHUP, &action(libc::SIG_IGN)).unwrap();
        let stop = StopRequest::never().hearing_signals().unwrap();
        raise(SIGHUP);
        assert!(!stop.is_asked(), "nohup");
        drop(stop);
        set_action(SIGHUP, &ignored).unwrap();
    }

    #[test]
    fn work_that_blocks_is_left_to_itself_when_a_stop_is_asked_for() {
        let stop = StopRequest::never();
        assert_eq!(stop.unless_asked(None, || 3), Some(3));
        stop.ask();
        let (_open, never) = mpsc::channel::<()>();
        assert_eq!(stop.unless_asked(None, move || never.recv().is_ok()), None);
        assert_eq!(stop.exit_status(), 130);
    }
}
