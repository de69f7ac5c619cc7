//! Evaluation during training: every so many agent steps the policy plays whole games, in environments
//! and with random numbers of their own, and the best checkpoint so far is kept.
//!
//! Each evaluation plays the same games: what changes from one to the next is the policy, and a resumed
//! run needs to know nothing of those before. Nothing of the run's own is touched, so that it learns bit
//! for bit what it would learn without.

use std::time::Instant;

use vec_env::VecEnv;

use super::{
    Run,
    checkpoints::{self, Checkpoint, EnvStates, files},
    evaluate::{Evaluator, Play, evaluation_of},
};
use crate::{
    error::TrainerError,
    report::Evaluation,
    settings::{RunSettings, Settings},
    stop::StopRequest,
};

/// Keeps the seeds of evaluation apart from those of training: seeds of environments end at 2³⁰.
const SEED_OFFSET: u64 = 1 << 29;

/// What the other ranks wait for while rank 0 plays.
const EVALUATED: &str = "evaluation";

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
        let best = checkpoints::best(self.folder.path()).unwrap_or_else(|error| {
            self.report
                .message(&format!("{error}; the search for the best starts over"));
            None
        });
        if let Some(found) = &best
            && found.checkpoint.counters.step > self.learned.step
        {
            self.report.message(&format!(
                "the best checkpoint is of agent step {}, which this run has gone back behind",
                found.checkpoint.counters.step
            ));
        }
        let settings = &self.settings.run;
        self.evaluator = Some(Evaluator {
            env,
            how: Play {
                num_episodes: settings.eval_episodes * self.env.spec().num_agents,
                seed: settings.seed.wrapping_add(SEED_OFFSET),
                greedy: settings.eval_greedy,
            },
            every: settings.eval_every,
            last: self.report.evaluations().last().map_or(0, |row| row.step),
            best: best.and_then(|found| comparable(&found.checkpoint, &self.settings)),
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
        let is_due = evaluator.is_some_and(|evaluator| evaluator.is_due(learned));
        if !self.ranks.any(is_due)? {
            return Ok(true);
        }
        let goes_on = !self.ranks.is_first() || self.evaluate_here(stop)?;
        self.ranks.wait_for_first(EVALUATED, learned)?;
        Ok(!self.ranks.any(!goes_on)?)
    }

    /// The same at the rank that evaluates.
    fn evaluate_here(&mut self, stop: &StopRequest) -> Result<bool, TrainerError> {
        let Some(evaluator) = &mut self.evaluator else {
            return Ok(true);
        };
        let began = Instant::now();
        let policy = self.algorithm.policy();
        let games = evaluator.play(policy, &mut self.restarts, &mut self.report, stop)?;
        let took = began.elapsed();
        self.report.pause(took);
        if games.len() < evaluator.how.num_episodes {
            return Ok(false);
        }
        let evaluation = evaluation_of(&games, self.learned.step, took.as_secs_f64());
        evaluator.last = evaluation.step;
        let is_best = evaluator
            .best
            .is_none_or(|best| evaluation.mean > best.mean);
        if is_best {
            evaluator.best = Some(evaluation);
            let envs = EnvStates::Missing("the best checkpoint is there to be played".to_owned());
            let mut checkpoint = self.checkpoint(self.algorithm.network_state(), envs)?;
            checkpoint.evaluation = Some(evaluation);
            checkpoint.write(&files::path_of_best(&self.folder.checkpoints()))?;
        }
        // The row comes last: a resumed run plays again what has none.
        let num_agents = self.env.spec().num_agents;
        self.report.evaluation(&evaluation, is_best, num_agents)?;
        Ok(true)
    }
}

/// The score of the best checkpoint, if it is of games as these settings have them played.
fn comparable(best: &Checkpoint, settings: &Settings) -> Option<Evaluation> {
    let way = |run: &RunSettings| (run.eval_episodes, run.eval_num_envs, run.eval_greedy);
    let is_comparable = way(&best.settings.run) == way(&settings.run);
    best.evaluation.filter(|_| is_comparable)
}
