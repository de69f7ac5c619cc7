//! `machine.json`: the versions and the machine that a run ran on.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use super::files;
use crate::{device::available_cores, error::TrainerError};

/// Writes the versions and the machine at hand into a run's folder; what an earlier start had written
/// goes to `earlier`. `hosts` has the machine of each rank; it is empty for a process on its own.
///
/// # Errors
/// A file that cannot be written; Python that does not start.
pub fn record(
    folder: &Path,
    device: &str,
    from_step: u64,
    hosts: &[String],
) -> Result<(), TrainerError> {
    let path = folder.join("machine.json");
    let python = python_shim::doctor::python_facts()?;
    let packages: Map<_, _> = python
        .packages
        .into_iter()
        .map(|(name, version)| (name.to_owned(), version.into()))
        .collect();
    let mut earlier = Vec::new();
    if let Some(mut before) = read(&path) {
        if let Some(Value::Array(older)) = before.remove("earlier") {
            earlier = older;
        }
        earlier.push(before.into());
    }
    let machine = json!({
        "from_step": from_step,
        "rust_trainer": build_commit::VERSION,
        "python": python.version,
        "packages": packages,
        "cpu": cpu_line("model name"),
        "cores": available_cores(),
        "device": device,
        "ranks": hosts,
        "earlier": earlier,
    });
    let text = format!("{machine:#}\n");
    files::replace(&path, text.as_bytes())
        .map_err(|source| TrainerError::io("write", &path, source))
}

fn read(path: &Path) -> Option<Map<String, Value>> {
    serde_json::from_slice(&files::read(path).ok()?).ok()
}

/// What Linux says of the first processor under a `name`.
pub(super) fn cpu_line(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(of, _)| of.trim() == name)?;
    Some(value.trim().to_owned())
}
