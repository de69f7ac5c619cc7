//! What memory the machine has left.

use std::fs;

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
    let number = |path: &str| -> Option<u64> { fs::read_to_string(path).ok()?.trim().parse().ok() };
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    let in_container = limit.map_or(u64::MAX, |limit| limit.saturating_sub(used));
    Some((kilobytes * 1024).min(in_container))
}

#[cfg(test)]
mod tests {
    use super::check;

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
}
