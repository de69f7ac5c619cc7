//! The loop of a run: act, step, learn, save, evaluate.

use std::time::Instant;

use vec_env::EnvError;

use super::{
    Outcome, Run, Summary, aside,
    wait::{GracePeriod, receive},
};
use crate::{
    error::TrainerError,
    panics::catch_panics,
    report::{Episode, running::GameWindow},
    stop::StopRequest,
};

impl Run {
    /// Trains until all steps are done or `stop` asks for an end, and leaves a checkpoint either way: of
    /// the update in hand, or, where that takes longer than seconds, of the one before.
    ///
    /// # Errors
    /// Environments that fail for good, a full disk, a loss that is not finite; as
    /// [`TrainerError::Run`], which says what is kept.
    pub fn train(mut self, stop: &StopRequest) -> Result<Summary, TrainerError> {
        let trained = catch_panics(|| {
            let outcome = self.iterate(stop)?;
            self.save(stop)?;
            Ok(outcome)
        });
        let outcome = match trained {
            Ok(outcome) => outcome,
            Err(cause) => return Err(self.fail(cause, stop)),
        };
        self.close_envs();
        Ok(Summary {
            outcome,
            counters: self.learned,
            num_agents: self.settings.env.num_agents.max(1),
            mean_return: self.report.games.mean_and_count(),
            mean_length: (self.report.lengths.as_ref()).and_then(GameWindow::mean_and_count),
            best: self.evaluator.as_ref().and_then(|evaluator| evaluator.best),
            worker_restarts: self.restarts.total,
            curve: self.report.finish(self.learned.step)?,
        })
    }

    /// Closes all environments; what is learned is worth no less where they do not.
    pub(super) fn close_envs(&mut self) {
        let evaluates = self.evaluator.as_mut().map(|evaluator| &mut evaluator.env);
        for env in evaluates.into_iter().chain([&mut self.env]) {
            if let Some(problem) = aside::close(env) {
                self.report.message(&problem);
            }
        }
    }

    fn iterate(&mut self, stop: &StopRequest) -> Result<Outcome, TrainerError> {
        let evaluates = self.settings.run.eval_every > 0 && self.ranks.is_first();
        if evaluates && self.evaluator.is_none() {
            let problem = "needs environments to evaluate in".to_owned();
            let every = self.settings.run.eval_every;
            return Err(TrainerError::setting("eval_every", every, problem));
        }
        // Where a stop came before the result of an evaluation, or a clip, which only the end of an update has.
        let is_updated = self.learned.updated_at == self.learned.step;
        if is_updated {
            if !self.evaluate(stop)? {
                return Ok(Outcome::Stopped);
            }
            self.film(stop)?;
        }
        if self.past_selves_are_empty() {
            self.add_past_self()?;
        }
        // They have waited for one another's environments to be made.
        let _ = self.ranks.take_waited();
        let mut grace_period = GracePeriod::new(stop).shared(!self.ranks.is_alone());
        loop {
            // At first this is what a stop broke off, if anything.
            let has_learned = self.learn(&mut grace_period)?;
            if has_learned {
                grace_period.done();
                if self.is_past_self_due() {
                    self.add_past_self()?;
                }
            }
            let may_stop = has_learned || grace_period.is_over();
            let stopping = may_stop && self.is_stop_agreed(stop);
            let every = self.settings.run.checkpoint_every;
            let is_due = self.learned.step / every > self.saved.unwrap_or(0) / every;
            if stopping || (has_learned && is_due) {
                self.save(stop)?;
            } else if has_learned {
                self.keep(stop)?;
            }
            // Several ranks stop together; where the environments of one are gone, its next step says so.
            if stopping || (self.ranks.is_alone() && aside::is_gone(&*self.env)) {
                return Ok(Outcome::Stopped);
            }
            if has_learned {
                if !self.evaluate(stop)? {
                    return Ok(Outcome::Stopped);
                }
                self.film(stop)?;
                grace_period.begin();
            }
            if self.learned.step >= self.settings.run.total_steps {
                return Ok(Outcome::Finished);
            }
            if !self.step(&mut grace_period)? {
                return Ok(Outcome::Stopped);
            }
        }
    }

    /// One step of every environment of a group, those that are in turn; `false` where a stop was asked
    /// for and they do not answer. Meanwhile the other groups' steps are begun, as far as the algorithm
    /// goes.
    fn step(&mut self, grace_period: &mut GracePeriod<'_>) -> Result<bool, TrainerError> {
        self.at_boundary = false;
        let num_groups = self.env.num_envs() / self.env.batch_size();
        while self.in_flight < num_groups && self.algorithm.can_act() {
            let acting = Instant::now();
            let actions = self.algorithm.act()?;
            // On a GPU this may be seen before the loss is; an environment would say that it is given nonsense.
            if !actions.is_finite() {
                return Err(TrainerError::Diverged("an action"));
            }
            self.times.act += acting.elapsed();

            let sending = Instant::now();
            let slot = self.algorithm.next_obs();
            self.env.send(actions.as_actions(), slot)?;
            self.in_flight += 1;
            self.times.env += sending.elapsed();
        }
        let receiving = Instant::now();
        if !self.receive(grace_period)? {
            return Ok(false);
        }
        self.in_flight -= 1;
        self.times.env += receiving.elapsed();

        self.step_count += (self.env.batch_size() * self.ranks.count()) as u64;
        self.algorithm.observe(&self.step)?;
        self.report.lives(&self.step.lives);
        let first = self.ranks.rank() * self.env.num_envs();
        let settings = &self.settings.env;
        for episode in &self.step.episodes {
            self.games.push(Episode {
                step: self.step_count,
                env: settings.row_in_tables(first + episode.env, self.ranks.count()),
                raw_return: episode.raw_return,
                length: episode.length as u64,
                frames: episode.frames as u64,
                seconds: 0.0, // the report says
            });
        }
        if self.ranks.is_alone() {
            let mut games = self.games.drain(..);
            games.try_for_each(|game| self.report.episode(game))?;
        }
        self.report.tick(self.step_count)?;
        if self.algorithm.is_whole_between_steps() {
            self.learned.step = self.step_count;
            self.learned.seconds = self.report.seconds();
            self.learned.worker_restarts = self.restarts.total;
            self.count_rows();
            self.at_boundary = true;
        }
        Ok(true)
    }

    /// Receives the step in flight; failed workers are restarted.
    fn receive(&mut self, grace_period: &mut GracePeriod<'_>) -> Result<bool, TrainerError> {
        loop {
            match receive(&mut *self.env, &mut self.step, grace_period) {
                Err(error @ EnvError::Worker { .. }) => {
                    let (env, report) = (&mut self.env, &mut self.report);
                    // Several ranks stop together.
                    let (never, is_alone) = (StopRequest::never(), self.ranks.is_alone());
                    let stop = if is_alone { grace_period.stop } else { &never };
                    if !self.restarts.mend(env, error, report, stop)? {
                        return Ok(false);
                    }
                }
                received => {
                    self.restarts.step_done();
                    return Ok(received?);
                }
            }
        }
    }
}
