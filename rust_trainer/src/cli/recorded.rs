//! Files of games that were played to their ends: recorded in a folder of their own, from which those
//! that are wanted move to where they were asked for; the rest goes with it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{error::TrainerError, files};

/// A folder to record in, inside the one where files are to be kept.
pub(super) struct Recorded<'a> {
    folder: &'a Path,
    /// Where to record.
    pub unfinished: PathBuf,
    /// The first number that no file in the folder has.
    pub first: usize,
}

impl<'a> Recorded<'a> {
    /// For files whose names end in a number and `ending`, such as `-game0.mp4`.
    pub fn new(folder: &'a Path, ending: &str) -> Result<Self, TrainerError> {
        let unfinished = folder.join(format!(".unfinished-{}", std::process::id()));
        fs::create_dir_all(&unfinished).map_err(TrainerError::io("create", &unfinished))?;
        let numbers = names(folder)?.into_iter().filter_map(|name| {
            let stem = name.strip_suffix(ending)?;
            let digits = stem
                .rsplit(|letter: char| !letter.is_ascii_digit())
                .next()?;
            digits.parse::<usize>().ok()
        });
        Ok(Self {
            folder,
            unfinished,
            first: numbers.max().map_or(0, |highest| highest + 1),
        })
    }

    /// The names of what was recorded, in their order.
    pub fn names(&self) -> Result<Vec<String>, TrainerError> {
        names(&self.unfinished)
    }

    /// Moves a file to where it was asked for, if it was recorded; says whether.
    pub fn keep(&self, recorded: &str, name: &str) -> Result<bool, TrainerError> {
        let path = self.unfinished.join(recorded);
        if !path.exists() {
            return Ok(false);
        }
        fs::rename(&path, self.folder.join(name)).map_err(TrainerError::io("rename", &path))?;
        Ok(true)
    }
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.unfinished);
    }
}

fn names(folder: &Path) -> Result<Vec<String>, TrainerError> {
    let paths = files::list(folder)?.into_iter();
    let names = paths.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let mut names: Vec<_> = names.collect();
    // Numbers have leading zeros up to a length: a longer name is a later one.
    names.sort_by_key(|name| (name.len(), name.clone()));
    Ok(names)
}
