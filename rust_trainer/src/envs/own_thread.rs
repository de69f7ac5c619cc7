//! [`OwnThread`]: environments that step in the thread which waits for them, in a thread of their own, so
//! that a wait can end before a step does.

use std::{
    mem, panic,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError},
    },
    thread,
    time::Duration,
};

use vec_env::{ActionSpace, Actions, AutoresetMode, EnvError, ObsSlot, ObsSpec, StepBatch, VecEnv};

/// Moves environments to a thread where they step in the one that waits for them, and may hang: those of a user's
/// own module (`module:Name-v0`). Others do not pay for it, some 0.15 ms a step.
pub(super) fn if_needed(env_id: &str, env: Box<dyn VecEnv>) -> Box<dyn VecEnv> {
    match env.backend() {
        "sync" if env_id.contains(':') => Box::new(OwnThread::new(env)),
        _ => env,
    }
}

type Shared = Arc<Mutex<Box<dyn VecEnv>>>;
type Received = (StepBatch, thread::Result<Result<(), EnvError>>);

/// A batch whose [`VecEnv::recv`] runs in another thread; all else runs in the caller's while nothing is
/// received.
///
/// A step that never ends keeps the batch: whatever else is asked of it is refused, and closing it leaves it
/// to the end of the process.
struct OwnThread {
    inner: Shared,
    obs_spec: ObsSpec,
    action_space: ActionSpace,
    backend: String,
    num_envs: usize,
    num_players: usize,
    batch_size: usize,
    autoreset: AutoresetMode,
    /// Where the thread takes a batch to fill from; it ends with this.
    to_fill: Sender<StepBatch>,
    filled: Receiver<Received>,
    /// The thread receives.
    is_receiving: bool,
}

impl OwnThread {
    fn new(env: Box<dyn VecEnv>) -> Self {
        let (to_fill, batches) = mpsc::channel();
        let (sender, filled) = mpsc::channel();
        let own = Self {
            obs_spec: env.obs_spec().clone(),
            action_space: env.action_space().clone(),
            backend: env.backend().to_owned(),
            num_envs: env.num_envs(),
            num_players: env.num_players(),
            batch_size: env.batch_size(),
            autoreset: env.autoreset_mode(),
            inner: Arc::new(Mutex::new(env)),
            to_fill,
            filled,
            is_receiving: false,
        };
        let inner = Arc::clone(&own.inner);
        thread::spawn(move || receive(&inner, &batches, &sender));
        own
    }

    /// The batch, which nothing is received from.
    fn idle(&mut self, call: &str) -> Result<MutexGuard<'_, Box<dyn VecEnv>>, EnvError> {
        if self.is_receiving {
            match self.filled.try_recv() {
                Ok(_) => self.is_receiving = false,
                Err(TryRecvError::Empty) => {
                    return Err(EnvError::Order(format!(
                        "{call}: the environments are still in a step"
                    )));
                }
                Err(TryRecvError::Disconnected) => return Err(EnvError::Closed),
            }
        }
        Ok(self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn receive(&mut self, step: &mut StepBatch, timeout: Option<Duration>) -> Result<(), EnvError> {
        if !self.is_receiving {
            let sent = self.to_fill.send(mem::take(step));
            sent.map_err(|_| EnvError::Closed)?;
            self.is_receiving = true;
        }
        let received = match timeout {
            Some(timeout) => self.filled.recv_timeout(timeout),
            None => self.filled.recv().map_err(RecvTimeoutError::from),
        };
        match received {
            Ok((batch, result)) => {
                self.is_receiving = false;
                *step = batch;
                result.unwrap_or_else(|payload| panic::resume_unwind(payload))
            }
            Err(RecvTimeoutError::Timeout) => Err(EnvError::Timeout),
            Err(RecvTimeoutError::Disconnected) => Err(EnvError::Closed),
        }
    }
}

/// What the thread does.
fn receive(inner: &Shared, batches: &Receiver<StepBatch>, filled: &Sender<Received>) {
    for mut batch in batches {
        let mut env = inner.lock().unwrap_or_else(PoisonError::into_inner);
        let received = panic::catch_unwind(panic::AssertUnwindSafe(|| env.recv(&mut batch)));
        drop(env);
        if filled.send((batch, received)).is_err() {
            return;
        }
    }
}

impl VecEnv for OwnThread {
    fn num_envs(&self) -> usize {
        self.num_envs
    }

    fn obs_spec(&self) -> &ObsSpec {
        &self.obs_spec
    }

    fn action_space(&self) -> &ActionSpace {
        &self.action_space
    }

    fn backend(&self) -> &str {
        &self.backend
    }

    fn num_players(&self) -> usize {
        self.num_players
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.autoreset
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.idle("reset")?.reset(seed, obs)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.idle("send")?.send(actions, obs)
    }

    fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
        self.receive(step, None)
    }

    fn recv_timeout(&mut self, step: &mut StepBatch, timeout: Duration) -> Result<(), EnvError> {
        self.receive(step, Some(timeout))
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        self.idle("restart_workers")?.restart_workers()
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.idle("save_state")?.save_state()
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        self.idle("restore_state")?.restore_state(states, obs)
    }

    fn close(&mut self) -> Result<(), EnvError> {
        if self.idle("close").is_err() {
            let problem = "they are in a step that does not end, except with the program";
            return Err(EnvError::Order(problem.to_owned()));
        }
        self.idle("close")?.close()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use vec_env::{ObsBuffer, SyncVecEnv, envs::CartPole};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    fn cart_poles() -> Box<dyn VecEnv> {
        Box::new(SyncVecEnv::new(3, |index| CartPole::new(index as u64)).unwrap())
    }

    /// Each step waits for a word.
    struct Waits(Box<dyn VecEnv>, Receiver<()>);

    impl VecEnv for Waits {
        fn num_envs(&self) -> usize {
            self.0.num_envs()
        }

        fn obs_spec(&self) -> &ObsSpec {
            self.0.obs_spec()
        }

        fn action_space(&self) -> &ActionSpace {
            self.0.action_space()
        }

        fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
            self.0.reset(seed, obs)
        }

        fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
            self.0.send(actions, obs)
        }

        fn recv(&mut self, step: &mut StepBatch) -> Result<(), EnvError> {
            let _ = self.1.recv();
            self.0.recv(step)
        }

        fn close(&mut self) -> Result<(), EnvError> {
            self.0.close()
        }
    }

    #[test]
    fn steps_are_those_of_the_batch_inside() {
        let play = |mut env: Box<dyn VecEnv>| {
            let mut obs = vec![0; 3 * env.obs_spec().num_bytes()];
            let (mut step, mut seen) = (StepBatch::default(), Vec::new());
            env.reset(Some(7), &mut obs).unwrap();
            for _ in 0..50 {
                env.step(Actions::Discrete(&[1, 0, 1]), &mut obs, &mut step)
                    .unwrap();
                seen.push((obs.clone(), step.clone()));
            }
            env.close().unwrap();
            seen
        };
        assert_eq!(
            play(Box::new(OwnThread::new(cart_poles()))),
            play(cart_poles())
        );
    }

    #[test]
    fn a_wait_ends_before_the_step_does_and_what_it_brings_is_not_lost() {
        let (go_on, word) = mpsc::channel();
        let mut env = OwnThread::new(Box::new(Waits(cart_poles(), word)));
        let buffer = ObsBuffer::new(3 * env.obs_spec().num_bytes());
        let mut step = StepBatch::default();
        env.reset(Some(7), &mut buffer.slot()).unwrap();
        env.send(Actions::Discrete(&[1, 0, 1]), buffer.slot())
            .unwrap();
        let began = Instant::now();
        for _ in 0..2 {
            let waited = env.recv_timeout(&mut step, PATIENCE);
            assert_eq!(waited, Err(EnvError::Timeout));
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        for refused in [env.save_state().map(drop), env.close()] {
            assert!(matches!(refused, Err(EnvError::Order(_))), "{refused:?}");
        }
        go_on.send(()).unwrap();
        env.recv(&mut step).unwrap();
        assert_eq!(step.reward, [1.0; 3]);
        assert!(buffer.take().iter().any(|byte| *byte != 0));
        env.close().unwrap();
    }
}
