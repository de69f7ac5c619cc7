//! A training run: step, learn, report, save, until it is done or asked to stop. Which algorithm learns
//! it does not know.

mod action_space;
mod arithmetic;
pub mod aside;
mod checkpoint;
pub mod checkpoints;
pub mod evaluate;
mod evaluation;
mod failure;
pub mod files;
pub(crate) mod folder;
mod in_memory;
pub mod machine;
mod replay_file;
mod resume;
mod saving;
mod start;
mod stored;
mod update;
pub mod versus;
mod wait;

use std::{
    collections::BTreeMap,
    mem,
    path::{Path, PathBuf},
    time::Instant,
};

use vec_env::{EnvError, StepBatch, VecEnv};

use crate::{
    algorithms::Algorithm,
    error::TrainerError,
    panics::catch_panics,
    ranks::{Game, Pace, Ranks},
    report::{Evaluation, RunReport},
    settings::Settings,
    stop::StopRequest,
};
pub use checkpoint::{Checkpoint, Counters, EnvStates};
use evaluation::Evaluator;
pub use folder::RunFolder;
use in_memory::InMemory;
pub use resume::Resume;
use update::Times;
use wait::{GracePeriod, Restarts, receive};

/// Settings that a resumed run may change: they say how far and where, not what is learned.
pub const CHANGEABLE: &[&str] = &[
    "total_steps",
    "device",
    "precision",
    "cuda_graphs",
    "cuda_streams",
    "torch_threads",
    "env_threads",
    "env_timeout",
    "checkpoint_every",
    "keep_checkpoints",
    "eval_every",
    "eval_episodes",
    "eval_num_envs",
    "eval_greedy",
    "img_dir",
];

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Finished,
    /// It was asked to stop; a checkpoint is written.
    Stopped,
}

/// What became of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// How far it came.
    pub counters: Counters,
    /// Mean raw return of the last true games, and how many they are: 100 if as many ended.
    pub mean_return: Option<(f64, usize)>,
    /// In self-play, whose returns say nothing: mean length in agent steps of the same games.
    pub mean_length: Option<(f64, usize)>,
    /// The evaluation that the best checkpoint is of, where the run is evaluated.
    pub best: Option<Evaluation>,
    /// How often workers that failed were made anew.
    pub worker_restarts: u64,
    /// The picture of the learning curve.
    pub curve: PathBuf,
}

/// A training run and its folder.
pub struct Run {
    folder: RunFolder,
    settings: Settings,
    arithmetic: BTreeMap<String, String>,
    env: Box<dyn VecEnv>,
    algorithm: Box<dyn Algorithm>,
    /// How far the environments have come.
    step_count: u64,
    /// How far learning has come: what a checkpoint holds.
    learned: Counters,
    /// Nothing has happened since the last update, or since the run began, that the algorithm's state
    /// does not hold.
    at_boundary: bool,
    /// The agent step of the newest checkpoint.
    saved: Option<u64>,
    notices: Vec<String>,
    report: RunReport,
    step: StepBatch,
    /// Groups of environments whose steps are in flight.
    in_flight: usize,
    restarts: Restarts,
    times: Times,
    in_memory: InMemory,
    evaluator: Option<Evaluator>,
    /// In the midst of an update, which may have failed there.
    is_learning: bool,
    ranks: Ranks,
    /// Games that ended at this rank since the last update.
    games: Vec<Game>,
    pace: Pace,
    /// The signal that any rank had received at the end of the last update, 0 for none.
    agreed_signal: i32,
    /// Whether that was the time to keep a checkpoint in memory.
    agreed_to_keep: bool,
}

impl Run {
    fn new(
        folder: RunFolder,
        settings: Settings,
        env: Box<dyn VecEnv>,
        algorithm: Box<dyn Algorithm>,
        learned: Counters,
        mut report: RunReport,
        ranks: Ranks,
    ) -> Self {
        if settings.env.num_players > 1 {
            report.show_lengths();
        }
        Self {
            folder,
            arithmetic: arithmetic::of(&settings),
            settings,
            env,
            algorithm,
            step_count: learned.step,
            learned,
            at_boundary: true,
            saved: None,
            notices: Vec::new(),
            report,
            step: StepBatch::default(),
            in_flight: 0,
            // They are counted together; those before are rank 0's.
            restarts: Restarts::after(learned.worker_restarts * u64::from(ranks.is_first())),
            times: Times::start(),
            in_memory: InMemory::new(),
            evaluator: None,
            is_learning: false,
            ranks,
            games: Vec::new(),
            pace: Pace::default(),
            agreed_signal: 0,
            agreed_to_keep: false,
        }
    }

    /// The run's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The environments.
    #[must_use]
    pub fn env(&self) -> &dyn VecEnv {
        &*self.env
    }

    /// What learns.
    #[must_use]
    pub fn algorithm(&self) -> &dyn Algorithm {
        &*self.algorithm
    }

    /// What the user should know of how the run started: that the games of a resumed one start anew.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// How far the run has come.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.learned
    }

    /// Trains until all steps are done or `stop` asks for an end, and leaves a checkpoint either way: of
    /// the update in hand, or, where that takes longer than seconds, of the one before.
    ///
    /// # Errors
    /// Environments that fail for good, a full disk, a loss that is not finite; as
    /// [`TrainerError::Run`], which says what is kept.
    pub fn train(mut self, stop: &StopRequest) -> Result<Summary, TrainerError> {
        let outcome = match catch_panics(|| self.iterate(stop)) {
            Ok(outcome) => outcome,
            Err(cause) => return Err(self.fail(cause, stop)),
        };
        self.close_envs();
        Ok(Summary {
            outcome,
            counters: self.learned,
            mean_return: self.report.raw_return_mean(),
            mean_length: self.report.length_mean(),
            best: self.best(),
            worker_restarts: self.restarts.total,
            curve: self.report.finish(self.learned.step)?,
        })
    }

    /// Closes all environments; what is learned is worth no less where they do not.
    fn close_envs(&mut self) {
        let evaluates = self.evaluator.as_mut().map(Evaluator::env);
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
        // Where a stop came before the result of an evaluation, which only the end of an update has.
        let is_updated = self.learned.updated_at == self.learned.step;
        if is_updated && !self.evaluate(stop)? {
            return self.stop_here(stop);
        }
        // They have waited for one another's environments to be made.
        let _ = self.ranks.take_waited();
        let mut grace_period = GracePeriod::new(stop).shared(!self.ranks.is_alone());
        loop {
            // At first this is what a stop broke off, if anything.
            let has_learned = self.learn(&mut grace_period, stop)?;
            if has_learned {
                grace_period.done();
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
                return self.stop_here(stop);
            }
            if has_learned {
                if !self.evaluate(stop)? {
                    return self.stop_here(stop);
                }
                grace_period.begin();
            }
            if self.learned.step >= self.settings.run.total_steps {
                break;
            }
            if !self.step(&mut grace_period, stop)? {
                return self.stop_here(stop);
            }
        }
        self.save(stop)?;
        Ok(Outcome::Finished)
    }

    fn stop_here(&mut self, stop: &StopRequest) -> Result<Outcome, TrainerError> {
        self.save(stop)?;
        Ok(Outcome::Stopped)
    }

    /// One step of every environment of a group, those that are in turn; `false` where a stop was asked
    /// for and they do not answer. Meanwhile the other groups' steps are begun, as far as the algorithm
    /// goes.
    fn step(
        &mut self,
        grace_period: &mut GracePeriod<'_>,
        stop: &StopRequest,
    ) -> Result<bool, TrainerError> {
        self.at_boundary = false;
        let num_groups = self.env.num_envs() / self.env.batch_size();
        while self.in_flight < num_groups && self.algorithm.can_act() {
            let acting = Instant::now();
            let actions = self.algorithm.act()?;
            self.times.act += acting.elapsed();

            let sending = Instant::now();
            let slot = self.algorithm.next_obs();
            self.env.send(actions.as_actions(), slot)?;
            self.in_flight += 1;
            self.times.env += sending.elapsed();
        }
        let receiving = Instant::now();
        if !self.receive(grace_period, stop)? {
            return Ok(false);
        }
        self.in_flight -= 1;
        self.times.env += receiving.elapsed();

        self.step_count += (self.env.batch_size() * self.ranks.count()) as u64;
        self.algorithm.observe(&self.step)?;
        self.report.lives(&self.step.lives);
        let first = self.ranks.share(self.settings.env.num_rows()).start;
        for episode in &self.step.episodes {
            self.games.push((
                self.step_count,
                first + episode.env,
                episode.raw_return,
                episode.length as u64,
                episode.frames as u64,
            ));
        }
        if self.ranks.is_alone() {
            let games = mem::take(&mut self.games);
            self.report_games(games)?;
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

    /// Receives the step in flight; workers that failed are made anew.
    fn receive(
        &mut self,
        grace_period: &mut GracePeriod<'_>,
        stop: &StopRequest,
    ) -> Result<bool, TrainerError> {
        loop {
            match receive(&mut *self.env, &mut self.step, grace_period) {
                Err(error @ EnvError::Worker { .. }) => {
                    let (env, report) = (&mut self.env, &mut self.report);
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
