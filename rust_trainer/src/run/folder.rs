//! A run's folder: who may work in it, and where in it things stand.

use std::{
    ffi::OsStr,
    fs::{self, File, TryLockError},
    io,
    path::{Component, Path, PathBuf},
};

use super::checkpoints;
use crate::{
    error::{TrainerError, quoted},
    files,
    settings::{FILE_OF_RUN, Settings},
};

/// Bytes of the longest name that a run may be given: with what is put behind it (`-rescued-2`, `.toml`) file systems
/// take it, whose names end at 255.
const LONGEST_NAME: usize = 230;

/// The folder in a run's folder that has its clips of play.
pub(crate) const CLIPS: &str = "clips";

/// A run's folder, locked: no other process works on the run meanwhile.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The lock is on the folder itself; rank 0 has it.
    lock: Option<FolderLock>,
    /// The folders that were made for it, the outermost last.
    made: Vec<PathBuf>,
}

impl RunFolder {
    /// Makes the empty folder of a new run, and takes it: it goes with this value unless something is written
    /// into it.
    ///
    /// # Errors
    /// A name that is no folder's, or one that is there already; a folder that cannot be made.
    pub fn reserve(settings: &Settings) -> Result<Self, TrainerError> {
        check_name(settings)?;
        let path = path_of(settings);
        match make(&settings.run.runs_dir, &path)? {
            Some(made) => Self::lock(path, made),
            None if is_vacant(&path) => Self::lock(path.clone(), vec![path]),
            None => Err(TrainerError::Usage(format!(
                "`{}` exists: go on with it by --resume {}, or choose another --run-name",
                path.display(),
                quoted(&path)
            ))),
        }
    }

    /// The same where the name may get a number behind it: several processes that ask for one name at the same
    /// time get a folder each. The name is in the settings then.
    pub fn reserve_free(settings: &mut Settings) -> Result<Self, TrainerError> {
        check_name(settings)?;
        Self::reserve_numbered(settings)
    }

    /// The folder for what is saved of a run whose own is gone. Its name is in the settings then.
    pub(super) fn reserve_rescue(settings: &mut Settings) -> Result<Self, TrainerError> {
        settings.run.run_name.push_str("-rescued");
        Self::reserve_numbered(settings)
    }

    fn reserve_numbered(settings: &mut Settings) -> Result<Self, TrainerError> {
        let name = settings.run.run_name.clone();
        let mut number = 1_u32;
        loop {
            let path = path_of(settings);
            if let Some(made) = make(&settings.run.runs_dir, &path)? {
                return Self::lock(path, made);
            }
            number += 1;
            settings.run.run_name = format!("{name}-{number}");
        }
    }

    fn lock(path: PathBuf, made: Vec<PathBuf>) -> Result<Self, TrainerError> {
        let lock = Some(lock(&path)?);
        Ok(Self { path, lock, made })
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
        if !Self::has_run(path) {
            let problem = if path.exists() {
                "is no run's folder: it has no settings.toml and no checkpoint"
            } else {
                "does not exist; name a run's folder"
            };
            let path = path.display();
            return Err(TrainerError::Usage(format!("`{path}` {problem}")));
        }
        Self::lock(path.to_owned(), Vec::new())
    }

    /// The folder that rank 0 has, for another rank's messages.
    pub(crate) fn of_another_rank(path: PathBuf) -> Self {
        Self {
            path,
            lock: None,
            made: Vec::new(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still there: not removed, renamed, or replaced by another.
    pub(crate) fn is_there(&self) -> bool {
        let lock = self.lock.as_ref();
        lock.is_some_and(|lock| files::is_at(&lock.0, &self.path))
    }

    /// Where its checkpoints are.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// Where the past selves are that it plays against.
    #[must_use]
    pub(crate) fn opponents(&self) -> PathBuf {
        self.path.join(checkpoints::OPPONENTS)
    }

    /// Where its clips of play are.
    #[must_use]
    pub(crate) fn clips(&self) -> PathBuf {
        self.path.join(CLIPS)
    }

    /// Whether there is a run in the folder at `path`: its settings, or a checkpoint, which holds them too.
    pub(crate) fn has_run(path: &Path) -> bool {
        let checkpoints = checkpoints::list(&path.join("checkpoints"));
        path.join(FILE_OF_RUN).is_file() || checkpoints.is_ok_and(|found| !found.is_empty())
    }

    pub(super) fn has_settings(&self) -> bool {
        self.path.join(FILE_OF_RUN).is_file()
    }

    /// Writes the settings into it.
    pub fn write_settings(&self, settings: &Settings) -> Result<(), TrainerError> {
        let file = self.path.join(FILE_OF_RUN);
        files::write(&file, settings.to_toml().as_bytes())
    }

    /// Removes it with all that is in it: nothing has run there.
    pub fn remove(self) {
        let _gone = fs::remove_dir_all(&self.path);
        self.remove_above();
    }

    /// Removes the folders above that were made for it, as far as they are empty.
    fn remove_above(&self) {
        for above in self.made.iter().skip(1) {
            let _gone = fs::remove_dir(above);
        }
    }
}

impl Drop for RunFolder {
    /// What was made for a run that did not begin goes again.
    fn drop(&mut self) {
        if !self.made.is_empty() && self.is_there() && is_vacant(&self.path) {
            let _gone = fs::remove_dir_all(&self.path);
            self.remove_above();
        }
    }
}

/// Makes the folder at `path` and what is missing above it; returns what was made, or nothing where it is
/// there already.
fn make(runs_dir: &Path, path: &Path) -> Result<Option<Vec<PathBuf>>, TrainerError> {
    let failed = TrainerError::io("create", path);
    let missing = path.ancestors().skip(1);
    let missing = missing.filter(|above| !above.as_os_str().is_empty());
    let missing = missing.take_while(|above| !above.exists());
    let mut made: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    fs::create_dir_all(runs_dir).map_err(failed)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        created => created.map_err(failed)?,
    }
    files::sync_folder(runs_dir).map_err(failed)?;
    made.insert(0, path.to_owned());
    Ok(Some(made))
}

/// The folder that a new run would have.
fn path_of(settings: &Settings) -> PathBuf {
    settings.run.runs_dir.join(&settings.run.run_name)
}

/// Refuses a name that is no folder's.
fn check_name(settings: &Settings) -> Result<(), TrainerError> {
    let name = &settings.run.run_name;
    let mut parts = Path::new(name).components();
    let is_plain = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(part)), None) if part == OsStr::new(name)
    );
    let refused = |problem: &str| {
        let problem = format!("{problem}, for it becomes a folder in runs_dir");
        Err(TrainerError::setting("run_name", name, problem))
    };
    if !is_plain || name.contains(char::is_control) {
        return refused("must be a plain name");
    }
    if name.len() > LONGEST_NAME {
        return refused("is too long a name");
    }
    Ok(())
}

/// Whether a folder is empty, as where a run was killed before its settings were written.
fn is_vacant(path: &Path) -> bool {
    let is_unfinished = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| files::is_unfinished(&entry.path()))
    };
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_unfinished))
}

/// A folder that is locked for this process, until this goes or the process ends.
#[derive(Debug)]
pub(crate) struct FolderLock(File);

impl Drop for FolderLock {
    /// To close the file is not enough: a process that is just being started may have a copy of it.
    fn drop(&mut self) {
        let _free = self.0.unlock();
    }
}

/// Locks a folder.
pub(crate) fn lock(path: &Path) -> Result<FolderLock, TrainerError> {
    let failed = TrainerError::io("open", path);
    let folder = File::open(path).map_err(failed)?;
    match folder.try_lock() {
        Ok(()) => Ok(FolderLock(folder)),
        Err(TryLockError::WouldBlock) => Err(TrainerError::Usage(format!(
            "another process is training in `{}`; wait for its end, or stop it",
            path.display()
        ))),
        // Some network file systems have no locks; a run there is nobody else's business.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(FolderLock(folder))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
