//! What memory the machine has left.

use std::{fs, path::Path};

use crate::error::TrainerError;

/// Refuses a setting that needs more `bytes` than the machine has left; where that is not known, nothing is
/// refused.
pub(crate) fn check(name: &'static str, value: usize, bytes: usize) -> Result<(), TrainerError> {
    match available() {
        Some(left) if (bytes as u64) > left => {
            let problem = format!(
                "takes {} of memory when it is full, and the machine has {} left",
                shown(bytes as u64),
                shown(left)
            );
            Err(TrainerError::setting(name, value, problem))
        }
        _ => Ok(()),
    }
}

fn shown(bytes: u64) -> String {
    format!("{bytes} bytes ({:.1} GB)", bytes as f64 / 1e9)
}

/// Bytes that can be had without swapping, on Linux: of the machine, and of the container if it has a
/// limit.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let in_container = left_in(Path::new("/sys/fs/cgroup")).unwrap_or(u64::MAX);
    Some((kilobytes * 1024).min(in_container))
}

/// Bytes below the limit of a control group (version 2); `None` without one. Pages of files, such as those
/// of a replay memory that was just read, count as used there, but make room.
fn left_in(group: &Path) -> Option<u64> {
    let text = |name| fs::read_to_string(group.join(name)).unwrap_or_default();
    let limit: u64 = text("memory.max").trim().parse().ok()?;
    let used: u64 = text("memory.current").trim().parse().unwrap_or(0);
    let stat = text("memory.stat");
    let fields = stat.lines().filter_map(|line| line.split_once(' '));
    let of_files = fields.filter(|(name, _)| ["active_file", "inactive_file"].contains(name));
    let cached: u64 = of_files
        .filter_map(|(_, bytes)| bytes.parse::<u64>().ok())
        .sum();
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_its_name_and_size() {
        check("replay_capacity", 7, 1 << 10).unwrap();
        let message = check("replay_capacity", 7, 1 << 60)
            .unwrap_err()
            .to_string();
        for part in ["`replay_capacity` = 7", "1152921504606846976 bytes", "left"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn pages_of_files_do_not_count_as_used() {
        let group = tempfile::tempdir().unwrap();
        assert_eq!(left_in(group.path()), None);
        for (name, text, left) in [
            ("memory.max", "max\n", None),
            ("memory.max", "1000\n", Some(1000)),
            ("memory.current", "900\n", Some(100)),
            (
                "memory.stat",
                "anon 300\nactive_file 400\ninactive_file 150\n",
                Some(650),
            ),
        ] {
            fs::write(group.path().join(name), text).unwrap();
            assert_eq!(left_in(group.path()), left, "{name}");
        }
    }
}
