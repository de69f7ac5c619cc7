//! On what the last bits of a sum depend: a run that goes on with another of them is not bit for bit what it
//! would have been.

use std::{collections::BTreeMap, env, sync::OnceLock};

use super::machine::cpu_line;
use crate::{device, ranks::Launch, settings::Settings};

/// Sets of instructions by the names that Linux has for them.
const INSTRUCTIONS: [&str; 8] = [
    "avx",
    "avx2",
    "fma",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "avx512_bf16",
    "amx_bf16",
];

/// Variables that hold libtorch and its libraries to some instructions.
const VARIABLES: [&str; 4] = [
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
];

/// By name, as resolved on this machine.
pub(super) fn of(settings: &Settings) -> BTreeMap<String, String> {
    let machine = &settings.machine;
    let device = device::select(machine.device);
    let precision = match device {
        Ok(device) => device::precision(machine.precision, device),
        Err(_) => machine.precision,
    };
    let entries = [
        (
            "device",
            device.map_or_else(|_| machine.device.to_string(), device::name),
        ),
        ("precision", precision.name().to_owned()),
        (
            "torch_threads",
            device::num_threads(machine.torch_threads).to_string(),
        ),
        ("ranks", ranks().to_string()),
        ("processor", cpu_line("model name").unwrap_or_default()),
        ("instructions", instructions()),
        ("rust_trainer", build_commit::VERSION.to_owned()),
    ];
    let variables = VARIABLES.map(|name| {
        let value = env::var(name).unwrap_or_else(|_| "not set".to_owned());
        (name, value)
    });
    let packages = packages().iter().cloned();
    let named = entries.into_iter().chain(variables);
    let named = named.map(|(name, text)| (name.to_owned(), text));
    named.chain(packages).collect()
}

/// Those by which libtorch, its libraries and our kernels choose what they compute with: a virtual machine may hide
/// some that its processor has.
fn instructions() -> String {
    let has = cpu_line("flags").unwrap_or_default();
    let has: Vec<&str> = has.split(' ').collect();
    let there = INSTRUCTIONS.into_iter().filter(|name| has.contains(name));
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

/// How many ranks add up their gradients.
fn ranks() -> usize {
    let launch = Launch::from_env().ok().flatten();
    launch.map_or(1, |launch| launch.num_ranks)
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
