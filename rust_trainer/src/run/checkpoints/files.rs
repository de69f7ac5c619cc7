//! The files of checkpoints in a folder: how they are named, which there are, which are dropped or set apart.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{error::TrainerError, files};

/// How the name of a checkpoint ends.
const ENDING: &str = ".safetensors";
/// How that of a replay memory ends, which lies beside its checkpoint.
const REPLAY_ENDING: &str = ".replay.safetensors";

/// Where the checkpoint of an agent step stands in `folder`.
pub(in crate::run) fn path_of(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:012}{ENDING}"))
}

/// Where the best checkpoint stands in `folder`, whether there is one or not.
pub(in crate::run) fn path_of_best(folder: &Path) -> PathBuf {
    folder.join("best.safetensors")
}

/// Where the replay memory of a checkpoint stands, whether there is one or not.
pub(super) fn path_of_replay(checkpoint: &Path) -> PathBuf {
    let stem = checkpoint.file_stem().unwrap_or_default();
    checkpoint.with_file_name(format!("{}{REPLAY_ENDING}", stem.to_string_lossy()))
}

/// The checkpoints in `folder`, oldest first.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    list_by_step(folder, ENDING)
}

/// The agent step that the name of a checkpoint tells; `None` for other files.
pub(crate) fn step_of(path: &Path) -> Option<u64> {
    step_before(ENDING, path)
}

fn step_before(ending: &str, path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_prefix("step-")?.strip_suffix(ending)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

fn list_by_step(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, TrainerError> {
    let found = entries(folder)?.into_iter();
    let with_step = found.filter_map(|path| Some((step_before(ending, &path)?, path)));
    let mut found: Vec<_> = with_step.collect();
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    if folder.exists() {
        files::list(folder)
    } else {
        Ok(Vec::new())
    }
}

/// Whether a checkpoint in `folder` has its replay memory beside it.
pub(super) fn has_replay(folder: &Path) -> bool {
    let is_pair = |path: &PathBuf| path_of_replay(path).is_file();
    list(folder).is_ok_and(|found| found.iter().any(is_pair))
}

/// Removes what a write that was broken off left in `folder`: up to gigabytes, under a hidden name.
pub(in crate::run) fn drop_unfinished(folder: &Path) -> Result<(), TrainerError> {
    let found = entries(folder)?;
    let mut unfinished = found.iter().filter(|path| files::is_unfinished(path));
    unfinished.try_for_each(|path| remove(path))
}

/// Drops all but the newest `keep` of the checkpoints in `folder`, and of the replay memories all but
/// that of the newest checkpoint.
pub(in crate::run) fn drop_old(folder: &Path, keep: usize) -> Result<(), TrainerError> {
    let checkpoints = list(folder)?;
    let newest = checkpoints.last().map(|path| path_of_replay(path));
    let mut replays = list_by_step(folder, REPLAY_ENDING)?;
    replays.retain(|path| Some(path) != newest.as_ref());
    let mut old = checkpoints.iter().rev().skip(keep).chain(&replays);
    old.try_for_each(|path| remove(path))?;
    files::sync_folder(folder).map_err(TrainerError::io("sync", folder))
}

fn remove(path: &Path) -> Result<(), TrainerError> {
    fs::remove_file(path).map_err(TrainerError::io("remove", path))
}

/// Renames the checkpoints after `path`, which are damaged, and the replay memories beside them: they must
/// not pass for the newest to keep.
pub(in crate::run) fn set_damaged_apart(path: &Path) -> Result<(), TrainerError> {
    for newer in list(path.parent().unwrap_or(path))? {
        if *newer > *path {
            set_replay_apart(&newer)?;
            set_apart(&newer)?;
        }
    }
    Ok(())
}

/// Renames the replay memory beside a checkpoint, if there is one: it must not pass for a whole one.
pub(in crate::run) fn set_replay_apart(checkpoint: &Path) -> Result<(), TrainerError> {
    let replay = path_of_replay(checkpoint);
    if replay.exists() {
        set_apart(&replay)
    } else {
        Ok(())
    }
}

fn set_apart(file: &Path) -> Result<(), TrainerError> {
    fs::rename(file, file.with_extension("damaged")).map_err(TrainerError::io("rename", file))
}
