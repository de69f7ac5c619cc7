//! What environments are asked for in another thread, since they may never answer.

use std::{
    mem, process, thread,
    time::{Duration, Instant},
};

use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

use crate::{
    envs::EnvThread,
    files::proc_value,
    stop::{LOOK, StopRequest},
};

/// How long an answer may take once a stop was asked for. Environments that are well give theirs within
/// milliseconds, thousands of them within seconds.
const ONCE_ASKED: Duration = Duration::from_secs(5);

/// How long they may take to notice that their workers were ended.
const NOTICING: Duration = Duration::from_secs(2);

/// How long environments may take to close.
const CLOSING: Duration = Duration::from_secs(10);

/// Does `work` with `env` in another thread. `None` where a stop was asked for and it is not done: workers are
/// ended, what still runs is left to that thread, and `env` is [`Gone`].
pub(super) fn aside<Done: Send + 'static>(
    env: &mut Box<dyn VecEnv>,
    stop: &StopRequest,
    work: impl FnOnce(&mut (dyn VecEnv + 'static)) -> Done + Send + 'static,
) -> Option<Done> {
    let mut asked = None;
    unless(env, work, || {
        stop.is_asked() && asked.get_or_insert_with(Instant::now).elapsed() >= ONCE_ASKED
    })
}

/// Closes environments, whatever they do about it; says what went wrong, if anything did.
pub fn close(env: &mut Box<dyn VecEnv>) -> Option<String> {
    let began = Instant::now();
    match unless(env, VecEnv::close, || began.elapsed() >= CLOSING) {
        Some(Ok(())) => None,
        Some(Err(error)) => Some(format!("the environments do not close: {error}")),
        None => {
            let seconds = CLOSING.as_secs();
            Some(format!(
                "the environments did not close within {seconds} s; they end with the program"
            ))
        }
    }
}

fn unless<Done: Send + 'static>(
    env: &mut Box<dyn VecEnv>,
    work: impl FnOnce(&mut (dyn VecEnv + 'static)) -> Done + Send + 'static,
    mut is_over: impl FnMut() -> bool,
) -> Option<Done> {
    let gone = Box::new(Gone(BatchSpec {
        backend: Gone::BACKEND.to_owned(),
        ..env.spec().clone()
    }));
    let workers = env.worker_pids();
    let thread = EnvThread::new();
    thread.hand_over(mem::replace(env, gone), work);
    while !is_over() {
        if let Some((back, done)) = thread.wait(Some(LOOK)) {
            *env = back;
            return Some(done.unwrap_or_else(|panic| panic.resume()));
        }
    }
    let thread = thread.leave();
    workers.into_iter().for_each(end);
    let began = Instant::now();
    while !thread.is_finished() && began.elapsed() < NOTICING {
        thread::sleep(LOOK);
    }
    None
}

/// Ends a worker, if it is one still: another process may have its number by now.
fn end(worker: u32) {
    let parent = proc_value(&format!("/proc/{worker}/status"), "PPid");
    if parent.and_then(|parent| parent.parse().ok()) != Some(process::id()) {
        return;
    }
    #[expect(
        unsafe_code,
        reason = "std ends no process but the ones that it started"
    )]
    // SAFETY: sends a signal to a child of this process.
    unsafe {
        libc::kill(worker.cast_signed(), libc::SIGKILL);
    }
}

/// What stands for environments that were given up.
struct Gone(BatchSpec);

impl Gone {
    const BACKEND: &'static str = "gone";

    fn error() -> EnvError {
        EnvError::Unsupported("they did not answer when the run was stopped".to_owned())
    }
}

/// Whether environments were given up.
pub(super) fn is_gone(env: &dyn VecEnv) -> bool {
    env.backend() == Gone::BACKEND
}

impl VecEnv for Gone {
    fn spec(&self) -> &BatchSpec {
        &self.0
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [u8]) -> Result<(), EnvError> {
        Err(Self::error())
    }

    fn send(&mut self, _actions: Actions<'_>, _obs: ObsSlot) -> Result<(), EnvError> {
        Err(Self::error())
    }

    fn recv_timeout(
        &mut self,
        _step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        Err(Self::error())
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        Err(Self::error())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        Ok(())
    }
}
