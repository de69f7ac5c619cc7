//! A run as its files tell it, while it goes on in another process, after its end, or before it wrote anything: a
//! view in the terminal, or a summary in a few lines.
//!
//! `run` reads what a run writes, of tables only what is new (`tail`), and keeps what is shown of it (`games`,
//! `updates`, `series`); `shown` says which of it, as keys choose; `view` draws that, and `app` is
//! the loop. Nothing here writes, or locks.

mod app;
mod games;
mod process;
mod run;
mod series;
mod shown;
mod summary;
mod tail;
#[cfg(test)]
mod tests;
mod updates;
mod view;

use std::path::{Path, PathBuf};

pub(crate) use app::show;
pub(crate) use run::WatchedRun;
pub(crate) use summary::summary;

use crate::{error::TrainerError, files, seeds::Plan};

/// The runs in `folders`: each is one, or a folder of `seeds` and stands for all of its runs.
pub(crate) fn runs_in(folders: &[PathBuf]) -> Result<Vec<WatchedRun>, TrainerError> {
    let mut all = Vec::new();
    for folder in folders {
        all.extend(folders_of_runs(folder)?);
    }
    // A folder may be named twice, and the folder that it is in.
    files::keep_each_once(&mut all);
    Ok(all.iter().map(|path| WatchedRun::in_folder(path)).collect())
}

fn folders_of_runs(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    if !folder.is_dir() {
        return Err(TrainerError::Usage(format!(
            "`{}` is no folder: name a run's, such as runs/NAME",
            folder.display()
        )));
    }
    let inside = Plan::folders_of_runs(folder, WatchedRun::is_in)?;
    if !inside.is_empty() {
        return Ok(inside);
    }
    // That of a run that wrote nothing yet.
    if files::list(folder)?.is_empty() {
        return Ok(vec![folder.to_owned()]);
    }
    Err(TrainerError::Usage(format!(
        "`{}` has no run, nor folders that have one: name a run's, such as runs/NAME",
        folder.display()
    )))
}
