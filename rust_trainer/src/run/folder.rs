//! A run's folder: who may work in it, and where in it things stand.

use std::{
    ffi::OsStr,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use super::files;
use crate::{error::TrainerError, settings::Settings};

/// A run's folder, locked: no other process works on the run meanwhile.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The lock is on the folder itself, and goes with this handle or with the process; rank 0 has it.
    lock: Option<File>,
    /// The folders that were made for it, the outermost last.
    made: Vec<PathBuf>,
}

impl RunFolder {
    /// Makes the folder of a new run, and the settings in it.
    ///
    /// # Errors
    /// As [`RunFolder::check_free`]; a folder that cannot be made.
    pub fn create(settings: &Settings) -> Result<Self, TrainerError> {
        let path = Self::check_free(settings)?;
        let failed = |source| TrainerError::io("create", &path, source);
        let missing = path.ancestors().skip(1);
        let missing = missing.filter(|above| !above.as_os_str().is_empty());
        let missing = missing.take_while(|above| !above.exists());
        let mut made: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        fs::create_dir_all(&settings.run.runs_dir).map_err(failed)?;
        fs::create_dir(&path)
            .or_else(|error| is_vacant(&path).then_some(()).ok_or(error))
            .map_err(failed)?;
        files::sync_folder(&settings.run.runs_dir).map_err(failed)?;
        made.insert(0, path.clone());
        let folder = Self {
            lock: Some(lock(&path)?),
            path,
            made,
        };
        match folder.write_settings(settings) {
            Ok(()) => Ok(folder),
            Err(error) => {
                folder.remove();
                Err(error)
            }
        }
    }

    /// Opens the folder of a run to go on with it.
    ///
    /// # Errors
    /// A folder that is not there or holds no run; a run that another process works on.
    pub fn open(path: &Path) -> Result<Self, TrainerError> {
        if path.is_file() && path.extension() == Some(OsStr::new("safetensors")) {
            let run = path.parent().and_then(Path::parent).unwrap_or(path);
            return Err(TrainerError::Usage(format!(
                "`{}` is a checkpoint; name the run's folder `{}`, whose newest is taken",
                path.display(),
                run.display()
            )));
        }
        if !path.join("settings.toml").is_file() {
            return Err(TrainerError::Usage(format!(
                "`{}` is no run's folder: it has no settings.toml",
                path.display()
            )));
        }
        Ok(Self {
            lock: Some(lock(path)?),
            path: path.to_owned(),
            made: Vec::new(),
        })
    }

    /// The folder that rank 0 has, for another rank's messages.
    pub(crate) fn of_another_rank(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            lock: None,
            made: Vec::new(),
        }
    }

    /// The folder that a new run would have.
    ///
    /// # Errors
    /// A name that is no folder's, or one that is there already.
    pub fn check_free(settings: &Settings) -> Result<PathBuf, TrainerError> {
        let name = &settings.run.run_name;
        let mut parts = Path::new(name).components();
        let is_plain = matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(part)), None) if part == OsStr::new(name)
        );
        if !is_plain {
            let problem = "must be a plain name, for it becomes a folder in runs_dir".to_owned();
            return Err(TrainerError::setting("run_name", name, problem));
        }
        let path = settings.run.runs_dir.join(name);
        if path.exists() && !is_vacant(&path) {
            return Err(TrainerError::Usage(format!(
                "`{}` exists: go on with it by --resume {0}, or choose another --run-name",
                path.display()
            )));
        }
        Ok(path)
    }

    /// `name`, with a number behind it where `runs_dir` has a run of that name.
    #[must_use]
    pub fn free_name(runs_dir: &Path, name: &str) -> String {
        let numbered = (2..u32::MAX).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names.find(|name| !runs_dir.join(name).exists());
        free.unwrap_or_else(|| name.to_owned())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still there: not removed, renamed, or replaced by another.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let found = fs::metadata(&self.path).map(|found| (found.dev(), found.ino()));
        let ours = self.lock.as_ref().map(File::metadata);
        let ours = ours.map(|ours| ours.map(|ours| (ours.dev(), ours.ino())));
        matches!((found, ours), (Ok(found), Some(Ok(ours))) if found == ours)
    }

    /// Where its checkpoints are.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The settings in it.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn settings(&self) -> Result<Settings, TrainerError> {
        Self::settings_in(&self.path)
    }

    pub(super) fn settings_in(path: &Path) -> Result<Settings, TrainerError> {
        Settings::of_run(&path.join("settings.toml"))
    }

    /// Writes the settings into it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_settings(&self, settings: &Settings) -> Result<(), TrainerError> {
        let path = self.path.join("settings.toml");
        files::replace(&path, settings.to_toml().as_bytes())
            .map_err(|source| TrainerError::io("write", &path, source))
    }

    /// Removes what [`RunFolder::create`] made: nothing has run in it.
    pub fn remove(self) {
        let mut made = self.made.iter();
        let _gone = made.next().map(fs::remove_dir_all);
        for above in made {
            let _gone = fs::remove_dir(above);
        }
    }
}

/// Whether a folder is empty, as where a run was killed before its settings were written.
fn is_vacant(path: &Path) -> bool {
    let is_unfinished = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| files::is_unfinished(&entry.path()))
    };
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_unfinished))
}

/// Locks a folder for this process, as long as the file is open.
///
/// # Errors
/// Another process that has it.
pub(crate) fn lock(path: &Path) -> Result<File, TrainerError> {
    let failed = |source| TrainerError::io("open", path, source);
    let folder = File::open(path).map_err(failed)?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(TrainerError::Usage(format!(
            "another process is training in `{}`; wait for its end, or stop it",
            path.display()
        ))),
        // Some network file systems have no locks; a run there is nobody else's business.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(folder),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Algorithm;

    fn settings(runs: &Path, name: &str) -> Settings {
        let mut settings = Settings::defaults(Algorithm::Ppo);
        settings.run.runs_dir = runs.to_owned();
        settings.run.run_name = name.to_owned();
        settings
    }

    #[test]
    fn names_that_leave_the_folder_of_runs_are_refused() {
        let above = tempfile::tempdir().unwrap();
        let runs = above.path().join("runs");
        for name in ["../escape", "a/b", "/tmp/x", "..", ".", "", "a/"] {
            let error = RunFolder::create(&settings(&runs, name)).unwrap_err();
            assert!(error.to_string().contains("run_name"), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
        RunFolder::create(&settings(&runs, "..a")).unwrap();
    }

    #[test]
    fn a_run_is_worked_on_by_one_process_at_a_time() {
        let runs = tempfile::tempdir().unwrap();
        let settings = settings(runs.path(), "run");
        let first = RunFolder::create(&settings).unwrap();
        let path = first.path().to_owned();
        let message = RunFolder::open(&path).unwrap_err().to_string();
        assert!(message.contains("another process"), "{message}");
        drop(first);
        assert_eq!(
            RunFolder::open(&path).unwrap().settings().unwrap(),
            settings
        );
    }

    #[test]
    fn a_folder_that_was_left_before_its_settings_is_free() {
        let runs = tempfile::tempdir().unwrap();
        let settings = settings(runs.path(), "run");
        let path = runs.path().join("run");
        fs::create_dir(&path).unwrap();
        fs::write(path.join(".settings.toml.unfinished"), "").unwrap();
        drop(RunFolder::create(&settings).unwrap());
        RunFolder::create(&settings).unwrap_err();
        assert_eq!(
            RunFolder::open(&path).unwrap().settings().unwrap(),
            settings
        );
    }

    #[test]
    fn a_folder_in_which_nothing_ran_goes_with_all_that_was_made_for_it() {
        let above = tempfile::tempdir().unwrap();
        let runs = above.path().join("deep/runs");
        let kept = RunFolder::create(&settings(&runs, "kept")).unwrap();
        RunFolder::create(&settings(&runs, "gone"))
            .unwrap()
            .remove();
        assert!(kept.path().exists() && !runs.join("gone").exists());
        kept.remove();
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
        assert!(RunFolder::open(&runs).is_err());
    }
}
