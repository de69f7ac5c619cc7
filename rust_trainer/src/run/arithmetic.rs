//! On what the last bits of a sum depend: a run that goes on with another of them is not bit for bit what it
//! would have been.

use std::collections::BTreeMap;

use super::machine::cpu_model;
use crate::{device, ranks::Launch, settings::Settings};

/// By name, as resolved on this machine; the program's version stands for that of libtorch, too.
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
        ("processor", cpu_model().unwrap_or_default()),
        ("rust_trainer", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    entries.map(|(name, text)| (name.to_owned(), text)).into()
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
            "{name} was {before} and is {now} now: numbers are rounded otherwise, and the run is not bit for \
             bit what it would have been"
        )
    };
    changed.map(say).collect()
}
