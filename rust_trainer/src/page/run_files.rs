//! What runs have left in their folders, as a page needs it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;
use toml::Table;

use crate::{
    error::TrainerError,
    files,
    report::{EPISODES, EVALUATIONS, Episode, Evaluation, read_rows},
    run::folder::CLIPS,
    seeds::{Games, Plan, score},
    settings::{FILE_OF_RUN, Settings, read_file},
};

/// The numbers of an update by their names; those that were not there are `None`.
pub(crate) type Update = BTreeMap<String, Option<f64>>;

/// One run.
pub(crate) struct RunFiles {
    /// The name of its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The settings that it read; those of a run of an earlier program as they stand in its file.
    pub settings: Table,
    /// What a game came to, in the order of their ends: its raw return, in self-play its length.
    pub games: Vec<Game>,
    /// Its updates. Of a checked-in run it may be every 20th, say.
    pub updates: Vec<Update>,
    /// Its evaluations.
    pub evaluations: Vec<Evaluation>,
    /// What it ran on, as `machine.json` has it.
    pub machine: Value,
}

/// A finished game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Game {
    pub step: u64,
    pub seconds: f64,
    pub value: f64,
}

impl RunFiles {
    /// Reads the run in `folder`.
    ///
    /// # Errors
    /// A folder that is not there or holds no run; a table that cannot be read.
    pub fn read(folder: &Path) -> Result<Self, TrainerError> {
        let settings = settings_of(&folder.join(FILE_OF_RUN))?;
        let is_self_play = is_self_play(&settings);
        let episodes = read_rows::<Episode>(&folder.join(EPISODES))?;
        let games = episodes.iter().filter_map(|game| {
            Some(Game {
                step: game.step,
                seconds: game.seconds,
                value: game.shown(is_self_play)?,
            })
        });
        let games = games.filter(|game| game.value.is_finite()).collect();
        let evaluations = folder.join(EVALUATIONS);
        let machine = files::read(&folder.join("machine.json")).ok();
        let machine = machine.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self {
            name: name_of(folder),
            folder: folder.to_owned(),
            settings,
            games,
            updates: table_of_updates(folder)?.map_or(Ok(Vec::new()), |path| read_rows(&path))?,
            evaluations: if evaluations.exists() {
                read_rows(&evaluations)?
            } else {
                Vec::new()
            },
            machine: machine.unwrap_or_default(),
        })
    }

    /// A setting as text; empty where it has none of that name.
    pub fn setting(&self, name: &str) -> String {
        let text = |value: &toml::Value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        self.settings.get(name).map(text).unwrap_or_default()
    }

    /// One network plays both sides, so that returns say nothing.
    pub fn is_self_play(&self) -> bool {
        is_self_play(&self.settings)
    }

    /// Its score, as [`score`](crate::seeds::score) has it; none of self-play.
    pub fn score(&self) -> Option<f64> {
        let is_scored = !self.is_self_play();
        is_scored.then(|| score(&self.over_steps())).flatten()
    }

    /// Whether it has taken its steps, to a hundredth: what is checked in of a run may end a little before it.
    pub fn is_finished(&self) -> bool {
        let total = self.settings.get("total_steps");
        let total = total.and_then(toml::Value::as_integer).unwrap_or(0);
        100 * self.steps() >= 99 * total.unsigned_abs()
    }

    /// Its games over agent steps.
    pub fn over_steps(&self) -> Games {
        let games = self.games.iter();
        games.map(|game| (game.step, game.value)).collect()
    }

    /// Its games over milliseconds of training.
    pub fn over_time(&self) -> Games {
        let games = self.games.iter();
        let milliseconds = |game: &Game| (1e3 * game.seconds) as u64;
        games.map(|game| (milliseconds(game), game.value)).collect()
    }

    /// Agent steps so far.
    pub fn steps(&self) -> u64 {
        let update = self.updates.last().and_then(|row| number(row, "step"));
        let game = self.games.last().map_or(0, |game| game.step);
        game.max(update.unwrap_or(0.0) as u64)
    }

    /// Seconds of training so far.
    pub fn seconds(&self) -> f64 {
        let update = self.updates.last().and_then(|row| number(row, "seconds"));
        let game = self.games.last().map_or(0.0, |game| game.seconds);
        game.max(update.unwrap_or(0.0))
    }

    /// Recordings of games that lie in its folder.
    pub fn videos(&self) -> Result<Vec<PathBuf>, TrainerError> {
        let mut videos = files::list(&self.folder)?;
        let inside = self.folder.join("videos");
        if inside.is_dir() {
            videos.extend(files::list(&inside)?);
        }
        videos.retain(|path| {
            let ending = path.extension().unwrap_or_default();
            path.is_file() && (ending == "mp4" || ending == "gif")
        });
        // Of clips that were made while it learned the newest is enough; another may be being written.
        let clips = self.folder.join(CLIPS);
        if clips.is_dir() {
            let clips = files::list(&clips)?.into_iter();
            videos.extend(
                clips
                    .filter(|path| path.extension().is_some_and(|ending| ending == "gif"))
                    .max(),
            );
        }
        videos.sort();
        Ok(videos)
    }
}

fn is_self_play(settings: &Table) -> bool {
    let players = settings.get("num_players");
    players.and_then(toml::Value::as_integer) > Some(1)
}

/// A number of an update, if it is one.
pub(super) fn number(update: &Update, name: &str) -> Option<f64> {
    let value = update.get(name).copied().flatten()?;
    value.is_finite().then_some(value)
}

/// The runs that `paths` mean, each once: see [`Plan::folders_of_runs`]; and what was wrong with those that cannot be read.
///
/// # Errors
/// A path without a run; those of [`RunFiles::read`] where no run can be read.
pub(crate) fn open_all(
    paths: &[PathBuf],
) -> Result<(Vec<RunFiles>, Vec<TrainerError>), TrainerError> {
    // A folder that holds settings and no games is that of a checkpoint to play with.
    let is_run =
        |folder: &Path| folder.join(FILE_OF_RUN).is_file() && folder.join(EPISODES).is_file();
    let mut all = Vec::new();
    for path in paths {
        let mut folders = Plan::folders_of_runs(path, is_run)?;
        folders.retain(|folder| is_run(folder));
        if folders.is_empty() {
            return Err(no_run(path));
        }
        all.extend(folders);
    }
    files::keep_each_once(&mut all);
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    for folder in &all {
        match RunFiles::read(folder) {
            Ok(run) => runs.push(run),
            Err(error) => damaged.push(error),
        }
    }
    if runs.is_empty() {
        return Err(damaged.swap_remove(0));
    }
    Ok((runs, damaged))
}

fn no_run(path: &Path) -> TrainerError {
    let problem = if path.is_dir() {
        "has no run that a page can show, with settings.toml and episodes.csv, nor folders that have one"
    } else if path.exists() {
        "is a file; name a run's folder"
    } else {
        "does not exist; name a run's folder"
    };
    TrainerError::Usage(format!("`{}` {problem}", path.display()))
}

/// The settings that a run read. A file of an earlier program, which this one refuses, is taken as it is.
fn settings_of(path: &Path) -> Result<Table, TrainerError> {
    let read = Settings::of_run(path).ok();
    let read = read.and_then(|settings| toml::from_str(&settings.to_toml()).ok());
    read.map_or_else(|| read_file(path), Ok)
}

/// `updates.csv`, or what is checked in of it, such as `updates-every-20th.csv`.
fn table_of_updates(folder: &Path) -> Result<Option<PathBuf>, TrainerError> {
    let mut tables = files::list(folder)?;
    tables.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("updates") && name.ends_with(".csv")
    });
    tables.sort_by_key(|path| path.as_os_str().len());
    Ok(tables.into_iter().next())
}

/// The last name in a path, also where it is `.`.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}
