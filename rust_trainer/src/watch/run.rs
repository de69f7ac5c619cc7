//! [`WatchedRun`]: a run as its files tell it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::{games::Games, process, tail::Tail, updates::Updates};
use crate::{
    error::TrainerError,
    files,
    report::Evaluation,
    run::checkpoints,
    settings::{FILE_OF_RUN, Settings},
};

/// A run of another machine that wrote something so recently is taken to go on.
const RECENT: Duration = Duration::from_secs(60);

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// It wrote nothing yet.
    Waiting,
    /// This process works on it, or one of another machine.
    Running(Option<u32>),
    /// All its steps are done.
    Finished,
    /// It was stopped, or came to an end for another reason.
    Stopped,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Happening {
    pub step: u64,
    pub text: String,
    /// It is what a user waits for.
    pub is_good: bool,
}

/// A run, as far as it has been read.
pub(crate) struct WatchedRun {
    folder: PathBuf,
    /// The last part of its path.
    pub(super) name: String,
    pub(super) settings: Option<Settings>,
    /// When the file of the settings was written that was read.
    settings_of: Option<SystemTime>,
    pub(super) games: Games,
    pub(super) updates: Updates,
    evaluation_table: Tail,
    pub(super) evaluations: Vec<Evaluation>,
    checkpoints: Vec<u64>,
    /// The agent steps from which it was started.
    starts: Vec<u64>,
    pub(super) state: State,
    /// When it last wrote something.
    pub(super) written: Option<SystemTime>,
    /// What could not be read.
    pub(super) problem: Option<String>,
}

impl WatchedRun {
    /// Whether a run stands in a folder.
    pub(super) fn is_in(folder: &Path) -> bool {
        [FILE_OF_RUN, "episodes.csv", "machine.json"]
            .iter()
            .any(|name| folder.join(name).is_file())
    }

    /// The run in `folder`, of which nothing is read yet.
    pub fn in_folder(folder: &Path) -> Self {
        let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            name: name.into_owned(),
            folder: folder.to_owned(),
            settings: None,
            settings_of: None,
            games: Games::in_folder(folder, false),
            updates: Updates::in_folder(folder),
            evaluation_table: Tail::new(folder.join("evaluations.csv")),
            evaluations: Vec::new(),
            checkpoints: Vec::new(),
            starts: Vec::new(),
            state: State::Waiting,
            written: None,
            problem: None,
        }
    }

    /// Reads what the run wrote since. What cannot be read is said in its place, and read again the next time.
    pub fn read(&mut self) {
        self.problem = self.try_read().err().map(|error| error.to_string());
        self.written = ["episodes.csv", "updates.csv", FILE_OF_RUN]
            .iter()
            .filter_map(|name| modified(&self.folder.join(name)))
            .max();
        self.state = self.judge(process::working_in(&self.folder), SystemTime::now());
    }

    /// Reads all; the first problem is told, and what follows read all the same where it can be.
    fn try_read(&mut self) -> Result<(), TrainerError> {
        let settings = self.read_settings();
        settings.and(self.read_tables())
    }

    fn read_tables(&mut self) -> Result<(), TrainerError> {
        self.games.read()?;
        self.updates.read()?;
        self.read_evaluations()?;
        let listed = checkpoints::list(&self.folder.join("checkpoints"))?;
        self.checkpoints = listed
            .iter()
            .filter_map(|path| checkpoints::files::step_of(path))
            .collect();
        self.starts = starts(&self.folder.join("machine.json"));
        Ok(())
    }

    /// Reads the settings where their file is new: a run that goes on may have more steps to do.
    fn read_settings(&mut self) -> Result<(), TrainerError> {
        let written = modified(&self.folder.join(FILE_OF_RUN));
        if written.is_none() || written == self.settings_of {
            return Ok(());
        }
        let settings = Settings::in_folder(&self.folder)?;
        if self.settings.is_none()
            && settings
                .as_ref()
                .is_some_and(|settings| settings.env.num_players > 1)
        {
            self.games = Games::in_folder(&self.folder, true);
        }
        (self.settings, self.settings_of) = (settings, written);
        Ok(())
    }

    fn read_evaluations(&mut self) -> Result<(), TrainerError> {
        let new = self.evaluation_table.read()?;
        if new.starts_anew {
            self.evaluations.clear();
        }
        self.evaluations.extend(new.rows::<Evaluation>());
        Ok(())
    }

    fn judge(&self, working: Option<u32>, now: SystemTime) -> State {
        let is_recent = self
            .written
            .is_some_and(|written| now.duration_since(written).is_ok_and(|age| age < RECENT));
        match (working, self.written) {
            (Some(_), _) => State::Running(working),
            (None, None) => State::Waiting,
            _ if self.total_steps().is_some_and(|total| self.step() >= total) => State::Finished,
            _ if is_recent && !process::was_started_here(&self.folder) => State::Running(None),
            _ => State::Stopped,
        }
    }

    /// What learns what: `PongNoFrameskip-v4 with PPO, seed 1`.
    pub(super) fn title(&self) -> String {
        self.settings.as_ref().map_or_else(String::new, |settings| {
            format!(
                "{} with {}, seed {}",
                settings.env.env_id,
                settings.algorithm.algorithm().name().to_uppercase(),
                settings.run.seed
            )
        })
    }

    /// Agent steps so far.
    pub(super) fn step(&self) -> u64 {
        let of_games = self.games.last.front().map_or(0, |game| game.step);
        self.updates
            .last("step")
            .map_or(0, |step| step as u64)
            .max(of_games)
    }

    /// Agent steps in the end.
    pub(super) fn total_steps(&self) -> Option<u64> {
        self.settings
            .as_ref()
            .map(|settings| settings.run.total_steps)
    }

    /// Seconds of training so far.
    pub(super) fn seconds(&self) -> f64 {
        let of_games = self.games.last.front().map_or(0.0, |game| game.seconds);
        self.updates.last("seconds").unwrap_or(0.0).max(of_games)
    }

    /// Agent steps per second over all of the run.
    pub(super) fn mean_speed(&self) -> Option<f64> {
        let seconds = self.seconds();
        (seconds > 0.0).then(|| self.step() as f64 / seconds)
    }

    /// Seconds to the end, at the present speed.
    pub(super) fn seconds_left(&self) -> Option<f64> {
        let speed = self.updates.speed().or_else(|| self.mean_speed())?;
        let left = self.total_steps()?.saturating_sub(self.step());
        (speed > 0.0).then(|| left as f64 / speed)
    }

    /// The evaluation with the highest mean, the first among equals.
    pub(super) fn best_evaluation(&self) -> Option<&Evaluation> {
        self.evaluations
            .iter()
            .reduce(|best, row| if row.mean > best.mean { row } else { best })
    }

    /// What happened, the newest first.
    pub(super) fn happenings(&self) -> Vec<Happening> {
        let mut found = Vec::new();
        let mut add = |step, text, is_good| {
            found.push(Happening {
                step,
                text,
                is_good,
            });
        };
        for &step in &self.starts {
            let text = if step == 0 { "started" } else { "resumed" };
            add(step, text.to_owned(), false);
        }
        for &step in &self.checkpoints {
            add(step, "checkpoint".to_owned(), false);
        }
        if let Some((mean, step)) = self.games.best {
            add(step, format!("best mean {mean:.1} of 100 games"), true);
        }
        let mut best = f64::NEG_INFINITY;
        for row in &self.evaluations {
            let is_best = row.mean > best;
            best = best.max(row.mean);
            let mark = if is_best { "best " } else { "" };
            let text = format!("{mark}eval {:.1} ± {:.1}", row.mean, row.std);
            add(row.step, text, is_best);
        }
        if self.state == State::Finished {
            add(self.step(), "done".to_owned(), true);
        }
        found.sort_by_key(|happening| happening.step);
        found.reverse();
        found
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// The agent steps from which a run was started, as its machines tell.
fn starts(path: &Path) -> Vec<u64> {
    let machine = files::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let machine: Value = machine.unwrap_or_default();
    let earlier = machine["earlier"].as_array().into_iter().flatten();
    earlier
        .chain([&machine])
        .filter_map(|start| start["from_step"].as_u64())
        .collect()
}
