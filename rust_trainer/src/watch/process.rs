//! Whether a process of this machine works on a run: it holds the lock of the run's folder. To try the lock would
//! take it for a moment, and a run that is being resumed just then would be refused.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

use crate::files;

/// The id of the process that has locked `folder`, where Linux tells of it.
pub(super) fn working_in(folder: &Path) -> Option<u32> {
    let about = fs::metadata(folder).ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    holders(&locks, about.ino()).find(|process| has_open(*process, &about) != Some(false))
}

/// Whether a process has a file open, where it lets this one see that: numbers of files are those of a file system, and
/// devices have other numbers in `/proc/locks` than elsewhere on some.
fn has_open(process: u32, about: &Metadata) -> Option<bool> {
    let opened = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let mut opened = opened.filter_map(|file| fs::metadata(file.ok()?.path()).ok());
    Some(opened.any(|file| (file.dev(), file.ino()) == (about.dev(), about.ino())))
}

/// Whether the run in `folder` was started last on this machine, as the name of its newest event file tells: what holds
/// no lock then is no process.
pub(super) fn was_started_here(folder: &Path) -> bool {
    let events = files::list(folder).unwrap_or_default().into_iter();
    let names = events.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let newest = names
        .filter(|name| name.starts_with("events.out.tfevents."))
        .max();
    let here = format!(".{}.", files::host_name().replace('/', "_"));
    newest.is_some_and(|name| name.contains(&here))
}

/// The holders of locks on files of this `number`, in lines such as `1: FLOCK  ADVISORY  WRITE 4711 fe:01:131 0 EOF`.
fn holders(locks: &str, number: u64) -> impl Iterator<Item = u32> {
    locks.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, "FLOCK", _, "WRITE", process, file, ..] = fields.as_slice() else {
            return None;
        };
        let is_it = file.rsplit(':').next()?.parse() == Ok(number);
        is_it.then(|| process.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_number_of_the_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 00:16:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 8 fe:01:99 0 EOF\n\
                     3: FLOCK  ADVISORY  READ  9 fe:01:99 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 10 fe:01:99 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 11 00:2b:99 0 EOF\n";
        assert_eq!(holders(locks, 99).collect::<Vec<_>>(), [10, 11]);
        assert_eq!(holders(locks, 9).next(), None);
    }

    #[test]
    fn this_process_is_found_while_it_holds_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(working_in(folder.path()), None);
        let file = fs::File::open(folder.path()).unwrap();
        file.try_lock().unwrap();
        assert_eq!(working_in(folder.path()), Some(std::process::id()));
        let elsewhere = tempfile::tempdir().unwrap();
        let other = fs::metadata(elsewhere.path()).unwrap();
        assert_eq!(has_open(std::process::id(), &other), Some(false));
    }
}
