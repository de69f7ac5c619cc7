//! Trains the runs of a plan that are not finished, several at a time.

use std::{collections::VecDeque, thread};

use super::{
    children::{self, AtWork, Program},
    division::Division,
    plan::{Plan, PlannedRun},
};
use crate::{
    error::TrainerError,
    report::{progress::Progress, running::GameWindow},
    stop::{LOOK, StopRequest},
};

/// What became of the runs that were not finished before.
#[derive(Debug, Default)]
pub struct Trained {
    /// Runs that failed, each with the last words of its process.
    pub failed: Vec<(PlannedRun, String)>,
    /// A stop was asked for; runs at work have left a checkpoint.
    pub stopped: bool,
}

impl Trained {
    fn fail(&mut self, run: PlannedRun, words: String, progress: &mut Progress) {
        progress.message(&format!("{run}: {words}"));
        self.failed.push((run, words));
    }
}

/// The words behind the program's name that start each run of `plan` which is not finished, or go on with it:
/// for who starts them otherwise than [`train`].
pub fn commands(plan: &Plan, division: &Division) -> Result<Vec<Vec<String>>, TrainerError> {
    let total = plan.settings.run.total_steps;
    let runs = plan.runs().into_iter();
    let unfinished = runs.filter(|run| !run.is_finished(total));
    let commands = unfinished.map(|run| {
        let words = children::arguments(plan, &run, division)?.into_iter();
        Ok(words
            .map(|word| word.to_string_lossy().into_owned())
            .collect())
    });
    commands.collect()
}

/// Trains what is not finished of `plan`, and shows one line of progress for all. A run that fails does
/// not keep the others from going on.
pub fn train(
    plan: &Plan,
    division: &Division,
    stop: &StopRequest,
) -> Result<Trained, TrainerError> {
    let program = Program::this()?;
    let runs = plan.runs();
    let total = plan.settings.run.total_steps;
    let reached = |run: &PlannedRun| run.step().min(total);
    // Steps of the runs that are not at work, whose tables need not be read again and again.
    let mut resting: u64 = runs.iter().map(reached).sum();
    let mut progress = Progress::new(resting, total * runs.len() as u64);
    let mut waiting: VecDeque<_> = runs
        .iter()
        .filter(|run| !run.is_finished(total))
        .cloned()
        .collect();
    let mut at_work = AtWork::default();
    let mut trained = Trained::default();
    let none = GameWindow::of("return");
    loop {
        while !stop.is_asked() && at_work.0.len() < division.jobs {
            let Some(run) = waiting.pop_front() else {
                break;
            };
            match program.start(plan, run.clone(), division) {
                Ok(child) => {
                    resting = resting.saturating_sub(reached(&run));
                    at_work.0.push(child);
                }
                Err(error) => trained.fail(run, error.to_string(), &mut progress),
            }
        }
        if stop.is_asked() {
            at_work.stop();
        }
        let mut place = 0;
        while let Some(child) = at_work.0.get_mut(place) {
            let Some(ended) = child.ended()? else {
                place += 1;
                continue;
            };
            let child = at_work.0.remove(place);
            resting += reached(&child.run);
            match ended {
                Ok(()) => progress.message(&format!("{}: done", child.run)),
                Err(_) if stop.is_asked() => trained.stopped = true,
                Err(words) => trained.fail(child.run.clone(), words, &mut progress),
            }
        }
        let working: u64 = at_work.0.iter().map(|child| reached(&child.run)).sum();
        progress.update(resting + working);
        progress.tick(resting + working, &none);
        if at_work.0.is_empty() && (waiting.is_empty() || stop.is_asked()) {
            trained.stopped |= !waiting.is_empty();
            return Ok(trained);
        }
        thread::sleep(LOOK);
    }
}
