//! [`OwnThread`]: environments that step in the thread which waits for them, in a thread of their own, so
//! that a wait can end before a step does.

use std::{mem, time::Duration};

use vec_env::{Actions, BatchSpec, EnvError, ObsSlot, StepBatch, VecEnv};

use super::env_thread::EnvThread;

/// Moves environments to a thread where they step in the one that waits for them, and may hang: those of a user's
/// own module (`module:Name-v0`, `pettingzoo:module`). Others do not pay for it, some 0.15 ms a step.
pub(super) fn if_needed(env_id: &str, env: Box<dyn VecEnv>) -> Box<dyn VecEnv> {
    match env.backend() {
        "sync" | "pettingzoo" if env_id.contains(':') => Box::new(OwnThread::new(env)),
        _ => env,
    }
}

/// A batch whose [`VecEnv::recv`] runs in another thread; all else runs in the caller's while nothing is
/// received.
///
/// A step that never ends keeps the batch: whatever else is asked of it is refused, and closing it leaves it
/// to the end of the process.
struct OwnThread {
    spec: BatchSpec,
    /// `None` while the thread receives.
    env: Option<Box<dyn VecEnv>>,
    thread: EnvThread<(StepBatch, Result<(), EnvError>)>,
}

impl OwnThread {
    fn new(env: Box<dyn VecEnv>) -> Self {
        Self {
            spec: env.spec().clone(),
            env: Some(env),
            thread: EnvThread::new(),
        }
    }

    /// The batch, which nothing is received from; what was received meanwhile is dropped.
    fn idle(&mut self, call: &str) -> Result<&mut dyn VecEnv, EnvError> {
        if self.env.is_none() {
            self.env = self.thread.wait(Some(Duration::ZERO)).map(|(env, _)| env);
        }
        match &mut self.env {
            Some(env) => Ok(&mut **env),
            None => Err(EnvError::Order(format!(
                "{call}: the environments are still in a step"
            ))),
        }
    }
}

impl VecEnv for OwnThread {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        self.idle("reset")?.reset(seed, obs)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.idle("send")?.send(actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        if let Some(env) = self.env.take() {
            let mut batch = mem::take(step);
            self.thread.hand_over(env, move |env| {
                let received = env.recv(&mut batch);
                (batch, received)
            });
        }
        let (env, received) = self.thread.wait(timeout).ok_or(EnvError::Timeout)?;
        self.env = Some(env);
        let (batch, received) = received.unwrap_or_else(|panic| panic.resume());
        *step = batch;
        received
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
        let Ok(env) = self.idle("close") else {
            let problem = "they are in a step that does not end, except with the program";
            return Err(EnvError::Order(problem.to_owned()));
        };
        env.close()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Instant};

    use vec_env::{ObsBuffer, SyncVecEnv, envs::CartPole};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    fn cart_poles() -> Box<dyn VecEnv> {
        Box::new(SyncVecEnv::new(3, |index| CartPole::new(index as u64)).unwrap())
    }

    /// Each step waits for a word.
    struct Waits(Box<dyn VecEnv>, mpsc::Receiver<()>);

    impl VecEnv for Waits {
        fn spec(&self) -> &BatchSpec {
            self.0.spec()
        }

        fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
            self.0.reset(seed, obs)
        }

        fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
            self.0.send(actions, obs)
        }

        fn recv_timeout(
            &mut self,
            step: &mut StepBatch,
            timeout: Option<Duration>,
        ) -> Result<(), EnvError> {
            let _ = self.1.recv();
            self.0.recv_timeout(step, timeout)
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
            let waited = env.recv_timeout(&mut step, Some(PATIENCE));
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
