//! `doctor`: what this program runs on, and what is wrong with it.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::{checkpoint::write_json, error::TrainerError};

const EXIT_PROBLEMS: i32 = 1;

/// Prints the facts; the exit status tells whether there are problems.
pub(crate) fn run() -> i32 {
    let facts = python_shim::doctor::facts();
    let verdict = if facts.problems.is_empty() {
        "no problem found\n"
    } else {
        ""
    };
    let _ = write!(io::stdout(), "{facts}{verdict}");
    if facts.problems.is_empty() {
        0
    } else {
        EXIT_PROBLEMS
    }
}

/// Writes the versions and the machine of a run into its folder, as `machine.json`.
pub(crate) fn write_machine(folder: &Path, device: &str) -> Result<(), TrainerError> {
    let python = python_shim::doctor::python_facts()?;
    let versions: serde_json::Map<_, _> = python
        .packages
        .into_iter()
        .map(|(name, version)| (name.to_owned(), version.into()))
        .collect();
    let machine = serde_json::json!({
        "rust_trainer": env!("CARGO_PKG_VERSION"),
        "python": python.version,
        "packages": versions,
        "cpu": cpu_model(),
        "cores": crate::make_env::available_cores(),
        "device": device,
    });
    write_json(&folder.join("machine.json"), &machine)
}

/// The processor as Linux names it.
fn cpu_model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':')
        .map(|(_, model)| model.trim().to_owned())
}
