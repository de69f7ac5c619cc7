//! All settings by name: in which group each is shown, which algorithm has it, its default.

use toml::{Table, Value};

use super::{
    algorithms::Algorithm,
    fields::{Field, Rule, SettingType, read},
    shared::{EnvSettings, MachineSettings, NetSettings, RunSettings},
};
use crate::{alike::most_alike, error::TrainerError};

/// Which algorithm learns; its own settings follow from it.
pub(crate) const ALGORITHM: Field =
    Field::new::<Algorithm>("algorithm", "Learning algorithm", Rule::Any, || {
        Algorithm::Ppo.to_value()
    });

/// The algorithm that `table` names, or the default.
pub(super) fn algorithm_of(table: &Table) -> Result<Algorithm, TrainerError> {
    read(Some(&ALGORITHM), table, Algorithm::Ppo)
}

/// The settings of `algorithms` under their headings, in the order in which they are shown, each name once.
pub(crate) fn groups(algorithms: &[Algorithm]) -> [(&'static str, Vec<&'static Field>); 5] {
    let mut learning: Vec<&Field> = Vec::new();
    for field in algorithms.iter().flat_map(|algorithm| algorithm.fields()) {
        if learning.iter().all(|seen| seen.name != field.name) {
            learning.push(field);
        }
    }
    let shared = |fields: &'static [Field]| fields.iter().collect();
    let mut run: Vec<&Field> = shared(RunSettings::FIELDS);
    run.insert(0, &ALGORITHM);
    [
        ("Run", run),
        ("Learning", learning),
        ("Network", shared(NetSettings::FIELDS)),
        ("Environment", shared(EnvSettings::FIELDS)),
        ("Machine", shared(MachineSettings::FIELDS)),
    ]
}

/// The same without the headings.
pub(crate) fn fields(algorithms: &[Algorithm]) -> impl Iterator<Item = &'static Field> + use<> {
    groups(algorithms)
        .into_iter()
        .flat_map(|(_, fields)| fields)
}

pub(super) fn default_of(field: &Field, algorithm: Algorithm) -> Value {
    if field.name == "num_envs" {
        return algorithm.num_envs().to_value();
    }
    let mut own = algorithm.fields().iter();
    let own = own.find(|own| own.name == field.name);
    (own.unwrap_or(field).default)()
}

/// Refuses a name that is no setting of `algorithm`, and says whose it is.
pub(super) fn check_name(name: &str, algorithm: Algorithm) -> Result<(), TrainerError> {
    let has = |algorithm: Algorithm| fields(&[algorithm]).any(|field| field.name == name);
    if has(algorithm) {
        return Ok(());
    }
    let owners = Algorithm::ALL.iter().filter(|&&other| has(other));
    let owners: Vec<_> = owners.map(|owner| owner.name()).collect();
    Err(TrainerError::Usage(if owners.is_empty() {
        let names = fields(&[algorithm]).map(|field| field.name);
        let alike = most_alike(name, names).into_iter();
        let meant: Vec<_> = alike.map(|name| format!("`{name}`")).collect();
        if meant.is_empty() {
            format!("`{name}` is not a setting; `train --help` lists them")
        } else {
            let meant = meant.join(" or ");
            format!("`{name}` is not a setting; did you mean {meant}? `train --help` lists all")
        }
    } else {
        format!(
            "`{name}` is not a setting of {algorithm}; it is one of {}",
            owners.join(", ")
        )
    }))
}
