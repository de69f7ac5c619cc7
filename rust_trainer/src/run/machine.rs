//! The machine and the versions that a run runs on: `machine.json`, and on what of it the last bits of a sum depend.
//! A run that goes on with another of these is not bit for bit what it would have been.

use std::{collections::BTreeMap, env, path::Path, sync::OnceLock};

use serde_json::{Map, Value, json};

use crate::{
    device::{self, available_cores},
    error::TrainerError,
    files::{self, proc_value},
    ranks::Launch,
    settings::Settings,
};

/// What Linux says of the processors, the first of which stands for all.
const CPUS: &str = "/proc/cpuinfo";

/// Sets of instructions by the names that Linux has for them.
const INSTRUCTIONS: &str = "avx avx2 fma avx512f avx512bw avx512_vnni avx512_bf16 amx_bf16";

/// Variables that hold libtorch and its libraries to some instructions.
const VARIABLES: [&str; 4] = [
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
];

/// Writes the versions and the machine at hand into a run's folder; what an earlier start had written
/// goes to `earlier`. `hosts` has the machine of each rank; it is empty for a process on its own.
pub fn record(
    folder: &Path,
    device: &str,
    from_step: u64,
    hosts: &[String],
) -> Result<(), TrainerError> {
    let path = folder.join("machine.json");
    let python = python_shim::doctor::python_facts()?;
    let packages = python.packages.into_iter();
    let packages = packages.map(|(name, version)| (name.to_owned(), version.into()));
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
        "packages": packages.collect::<Map<_, _>>(),
        "cpu": proc_value(CPUS, "model name"),
        "cores": available_cores(),
        "device": device,
        "ranks": hosts,
        "earlier": earlier,
    });
    files::write(&path, format!("{machine:#}\n").as_bytes())
}

fn read(path: &Path) -> Option<Map<String, Value>> {
    serde_json::from_slice(&files::read(path).ok()?).ok()
}

/// On what the last bits of a run with these settings depend, by name, as resolved on this machine.
pub(super) fn arithmetic(settings: &Settings) -> BTreeMap<String, String> {
    let machine = &settings.machine;
    let device = device::select(machine.device);
    let precision = match device {
        Ok(device) => device::precision(machine.precision, device),
        Err(_) => machine.precision,
    };
    let device = device.map_or_else(|_| machine.device.to_string(), device::name);
    let threads = device::num_threads(machine.torch_threads);
    let launch = Launch::from_env().ok().flatten();
    let ranks = launch.map_or(1, |launch| launch.num_ranks);
    let entries = [
        ("device", device),
        ("precision", precision.name().to_owned()),
        ("torch_threads", threads.to_string()),
        ("ranks", ranks.to_string()),
        (
            "processor",
            proc_value(CPUS, "model name").unwrap_or_default(),
        ),
        ("instructions", instructions()),
        ("rust_trainer", build_commit::VERSION.to_owned()),
    ];
    let variables = VARIABLES.map(|name| {
        let value = env::var(name).unwrap_or_else(|_| "not set".to_owned());
        (name, value)
    });
    let named = entries.into_iter().chain(variables);
    let named = named.map(|(name, text)| (name.to_owned(), text));
    named.chain(packages().iter().cloned()).collect()
}

/// Those by which libtorch, its libraries and our kernels choose what they compute with: a virtual machine may hide
/// some that its processor has.
fn instructions() -> String {
    let has = proc_value(CPUS, "flags").unwrap_or_default();
    let has: Vec<&str> = has.split(' ').collect();
    let there = INSTRUCTIONS.split(' ').filter(|name| has.contains(name));
    there.collect::<Vec<_>>().join(" ")
}

/// The versions of the Python packages that compute something, libtorch's among them; none where Python does not
/// start. They stay the same as long as the process lives.
fn packages() -> &'static [(String, String)] {
    static PACKAGES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let Ok(python) = python_shim::doctor::python_facts() else {
            return Vec::new();
        };
        let packages = python.packages.into_iter();
        let found = packages.filter_map(|(name, version)| Some((name.to_owned(), version?)));
        found.collect()
    })
}

/// What of it is other `now` than `before`, a sentence each.
pub(super) fn changes(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<String> {
    let both = now
        .iter()
        .filter_map(|(name, now)| Some((name, before.get(name)?, now)));
    let changed = both.filter(|(_, before, now)| before != now);
    let say = |(name, before, now)| {
        format!(
            "{name} was {before} and is {now} now: from here on the run may not be bit for bit what it would \
             have been"
        )
    };
    changed.map(say).collect()
}
