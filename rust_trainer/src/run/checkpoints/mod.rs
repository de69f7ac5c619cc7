//! The checkpoints of a run: which there are, and which is taken.

mod action_space;
mod checkpoint;
pub(crate) mod files;
mod replay;
mod tensors;

use std::path::{Path, PathBuf};

pub use checkpoint::{Checkpoint, Counters, EnvStates};
pub use files::list;

use crate::{error::TrainerError, settings::Settings};

/// The folder in a run's folder with the past selves that it plays against.
pub(crate) const OPPONENTS: &str = "opponents";

/// A checkpoint, where it is, and newer ones that are damaged.
#[derive(Debug)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub checkpoint: Checkpoint,
    /// What is wrong with newer ones.
    pub damaged: Vec<TrainerError>,
}

impl Found {
    /// A checkpoint that was not chosen among several.
    pub(super) fn alone(path: PathBuf, checkpoint: Checkpoint) -> Self {
        Self {
            path,
            checkpoint,
            damaged: Vec::new(),
        }
    }

    /// Refuses a checkpoint in a run's folder that is of another run than that with `settings`, where they are
    /// known, or of another step than its name tells: it would be taken for the newest again and again.
    pub(super) fn check(&self, settings: Option<&Settings>) -> Result<(), TrainerError> {
        if let Some(settings) = settings {
            self.checkpoint.check_belongs(&self.path, settings)?;
        }
        let step = self.checkpoint.counters.step;
        if files::step_of(&self.path) == Some(step) {
            return Ok(());
        }
        let name = files::path_of(Path::new(""), step);
        let problem = format!(
            "is of agent step {step}: rename it to `{}`, or remove it",
            name.display()
        );
        Err(TrainerError::checkpoint(&self.path, problem))
    }
}

/// The newest checkpoint in `folder` that can be read, if there is any.
///
/// # Errors
/// What is wrong with the newest, where all are damaged; a file that cannot be read, is of another format, or is no
/// checkpoint.
pub(super) fn newest(folder: &Path) -> Result<Option<Found>, TrainerError> {
    let mut damaged = Vec::new();
    for path in list(folder)?.into_iter().rev() {
        let read = Checkpoint::read(&path).and_then(|checkpoint| {
            let finite = checkpoint.check_finite();
            finite.map_err(|error| TrainerError::checkpoint(&path, error))?;
            Ok(checkpoint)
        });
        match read {
            Ok(checkpoint) => {
                return Ok(Some(Found {
                    path,
                    checkpoint,
                    damaged,
                }));
            }
            Err(error @ TrainerError::Checkpoint(_)) => damaged.push(error),
            // What cannot be read today, or by this program, may be whole.
            Err(error) => return Err(error),
        }
    }
    let older = damaged.len().saturating_sub(1);
    match damaged.into_iter().next() {
        Some(TrainerError::Checkpoint(newest)) if older > 0 => Err(TrainerError::Checkpoint(
            format!("{newest}; the {older} before it cannot be read either"),
        )),
        newest => newest.map_or(Ok(None), Err),
    }
}

/// The checkpoint that `path` means: itself, or the newest readable one of the run in that folder.
///
/// # Errors
/// A path that is neither a checkpoint nor a run with one; a checkpoint of another run.
pub fn find(path: &Path) -> Result<Found, TrainerError> {
    if path.is_file() {
        return Ok(Found::alone(path.to_owned(), Checkpoint::read(path)?));
    }
    check_exists(path)?;
    let settings = Settings::in_folder(path);
    let Some(found) = newest(&path.join("checkpoints"))? else {
        let problem = "holds no checkpoint; name a run's folder";
        return Err(TrainerError::no_checkpoint(path, problem));
    };
    found.check(settings?.as_ref())?;
    Ok(found)
}

/// The checkpoint of the run in the folder `run` that did best in evaluations during training.
///
/// # Errors
/// A folder without one; a checkpoint that cannot be read, or is of another run.
pub fn find_best(run: &Path) -> Result<Found, TrainerError> {
    check_exists(run)?;
    let settings = Settings::in_folder(run);
    let Some(found) = best(run)? else {
        let problem =
            "holds no best checkpoint; evaluation during training keeps it: train with eval_every";
        return Err(TrainerError::no_checkpoint(run, problem));
    };
    if let Some(settings) = settings? {
        found.checkpoint.check_belongs(&found.path, &settings)?;
    }
    Ok(found)
}

/// The files of all networks that the run in the folder `run` has kept, oldest first: its checkpoints, and the
/// past selves that it plays against.
///
/// # Errors
/// A folder without one.
pub(crate) fn all(run: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    check_exists(run)?;
    let mut found = list(&run.join("checkpoints"))?;
    let steps: Vec<_> = found.iter().map(|path| files::step_of(path)).collect();
    let others = list(&run.join(OPPONENTS))?.into_iter();
    found.extend(others.filter(|path| !steps.contains(&files::step_of(path))));
    found.sort_by_key(|path| files::step_of(path));
    if found.is_empty() {
        let problem = "holds no checkpoint; name a run's folder";
        return Err(TrainerError::no_checkpoint(run, problem));
    }
    Ok(found)
}

/// The same, of whatever run, if there is any.
pub(super) fn best(run: &Path) -> Result<Option<Found>, TrainerError> {
    let path = files::path_of_best(&run.join("checkpoints"));
    let checkpoint = path
        .is_file()
        .then(|| Checkpoint::read(&path))
        .transpose()?;
    Ok(checkpoint.map(|checkpoint| Found::alone(path, checkpoint)))
}

fn check_exists(run: &Path) -> Result<(), TrainerError> {
    if run.exists() {
        return Ok(());
    }
    let problem = "does not exist; name a run's folder";
    Err(TrainerError::no_checkpoint(run, problem))
}
