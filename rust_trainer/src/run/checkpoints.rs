//! The checkpoints of a run's folder: which there are, and which is taken.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Checkpoint, RunFolder, checkpoint::EXTENSION, files, replay_file};
use crate::{error::TrainerError, settings::Settings};

/// The checkpoints in `folder`, oldest first.
///
/// # Errors
/// A folder that cannot be listed.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    let mut found = steps(folder)?;
    found.retain(|path| !is_replay(path));
    Ok(found)
}

fn is_replay(path: &Path) -> bool {
    path.to_string_lossy().ends_with(replay_file::ENDING)
}

/// The checkpoints and the replay memories beside them, oldest first.
fn steps(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    let found = entries(folder)?.into_iter();
    let mut found: Vec<_> = found
        .filter_map(|path| Some((step_of(&path)?, path)))
        .collect();
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The agent step that the name of a checkpoint, or of a replay memory beside one, tells; `None` for other files.
fn step_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let stem = name
        .strip_suffix(replay_file::ENDING)
        .or_else(|| name.strip_suffix(EXTENSION)?.strip_suffix('.'))?;
    let digits = stem.strip_prefix("step-")?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// All that is in `folder`, if it is there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = |source| TrainerError::io("list", folder, source);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<Result<_, _>>().map_err(failed)
}

const BEST: &str = "best.safetensors";

/// Where the best checkpoint in `folder` stands, whether there is one or not.
#[must_use]
pub fn path_of_best(folder: &Path) -> PathBuf {
    folder.join(BEST)
}

/// The checkpoint of the run in `run` that did best in evaluations during training, if there is any.
///
/// # Errors
/// A checkpoint that cannot be read.
pub fn best(run: &Path) -> Result<Option<Checkpoint>, TrainerError> {
    let path = path_of_best(&run.join("checkpoints"));
    path.is_file().then(|| Checkpoint::read(&path)).transpose()
}

/// The best checkpoint of the run in the folder `run`.
///
/// # Errors
/// A folder without one; a checkpoint that cannot be read, or is of another run.
pub fn find_best(run: &Path) -> Result<Found, TrainerError> {
    if !run.exists() {
        let problem = "does not exist; name a run's folder";
        return Err(TrainerError::checkpoint(run, problem));
    }
    let settings = RunFolder::settings_in(run);
    let Some(checkpoint) = best(run)? else {
        let problem =
            "holds no best checkpoint; evaluation during training keeps it: train with eval_every";
        return Err(TrainerError::checkpoint(run, problem));
    };
    let path = path_of_best(&run.join("checkpoints"));
    if let Some(settings) = settings? {
        checkpoint.check_belongs(&path, &settings)?;
    }
    Ok(Found {
        path,
        checkpoint,
        damaged: Vec::new(),
    })
}

/// Whether a checkpoint in `folder` has its replay memory beside it.
pub(super) fn has_replay(folder: &Path) -> bool {
    let is_pair = |path: &PathBuf| replay_file::path_beside(path).is_file();
    list(folder).is_ok_and(|found| found.iter().any(is_pair))
}

/// Removes what a write that was broken off left in `folder`: up to gigabytes, under a hidden name.
///
/// # Errors
/// A file that cannot be removed.
pub fn drop_unfinished(folder: &Path) -> Result<(), TrainerError> {
    for path in entries(folder)? {
        if files::is_unfinished(&path) {
            fs::remove_file(&path).map_err(|source| TrainerError::io("remove", &path, source))?;
        }
    }
    Ok(())
}

/// Drops all but the newest `keep` of the checkpoints in `folder`, and of the replay memories all but
/// that of the newest checkpoint.
///
/// # Errors
/// A file that cannot be removed.
pub fn drop_old(folder: &Path, keep: usize) -> Result<(), TrainerError> {
    let checkpoints = list(folder)?;
    let newest = checkpoints
        .last()
        .map(|path| replay_file::path_beside(path));
    let mut replays = steps(folder)?;
    replays.retain(|path| is_replay(path) && Some(path) != newest.as_ref());
    for old in checkpoints.into_iter().rev().skip(keep).chain(replays) {
        fs::remove_file(&old).map_err(|source| TrainerError::io("remove", &old, source))?;
    }
    files::sync_folder(folder).map_err(|source| TrainerError::io("sync", folder, source))
}

/// Renames the checkpoints after `path`, which are damaged, and the replay memories beside them: they must
/// not pass for the newest to keep.
///
/// # Errors
/// A file that cannot be renamed.
pub fn set_damaged_apart(path: &Path) -> Result<(), TrainerError> {
    for newer in list(path.parent().unwrap_or(path))? {
        if *newer > *path {
            set_replay_apart(&newer)?;
            set_apart(&newer)?;
        }
    }
    Ok(())
}

/// Renames the replay memory beside a checkpoint, if there is one: it must not pass for a whole one.
///
/// # Errors
/// A file that cannot be renamed.
pub(super) fn set_replay_apart(checkpoint: &Path) -> Result<(), TrainerError> {
    let replay = replay_file::path_beside(checkpoint);
    if replay.exists() {
        set_apart(&replay)?;
    }
    Ok(())
}

fn set_apart(file: &Path) -> Result<(), TrainerError> {
    fs::rename(file, file.with_extension("damaged"))
        .map_err(|source| TrainerError::io("rename", file, source))
}

/// A checkpoint, where it is, and newer ones that are damaged.
#[derive(Debug)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub checkpoint: Checkpoint,
    /// What is wrong with newer ones.
    pub damaged: Vec<TrainerError>,
}

impl Found {
    /// Refuses a checkpoint in a run's folder that is of another run than that with `settings`, where they are
    /// known, or of another step than its name tells: it would be taken for the newest again and again.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn check(&self, settings: Option<&Settings>) -> Result<(), TrainerError> {
        let Self {
            path, checkpoint, ..
        } = self;
        if let Some(settings) = settings {
            checkpoint.check_belongs(path, settings)?;
        }
        let step = checkpoint.counters.step;
        if step_of(path) == Some(step) {
            return Ok(());
        }
        let name = checkpoint.path_in(Path::new(""));
        Err(TrainerError::checkpoint(
            path,
            format!(
                "is of agent step {step}: rename it to `{}`, or remove it",
                name.display()
            ),
        ))
    }
}

/// The newest checkpoint in `folder` that can be read, if there is any.
///
/// # Errors
/// What is wrong with the newest, where all are damaged; a file that cannot be read, is of another format, or is no
/// checkpoint.
pub fn newest(folder: &Path) -> Result<Option<Found>, TrainerError> {
    let mut damaged = Vec::new();
    for path in list(folder)?.into_iter().rev() {
        match Checkpoint::read(&path) {
            Ok(checkpoint) => {
                if let Err(error) = checkpoint.check_finite() {
                    damaged.push(TrainerError::checkpoint(&path, error));
                    continue;
                }
                return Ok(Some(Found {
                    path,
                    checkpoint,
                    damaged,
                }));
            }
            Err(error @ TrainerError::Checkpoint { .. }) => damaged.push(error),
            // What cannot be read today, or by this program, may be whole.
            Err(error) => return Err(error),
        }
    }
    match damaged.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(None),
    }
}

/// The checkpoint that `path` means: itself, or the newest readable one of the run in that folder.
///
/// # Errors
/// A path that is neither a checkpoint nor a run with one; a checkpoint of another run.
pub fn find(path: &Path) -> Result<Found, TrainerError> {
    if path.is_file() {
        return Ok(Found {
            path: path.to_owned(),
            checkpoint: Checkpoint::read(path)?,
            damaged: Vec::new(),
        });
    }
    if !path.exists() {
        let problem = "does not exist; name a run's folder";
        return Err(TrainerError::checkpoint(path, problem));
    }
    let settings = RunFolder::settings_in(path);
    let Some(found) = newest(&path.join("checkpoints"))? else {
        let problem = "holds no checkpoint; name a run's folder";
        return Err(TrainerError::checkpoint(path, problem));
    };
    found.check(settings?.as_ref())?;
    Ok(found)
}
