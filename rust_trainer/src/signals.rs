//! Ctrl-C and SIGTERM: the first asks the program to stop at the next safe point, the second ends it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use signal_hook::{
    SigId,
    consts::{SIGINT, SIGTERM},
    flag, low_level,
};

/// What a shell expects of a program that a signal ended.
const EXIT_BASE: i32 = 128;

/// Whether, and by which signal, the program was asked to stop. Handlers are removed when it is dropped.
#[derive(Debug)]
pub struct StopRequest {
    signal: Arc<AtomicUsize>,
    handlers: Vec<SigId>,
}

impl StopRequest {
    /// Installs the handlers.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn install() -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let asked = Arc::new(AtomicBool::new(false));
        let mut handlers = Vec::new();
        for number in [SIGINT, SIGTERM] {
            handlers.push(flag::register_conditional_shutdown(
                number,
                EXIT_BASE + number,
                Arc::clone(&asked),
            )?);
            handlers.push(flag::register(number, Arc::clone(&asked))?);
            handlers.push(flag::register_usize(
                number,
                Arc::clone(&signal),
                number as usize,
            )?);
        }
        Ok(Self { signal, handlers })
    }

    /// One that no signal reaches, for programs that stop by other means.
    #[must_use]
    pub fn never() -> Self {
        Self {
            signal: Arc::default(),
            handlers: Vec::new(),
        }
    }

    /// Asks to stop as Ctrl-C does.
    pub fn ask(&self) {
        self.signal.store(SIGINT as usize, Ordering::Relaxed);
    }

    /// Whether the program was asked to stop.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// The exit status that tells the shell which signal it was: 130 for Ctrl-C.
    #[must_use]
    pub fn exit_status(&self) -> i32 {
        EXIT_BASE + self.signal.load(Ordering::Relaxed) as i32
    }
}

impl Drop for StopRequest {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}
