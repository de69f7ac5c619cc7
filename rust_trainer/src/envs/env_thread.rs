//! [`EnvThread`]: environments in another thread for a piece of work that may never end.

use std::{
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use vec_env::VecEnv;

use crate::panics::{self, Panic};

type Work<Done> = Box<dyn FnOnce(&mut (dyn VecEnv + 'static)) -> Done + Send>;

/// A thread to which environments are handed over with a piece of work, and which hands them back with what
/// came of it. It ends with this, once its work is done; environments that nobody waits for are closed then.
pub(crate) struct EnvThread<Done> {
    work: Sender<(Box<dyn VecEnv>, Work<Done>)>,
    done: Receiver<(Box<dyn VecEnv>, Result<Done, Panic>)>,
    thread: JoinHandle<()>,
}

impl<Done: Send + 'static> EnvThread<Done> {
    pub fn new() -> Self {
        let (work, to_do) = mpsc::channel::<(Box<dyn VecEnv>, Work<Done>)>();
        let (sender, done) = mpsc::channel();
        let thread = thread::spawn(move || {
            for (mut env, work) in to_do {
                let came = panics::held(|| work(&mut *env));
                if let Err(mpsc::SendError((mut late, _))) = sender.send((env, came)) {
                    let _nobody_asks = late.close();
                }
            }
        });
        Self { work, done, thread }
    }

    /// Has `work` done with `env`; wait for it before the next is handed over.
    pub fn hand_over(
        &self,
        env: Box<dyn VecEnv>,
        work: impl FnOnce(&mut (dyn VecEnv + 'static)) -> Done + Send + 'static,
    ) {
        // The thread takes work for as long as this is there.
        let _taken = self.work.send((env, Box::new(work)));
    }

    /// The environments and what came of the work, a panic included; `None` where it is not done within
    /// `timeout`.
    pub fn wait(
        &self,
        timeout: Option<Duration>,
    ) -> Option<(Box<dyn VecEnv>, Result<Done, Panic>)> {
        match timeout {
            Some(timeout) => self.done.recv_timeout(timeout).ok(),
            None => self.done.recv().ok(),
        }
    }

    /// Gives up what is not done, and tells which thread still does it.
    pub fn leave(self) -> JoinHandle<()> {
        self.thread
    }
}
