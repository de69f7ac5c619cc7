//! Whether a process of this machine works on a run: it holds the lock of the run's folder. To try the lock would
//! take it for a moment, and a run that is being resumed just then would be refused.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use crate::files;

/// The id of the process that has locked `folder`, where Linux tells of it.
pub(super) fn working_in(folder: &Path) -> Option<u32> {
    let number = fs::metadata(folder).ok()?.ino();
    holder(&fs::read_to_string("/proc/locks").ok()?, number)
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

/// The holder of the lock on file `number`, in lines such as `1: FLOCK  ADVISORY  WRITE 4711 fe:01:131 0 EOF`.
fn holder(locks: &str, number: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
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
                     4: FLOCK  ADVISORY  WRITE 10 fe:01:99 0 EOF\n";
        assert_eq!(holder(locks, 99), Some(10));
        assert_eq!(holder(locks, 9), None);
    }

    #[test]
    fn this_process_is_found_while_it_holds_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(working_in(folder.path()), None);
        let file = fs::File::open(folder.path()).unwrap();
        file.try_lock().unwrap();
        assert_eq!(working_in(folder.path()), Some(std::process::id()));
    }
}
