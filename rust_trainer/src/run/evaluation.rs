//! Evaluation during training: every so many agent steps the policy plays whole games, in environments
//! and with random numbers of their own, and the best checkpoint so far is kept.
//!
//! Each evaluation plays the same games: what changes from one to the next is the policy, and a resumed
//! run needs to know nothing of those before. Nothing of the run's own is touched, so that it learns bit
//! for bit what it would learn without.

use std::time::Instant;

use vec_env::{EnvError, VecEnv};

use super::{
    Checkpoint, EnvStates, Run, checkpoints,
    evaluate::{Game, Play, evaluation_of, play},
};
use crate::{
    error::TrainerError,
    report::Evaluation,
    settings::{RunSettings, Settings},
    stop::StopRequest,
};

/// Keeps the seeds of evaluation apart from those of training: seeds of environments end at 2³⁰.
const SEED_OFFSET: u64 = 1 << 29;

/// Why a best checkpoint has no states of environments.
const BEST: &str = "the best checkpoint is there to be played";
/// What the other ranks wait for while rank 0 plays.
const EVALUATED: &str = "evaluation";

/// What evaluates.
pub(super) struct Evaluator {
    env: Box<dyn VecEnv>,
    play: Play,
    every: u64,
    /// The agent step of the last evaluation.
    last: u64,
    /// The one that the best checkpoint is of.
    best: Option<Evaluation>,
}

impl Evaluator {
    pub(super) fn env(&mut self) -> &mut Box<dyn VecEnv> {
        &mut self.env
    }

    fn is_due(&self, step: u64) -> bool {
        step / self.every > self.last / self.every
    }
}

impl Run {
    /// Evaluates every `eval_every` agent steps in `env`, of [`crate::envs::for_evaluation`].
    ///
    /// # Errors
    /// `eval_every` = 0; environments with other observations or actions than those to learn in.
    pub fn evaluate_in(&mut self, env: Box<dyn VecEnv>) -> Result<(), TrainerError> {
        let settings = &self.settings.run;
        if settings.eval_every == 0 {
            let problem = "means no evaluation".to_owned();
            return Err(TrainerError::setting("eval_every", 0, problem));
        }
        if env.obs_spec() != self.env.obs_spec() || env.action_space() != self.env.action_space() {
            return Err(TrainerError::Usage(format!(
                "`{}` has other observations or actions where it is played for evaluation",
                self.settings.env.env_id
            )));
        }
        let play = Play {
            num_episodes: settings.eval_episodes,
            seed: settings.seed.wrapping_add(SEED_OFFSET),
            greedy: settings.eval_greedy,
        };
        let best = match checkpoints::best(self.folder()) {
            Ok(found) => found.and_then(|best| comparable(&best, &self.settings)),
            Err(error) => {
                let message = format!("{error}; the best is sought anew");
                self.report.message(&message);
                None
            }
        };
        self.evaluator = Some(Evaluator {
            env,
            play,
            every: settings.eval_every,
            last: self.report.evaluations().last().map_or(0, |row| row.step),
            best,
        });
        Ok(())
    }

    /// Evaluates what is learned, if it is time to. `false`: a stop was asked for meanwhile, and there is
    /// no result; the resumed run begins with this evaluation.
    pub(super) fn evaluate(&mut self, stop: &StopRequest) -> Result<bool, TrainerError> {
        if self.settings.run.eval_every == 0 {
            return Ok(true);
        }
        let learned = self.learned.step;
        let evaluator = self.evaluator.as_ref();
        if !self
            .ranks
            .any(evaluator.is_some_and(|one| one.is_due(learned)))?
        {
            return Ok(true);
        }
        if self.ranks.is_alone() {
            return self.evaluate_here(stop, None);
        }
        // A state takes all ranks; what is played has no use for those of the environments.
        let checkpoint = self.checkpoint_to_play(EnvStates::Missing(BEST.to_owned()))?;
        let goes_on = if self.ranks.is_first() {
            let goes_on = self.evaluate_here(stop, Some(checkpoint))?;
            self.ranks.release(EVALUATED, learned)?;
            goes_on
        } else {
            self.ranks.wait_for_release(EVALUATED, learned)?;
            true
        };
        Ok(!self.ranks.any(!goes_on)?)
    }

    /// The same at the rank that evaluates, with the checkpoint of what is learned, if it is there already.
    fn evaluate_here(
        &mut self,
        stop: &StopRequest,
        checkpoint: Option<Checkpoint>,
    ) -> Result<bool, TrainerError> {
        let learned = self.learned.step;
        let began = Instant::now();
        let games = self.play(stop)?;
        let took = began.elapsed();
        self.report.pause(took);
        let Some(evaluator) = &mut self.evaluator else {
            return Ok(true);
        };
        if games.len() < evaluator.play.num_episodes {
            return Ok(false);
        }
        evaluator.last = learned;
        let evaluation = evaluation_of(&games, learned, took.as_secs_f64());
        let best = evaluator.best.map(|best| best.mean);
        let is_best = best.is_none_or(|best| evaluation.mean > best);
        if is_best {
            evaluator.best = Some(evaluation);
        }
        if is_best {
            let mut checkpoint = match checkpoint {
                Some(checkpoint) => checkpoint,
                None => self.checkpoint_to_play(EnvStates::Missing(BEST.to_owned()))?,
            };
            checkpoint.evaluation = Some(evaluation);
            checkpoint.save_best(&self.folder.checkpoints())?;
        }
        // The row comes last: a resumed run plays again what has none.
        self.report.evaluation(&evaluation, is_best)?;
        Ok(true)
    }

    /// The games of an evaluation; all of them anew where a worker fails, and fewer after a stop.
    fn play(&mut self, stop: &StopRequest) -> Result<Vec<Game>, TrainerError> {
        let Some(evaluator) = &mut self.evaluator else {
            return Ok(Vec::new());
        };
        loop {
            let env = &mut evaluator.env;
            let policy = self.algorithm.policy();
            match play(policy, &mut **env, &evaluator.play, stop, |_| Ok(())) {
                Err(TrainerError::Env(error @ EnvError::Worker { .. })) => {
                    if !self.restarts.mend(env, error, &mut self.report, stop)? {
                        return Ok(Vec::new());
                    }
                }
                played => {
                    self.restarts.step_done();
                    return played;
                }
            }
        }
    }

    /// The evaluation that the best checkpoint is of, where the run is evaluated.
    pub(super) fn best(&self) -> Option<Evaluation> {
        self.evaluator.as_ref().and_then(|evaluator| evaluator.best)
    }
}

/// The score of the best checkpoint, if it is of games as these settings have them played.
fn comparable(best: &Checkpoint, settings: &Settings) -> Option<Evaluation> {
    let way = |run: &RunSettings| (run.eval_episodes, run.eval_num_envs, run.eval_greedy);
    let is_comparable = way(&best.settings.run) == way(&settings.run);
    best.evaluation.filter(|_| is_comparable)
}
