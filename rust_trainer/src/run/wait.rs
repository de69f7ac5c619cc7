//! Waiting for environments without losing sight of a request to stop.

use std::time::{Duration, Instant};

use vec_env::{EnvError, StepBatch, VecEnv};

use super::aside::aside;
use crate::{
    report::RunReport,
    stop::{LOOK, StopRequest},
};

/// Whether a stop was asked for, and whether what is in hand ends soon enough to be waited for.
#[derive(Debug)]
pub struct GracePeriod<'a> {
    pub stop: &'a StopRequest,
    noticed: Option<Instant>,
    began: Instant,
    /// How long the last piece of work took.
    took: Option<Duration>,
    /// Other ranks are in the same piece of work, which ends for all of them or for none.
    is_shared: bool,
}

impl<'a> GracePeriod<'a> {
    /// With a request that may come at any time; work begins now.
    pub fn new(stop: &'a StopRequest) -> Self {
        Self {
            stop,
            noticed: None,
            began: Instant::now(),
            took: None,
            is_shared: false,
        }
    }

    /// This, where nothing in hand is given up if `is_shared`.
    pub fn shared(self, is_shared: bool) -> Self {
        Self { is_shared, ..self }
    }

    /// Notes that a piece of work is done: the next one will take about as long.
    pub fn done(&mut self) {
        self.took = Some(self.began.elapsed());
    }

    /// Notes that the next piece of work begins now.
    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// Whether a stop was asked for and what is in hand is given up: it has taken the grace period since then,
    /// or will, for the last one took longer.
    pub fn is_over(&mut self) -> bool {
        if self.is_shared || !self.stop.is_asked() {
            return false;
        }
        let now = Instant::now();
        let end = *self.noticed.get_or_insert(now) + self.stop.grace_period;
        now >= end || self.took.is_some_and(|took| self.began + took > end)
    }
}

/// Receives the step in flight. `false`: a stop was asked for and the environments do not answer.
pub fn receive(
    env: &mut dyn VecEnv,
    step: &mut StepBatch,
    grace_period: &mut GracePeriod<'_>,
) -> Result<bool, EnvError> {
    loop {
        match env.recv_timeout(step, Some(LOOK)) {
            Ok(()) => return Ok(true),
            Err(EnvError::Timeout) if grace_period.is_over() => return Ok(false),
            Err(EnvError::Timeout) => {}
            Err(error) => return Err(error),
        }
    }
}

/// How often failed workers are restarted before the environments count as broken.
#[derive(Debug, Default)]
pub struct Restarts {
    /// All of them.
    pub total: u64,
    in_this_step: u32,
    lately: u32,
    quiet_steps: u32,
}

impl Restarts {
    const IN_ONE_STEP: u32 = 1;
    const LATELY: u32 = 5;
    const QUIET_STEPS: u32 = 100;

    /// Of a run with `total` before it went on.
    pub fn after(total: u64) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Notes a failure; whether the workers may be restarted. Not so where the same step fails twice,
    /// nor after five failures with fewer than 100 steps of the batch between one and the next.
    pub fn allow(&mut self) -> bool {
        self.in_this_step += 1;
        self.lately += 1;
        self.quiet_steps = 0;
        let allowed = self.in_this_step <= Self::IN_ONE_STEP && self.lately <= Self::LATELY;
        self.total += u64::from(allowed);
        allowed
    }

    /// Makes the workers of `env` anew after `error`, and says so. `false`: a stop was asked for, and they are
    /// not made yet.
    ///
    /// # Errors
    /// `error`, where they may not be restarted; workers that fail again.
    pub fn mend(
        &mut self,
        env: &mut Box<dyn VecEnv>,
        error: EnvError,
        report: &mut RunReport,
        stop: &StopRequest,
    ) -> Result<bool, EnvError> {
        if !self.allow() {
            return Err(error);
        }
        let Some(restarted) = aside(env, stop, VecEnv::restart_workers) else {
            return Ok(false);
        };
        let restarted = restarted?;
        let list: Vec<_> = restarted.iter().map(ToString::to_string).collect();
        report.message(&format!(
            "{error}; restarted: environments {}",
            list.join(", ")
        ));
        Ok(true)
    }

    /// Notes a step that is complete.
    pub fn step_done(&mut self) {
        self.in_this_step = 0;
        self.quiet_steps += 1;
        if self.quiet_steps >= Self::QUIET_STEPS {
            self.lately = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_soon_is_waited_for_and_what_does_not_is_given_up_at_once() {
        const SECOND: Duration = Duration::from_secs(1);
        let stop = StopRequest::never();
        let mut grace_period = GracePeriod::new(&stop);
        let ago = |time| Instant::now().checked_sub(time).unwrap();
        assert!(!grace_period.is_over(), "nobody asked");
        stop.ask();
        assert!(
            !grace_period.is_over(),
            "how long it takes is not known yet"
        );
        grace_period.took = Some(3 * SECOND / 2);
        assert!(grace_period.is_over(), "it takes longer");
        grace_period.began = ago(SECOND);
        assert!(!grace_period.is_over(), "half a second is left of it");
        grace_period.noticed = Some(ago(2 * SECOND));
        assert!(grace_period.is_over(), "it took longer than the last one");
    }

    #[test]
    fn a_step_that_fails_twice_and_failures_too_often_end_it() {
        let mut restarts = Restarts::default();
        assert!(restarts.allow());
        assert!(!restarts.allow(), "twice in a row");
        let mut restarts = Restarts::default();
        for _ in 0..5 {
            assert!(restarts.allow());
            (0..10).for_each(|_| restarts.step_done());
        }
        assert!(!restarts.allow(), "too often");
        (0..100).for_each(|_| restarts.step_done());
        assert!(restarts.allow(), "long ago");
        assert_eq!(restarts.total, 6);
    }
}
