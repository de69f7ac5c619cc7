//! How much memory is left: of the machine, below the limits of the control groups that this process is in, and
//! of its address space.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::{
    device::available_cores, error::TrainerError, files::proc_value, ranks::launch::ranks_here,
};

/// What is left, and of what.
#[derive(Debug)]
pub(super) struct Left {
    pub bytes: u64,
    /// The beginning of a sentence: who has it.
    pub whose: &'static str,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} left", self.whose, shown(self.bytes))
    }
}

/// A number of bytes as messages say it.
pub(super) fn shown(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// The least of what is left anywhere; `None` where nothing is known.
pub(super) fn left() -> Option<Left> {
    let of_machine = memory_available().map(|bytes| Left {
        bytes,
        whose: "the machine has",
    });
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let groups = groups(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"));
    let in_group = groups.iter().filter_map(|group| left_in(group)).min();
    let in_group = in_group.map(|bytes| Left {
        bytes,
        whose: "the control group (the container) has",
    });
    // What is needed is of all ranks here, each of which has addresses of its own.
    let ranks = ranks_here() as u64;
    let of_addresses = address_space().map(|space| Left {
        bytes: space.limit.saturating_sub(space.used).saturating_mul(ranks),
        whose: match ranks {
            1 => "the address space (`ulimit -v`) has",
            _ => "the ranks' address spaces (`ulimit -v`) have",
        },
    });
    let all = [of_machine, in_group, of_addresses].into_iter().flatten();
    all.min_by_key(|left| left.bytes)
}

/// Bytes that can be had without swapping, on Linux.
fn memory_available() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable")
}

/// A number of a file of `/proc`, in bytes.
fn kilobytes(path: &str, name: &str) -> Option<u64> {
    let number = proc_value(path, name)?;
    let number: u64 = number.trim_end_matches("kB").trim().parse().ok()?;
    Some(number * 1024)
}

/// The folders of the control groups whose limits hold for a process, of version 1 and 2, its own and all
/// above. `memberships` is its `/proc/self/cgroup`, `mounts` its `/proc/self/mountinfo`.
fn groups(memberships: &str, mounts: &str) -> Vec<PathBuf> {
    let mut groups = Vec::new();
    for mount in mounts.lines() {
        let Some((fields, kind)) = mount.split_once(" - ") else {
            continue;
        };
        let is_second = kind.starts_with("cgroup2 ");
        let is_first = kind.starts_with("cgroup ") && has_memory(kind.rsplit(' ').next());
        let mut fields = fields.split(' ').skip(3);
        let (Some(root), Some(place)) = (fields.next(), fields.next()) else {
            continue;
        };
        if !is_first && !is_second {
            continue;
        }
        let own = memberships.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_meant = (is_second && controllers.is_empty())
                || (is_first && has_memory(Some(controllers)));
            is_meant.then_some(path)
        });
        // A container may see its group as the root of the mount, under the name that it has outside.
        let below = own.and_then(|own| Path::new(own).strip_prefix(root).ok());
        let place = Path::new(place);
        let folder = place.join(below.unwrap_or(Path::new("")));
        let up_to_mount = folder
            .ancestors()
            .take_while(|above| above.starts_with(place));
        groups.extend(up_to_mount.map(Path::to_owned));
    }
    groups
}

fn has_memory(controllers: Option<&str>) -> bool {
    controllers.is_some_and(|names| names.split(',').any(|name| name == "memory"))
}

/// Bytes below the limit of a control group; `None` without one. Pages of files, such as those of a replay
/// memory that was just read, count as used there, but make room.
fn left_in(group: &Path) -> Option<u64> {
    let text = |name| fs::read_to_string(group.join(name)).unwrap_or_default();
    let number = |name| text(name).trim().parse::<u64>().ok();
    // Version 2, then version 1.
    let (limit, used, of_files) = match number("memory.max") {
        Some(limit) => (limit, "memory.current", ["active_file", "inactive_file"]),
        None => (
            number("memory.limit_in_bytes")?,
            "memory.usage_in_bytes",
            ["total_active_file", "total_inactive_file"],
        ),
    };
    let stat = text("memory.stat");
    let fields = stat.lines().filter_map(|line| line.split_once(' '));
    let cached: u64 = fields
        .filter(|(name, _)| of_files.contains(name))
        .filter_map(|(_, bytes)| bytes.parse::<u64>().ok())
        .sum();
    let used = number(used).unwrap_or(0).saturating_sub(cached);
    Some(limit.saturating_sub(used))
}

/// The limit of the address space, and what of it is in use.
struct AddressSpace {
    limit: u64,
    used: u64,
}

fn address_space() -> Option<AddressSpace> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    #[expect(unsafe_code, reason = "libc::getrlimit")]
    // SAFETY: it writes into the struct that it is given.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    if status != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    Some(AddressSpace {
        limit: limit.rlim_cur,
        used: kilobytes("/proc/self/status", "VmSize")?,
    })
}

/// Addresses that Python and its packages take, beside those of each core's threads: two libraries of linear
/// algebra reserve 40 MB for each. Where they get none, they end the process by SIGSEGV.
const OF_PYTHON: u64 = 700_000_000;
const OF_CORE: u64 = 80_000_000;

/// Refuses to start in an address space that does not hold the program.
pub(crate) fn check_address_space() -> Result<(), TrainerError> {
    let Some(AddressSpace { limit, used }) = address_space() else {
        return Ok(());
    };
    let needed = used + OF_PYTHON + OF_CORE * available_cores() as u64;
    if needed <= limit {
        return Ok(());
    }
    Err(TrainerError::Usage(format!(
        "the address space is limited to {} (`ulimit -v`), and the program alone needs {}: raise the limit, or limit \
         memory by a container, which counts only what is used",
        shown(limit),
        shown(needed)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as Linux writes them: of a container of version 2, of one of version 1 that sees its own group as the
    /// root, and of a service.
    #[test]
    fn the_groups_of_a_process_are_its_own_and_all_above() {
        let second = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate\n";
        let first = "35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                     36 31 0:33 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        for (memberships, mounts, expected) in [
            ("0::/\n", second, &["/sys/fs/cgroup"][..]),
            (
                "0::/user.slice/job.scope\n",
                second,
                &[
                    "/sys/fs/cgroup/user.slice/job.scope",
                    "/sys/fs/cgroup/user.slice",
                    "/sys/fs/cgroup",
                ],
            ),
            (
                "9:cpu:/docker/ab\n4:memory:/docker/ab/job\n0::/\n",
                first,
                &["/sys/fs/cgroup/memory/job", "/sys/fs/cgroup/memory"],
            ),
            ("4:memory:/elsewhere\n", first, &["/sys/fs/cgroup/memory"]),
            ("0::/\n", "22 1 0:20 / /proc rw - proc proc rw\n", &[]),
        ] {
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(groups(memberships, mounts), expected, "{memberships}");
        }
    }

    #[test]
    fn pages_of_files_do_not_count_as_used() {
        for (names, prefix) in [
            (["memory.max", "memory.current"], ""),
            (["memory.limit_in_bytes", "memory.usage_in_bytes"], "total_"),
        ] {
            let group = tempfile::tempdir().unwrap();
            assert_eq!(left_in(group.path()), None);
            let stat = format!("anon 300\n{prefix}active_file 400\n{prefix}inactive_file 150\n");
            for (name, text, left) in [
                (names[0], "max\n", None),
                (names[0], "1000\n", Some(1000)),
                (names[1], "900\n", Some(100)),
                ("memory.stat", &stat, Some(650)),
            ] {
                fs::write(group.path().join(name), text).unwrap();
                assert_eq!(left_in(group.path()), left, "{name}");
            }
        }
    }
}
