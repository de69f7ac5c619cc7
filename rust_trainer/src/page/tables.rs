//! The settings of a page's groups beside one another.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toml::Value as Setting;

use super::groups::{Group, tells_apart};
use crate::settings::{Algorithm, groups::fields};

/// What stands for a setting that a run has not.
const MISSING: &str = "—";

/// Every setting that a group has: its value in each group, and whether they differ. Where the runs of a group have
/// several values, such as their seeds, all of them stand there.
pub(super) fn settings(groups: &[Group<'_>]) -> Vec<Value> {
    let runs = groups.iter().flat_map(|group| &group.runs);
    let mut there: BTreeSet<&str> = runs
        .flat_map(|run| run.settings.keys())
        .map(String::as_str)
        .collect();
    // Known ones in the order of the help, those of earlier programs behind them.
    let mut names: Vec<&str> = fields(Algorithm::ALL).map(|field| field.name).collect();
    names.retain(|name| there.remove(name));
    names.extend(there);
    names
        .into_iter()
        .map(|name| {
            let values: Vec<_> = groups.iter().map(|group| values_of(group, name)).collect();
            let differs_within = values.iter().any(|values| values.len() > 1);
            let values: Vec<_> = values.iter().map(|values| values.join(", ")).collect();
            // What another algorithm has not is no difference, nor is what tells the runs of a group apart.
            let mut there = values.iter().filter(|value| *value != MISSING);
            let first = there.next();
            let differs = there.any(|value| Some(value) != first) || differs_within;
            let differs = differs && tells_apart(name);
            json!({ "name": name, "values": values, "differs": differs })
        })
        .collect()
}

fn values_of(group: &Group<'_>, name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for run in &group.runs {
        let value = match run.settings.get(name) {
            None => MISSING.to_owned(),
            Some(Setting::String(text)) if text.is_empty() => "none".to_owned(),
            Some(Setting::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}
