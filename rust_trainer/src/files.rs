//! Files that are whole or not there, whenever the program or the machine stops.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::error::TrainerError;

/// How the name ends under which a file is written.
const UNFINISHED: &str = ".unfinished";

/// Whether `path` is what [`replace_with`] leaves where the program is killed in the midst of it.
pub(super) fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') && name.ends_with(UNFINISHED)
}

/// Opens a file to read it. What is no regular file is refused: a FIFO would keep its reader for ever.
pub fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    File::open(path)
}

/// Leaves out paths to what one before them is.
pub(crate) fn keep_each_once(paths: &mut Vec<PathBuf>) {
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
}

/// The paths of all that is in a folder.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    let paths = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<Result<_, _>>()
    });
    paths.map_err(TrainerError::io("list", folder))
}

/// What a file of `/proc` says under a name, there first.
pub(crate) fn proc_value(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(of, _)| of.trim() == name)?;
    Some(value.trim().to_owned())
}

/// Whether an open file, or folder, is the one that stands at `path`: not removed, renamed, or replaced by another.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let place = |about: fs::Metadata| (about.dev(), about.ino());
    let (ours, found) = (file.metadata().map(place), fs::metadata(path).map(place));
    matches!((ours, found), (Ok(ours), Ok(found)) if ours == found)
}

pub(crate) fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "unknown host".to_owned(), |name| name.trim().to_owned())
}

/// The bytes of a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a file with these bytes in the place of `path`: written beside it under another name, synced,
/// renamed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), TrainerError> {
    let written = replace_with(path, |file| file.write_all(bytes));
    written.map_err(TrainerError::io("write", path))
}

/// The same for a file that `write` fills; returns what that does.
pub fn replace_with<T>(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<T>,
) -> io::Result<T> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}{UNFINISHED}"));
    let written = File::create(&unfinished).and_then(|mut file| {
        let result = write(&mut file)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        Ok(result)
    });
    if written.is_err() {
        let _gone = fs::remove_file(&unfinished);
    }
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    written
}

/// Makes what was created, renamed and removed in a folder last.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let is_here = folder.as_os_str().is_empty();
    File::open(if is_here { Path::new(".") } else { folder })?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for text in ["one", "two"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_replaced_stays_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();
        assert!(write(&path, b"text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("gone/a"), b"text").is_err());
    }
}
