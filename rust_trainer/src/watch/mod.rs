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
    let mut runs = Vec::new();
    for folder in folders {
        runs.extend(
            folders_of_runs(folder)?
                .iter()
                .map(|path| WatchedRun::in_folder(path)),
        );
    }
    Ok(runs)
}

fn folders_of_runs(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    if !folder.is_dir() {
        return Err(TrainerError::Usage(format!(
            "`{}` is no folder: name a run's, such as runs/NAME",
            folder.display()
        )));
    }
    if Plan::is_in(folder) {
        let runs = Plan::open(folder)?.runs();
        return Ok(runs.into_iter().map(|run| run.folder).collect());
    }
    if WatchedRun::is_in(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let mut inside = files::list(folder)?;
    inside.retain(|path| WatchedRun::is_in(path));
    inside.sort();
    // A run that wrote nothing yet has an empty folder.
    Ok(if inside.is_empty() {
        vec![folder.to_owned()]
    } else {
        inside
    })
}
