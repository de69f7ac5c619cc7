//! Which runs belong together: the same settings on the same environment, each with another seed. What they are
//! called beside others follows from what differs.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::run_files::RunFiles;
use crate::{envs, report::format::short, settings::CHANGEABLE};

/// Settings by which runs that belong together may differ, beside those that say how far and where.
const OF_A_RUN: [&str; 3] = ["seed", "run_name", "runs_dir"];
/// Settings that a run may change and that make another learning of it all the same.
const OF_A_GROUP: [&str; 2] = ["total_steps", "precision"];

/// Runs that differ by their seeds.
pub(crate) struct Group<'a> {
    /// What it is called among those of the page.
    pub label: String,
    /// Its environment.
    pub env_id: String,
    /// The settings that all of its runs share, without the environment.
    pub way: Table,
    /// Its runs, at least one.
    pub runs: Vec<&'a RunFiles>,
}

impl Group<'_> {
    /// What it is called among those of its environment.
    pub fn name_in_env(&self) -> String {
        let env = format!(" · {}", envs::name_in_files(&self.env_id));
        match self.label.split_once(&env) {
            Some((before, after)) if after.is_empty() || after.starts_with(" · ") => {
                format!("{before}{after}")
            }
            _ => self.label.clone(),
        }
    }

    /// Its runs are of self-play, as all of one way are.
    pub fn is_self_play(&self) -> bool {
        self.runs[0].is_self_play()
    }
}

/// Whether a setting makes another group of a run.
pub(super) fn tells_apart(name: &str) -> bool {
    OF_A_GROUP.contains(&name) || !(CHANGEABLE.contains(&name) || OF_A_RUN.contains(&name))
}

/// The groups of `runs`, in the order of their first ones; a second run of a seed begins a group of its own. Taken `together` are all runs of one algorithm and length on
/// an environment, whatever else differs.
pub(crate) fn groups(runs: &[RunFiles], together: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for run in runs {
        let mut way = run.settings.clone();
        way.retain(|name, _| tells_apart(name) && name != "env_id");
        if together {
            way.retain(|name, _| ["algorithm", "total_steps", "num_players"].contains(&name));
        }
        let env_id = run.setting("env_id");
        let found = groups.iter_mut().find(|group| {
            group.env_id == env_id
                && is_same(&group.way, &way)
                && (together || !has_seed(group, run))
        });
        match found {
            Some(group) => group.runs.push(run),
            None => groups.push(Group {
                label: String::new(),
                env_id,
                way,
                runs: vec![run],
            }),
        }
    }
    let labels = labels(&groups);
    for (group, label) in groups.iter_mut().zip(labels) {
        group.label = label;
    }
    groups
}

/// Whether a run of the same seed is among those of a group: another says nothing more of how seeds differ.
fn has_seed(group: &Group<'_>, run: &RunFiles) -> bool {
    let seed = run.settings.get("seed");
    group
        .runs
        .iter()
        .any(|other| other.settings.get("seed") == seed)
}

/// Whether two ways of training are one. A setting that only one of them has is of another version of the program, or
/// of an algorithm that the other is not.
pub(super) fn is_same(one: &Table, other: &Table) -> bool {
    one.iter().all(|(name, value)| {
        other.get(name).is_none_or(|theirs| {
            theirs == value || number(theirs) == number(value) && number(value).is_some()
        })
    })
}

/// `1` and `1.0` are one value.
fn number(value: &Value) -> Option<f64> {
    let whole = value.as_integer().map(|number| number as f64);
    value.as_float().or(whole)
}

/// A name for each group: its algorithm, its environment where there are several, and as many of the settings by which
/// groups differ as it takes to tell them apart.
fn labels(groups: &[Group<'_>]) -> Vec<String> {
    let several_envs = groups.iter().any(|group| group.env_id != groups[0].env_id);
    let mut labels: Vec<String> = groups
        .iter()
        .map(|group| {
            let algorithm = group.runs[0].setting("algorithm").to_uppercase();
            if several_envs {
                format!("{algorithm} · {}", envs::name_in_files(&group.env_id))
            } else {
                algorithm
            }
        })
        .collect();
    let ways: Vec<&Table> = groups.iter().map(|group| &group.way).collect();
    for name in differing(&ways) {
        let longer: Vec<String> = groups
            .iter()
            .zip(&labels)
            .map(|(group, label)| match group.way.get(&name) {
                Some(value) => format!("{label} · {}", mention(&name, value)),
                None => label.clone(),
            })
            .collect();
        // Only what tells some apart that had one name so far. A setting that only one of them has is of another version
        // of the program.
        let value = |place: usize| groups[place].way.get(&name);
        let splits = |place: usize| {
            let alike = |other: &usize| labels[*other] == labels[place];
            (0..labels.len()).filter(alike).any(|other| {
                value(place).is_some() && value(other).is_some() && longer[other] != longer[place]
            })
        };
        labels = (0..labels.len())
            .map(|place| {
                let names = if splits(place) { &longer } else { &labels };
                names[place].clone()
            })
            .collect();
    }
    // What still has one name is told apart by that of its first run, and where that does not do, by its folder.
    let first = |place: usize| groups[place].runs[0];
    let with_names = (0..labels.len()).map(|place| {
        let others = (0..labels.len()).filter(|other| *other != place);
        let alike: Vec<usize> = others
            .filter(|other| labels[*other] == labels[place])
            .collect();
        let (label, run) = (&labels[place], first(place));
        if alike.is_empty() {
            label.clone()
        } else if alike.iter().all(|other| first(*other).name != run.name) {
            format!("{label} · {}", run.name)
        } else {
            format!("{label} · {}", run.folder.display())
        }
    });
    with_names.collect()
}

/// The settings with more than one value among `ways`; those that people ask for first come first.
fn differing(ways: &[&Table]) -> Vec<String> {
    const FIRST: [&str; 6] = [
        "algorithm",
        "distributional",
        "total_steps",
        "net",
        "recipe",
        "precision",
    ];
    const LAST: &str = "backend";
    let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in ways.iter().flat_map(|way| way.iter()) {
        values.entry(name).or_default().push(value.to_string());
    }
    let mut names: Vec<String> = values
        .into_iter()
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .map(|(name, _)| name.to_owned())
        .collect();
    let place = |name: &String| FIRST.iter().position(|first| first == name);
    names.sort_by_key(|name| place(name).unwrap_or(FIRST.len() + usize::from(name == LAST)));
    names
}

fn mention(name: &str, value: &Value) -> String {
    match (name, value) {
        ("total_steps", Value::Integer(steps)) => format!("{} steps", short(*steps as f64)),
        (_, Value::String(text)) if name == "precision" => text.clone(),
        (_, Value::String(text)) => format!("{name} {text}"),
        (_, value) => format!("{name} {value}"),
    }
}
