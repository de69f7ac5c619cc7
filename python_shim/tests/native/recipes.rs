//! Presets, which Rust and Python each write down.

use std::ffi::CStr;

use atari_core::rl::{Preset, Recipe};
use python_shim::pyo3::prelude::*;
use serde_json::Value;

use crate::common;

/// Each preset's parts by its name, as JSON.
const IN_PYTHON: &CStr = c"
import dataclasses, json
from atari_wrappers.recipes import PRESETS
presets = json.dumps({name: dataclasses.asdict(preset) for name, preset in PRESETS.items()})
";

#[test]
fn presets_are_those_of_python_in_every_part() {
    common::start();
    let theirs: String = Python::attach(|py| {
        let module = PyModule::from_code(py, IN_PYTHON, c"presets.py", c"presets").unwrap();
        module.getattr("presets").unwrap().extract().unwrap()
    });
    let theirs: Value = serde_json::from_str(&theirs).unwrap();
    let ours = Preset::ALL.map(|preset| {
        let mut parts = Recipe::preset(preset).parts();
        if preset == Preset::Gymnasium {
            // What the id says, which `atari_core` does not know.
            parts["sticky_actions"] = Value::Null;
        }
        (format!("{preset:?}").to_lowercase(), Value::from(parts))
    });
    assert_eq!(Value::from_iter(ours), theirs);
}
