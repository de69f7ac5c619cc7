//! Checkpoints: a folder with all tensors and, as JSON, everything else.
//!
//! Written aside and renamed, so that a checkpoint is whole or not there. Loading one runs no code.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tch::Tensor;
use vec_env::{Dtype, ObsSpec};

use crate::{algorithms, error::TrainerError, settings::Settings};

const FORMAT: u32 = 1;
const TENSORS: &str = "tensors.safetensors";
const STATE: &str = "state.json";

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Agent steps, over all environments.
    pub step: u64,
    /// Updates.
    pub update: u64,
    /// Seconds spent training.
    pub seconds: f64,
}

/// What a checkpoint holds beside the tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    format: u32,
    /// The settings of the run.
    pub settings: Settings,
    /// How far it has come.
    pub counters: Counters,
    algorithm: Map<String, Value>,
    obs_shape: Vec<usize>,
    obs_is_image: bool,
    /// Number of actions of the policy.
    pub num_actions: i64,
}

impl State {
    /// The observations that the network expects.
    #[must_use]
    pub fn obs_spec(&self) -> ObsSpec {
        let dtype = if self.obs_is_image {
            Dtype::Uint8
        } else {
            Dtype::Float32
        };
        ObsSpec {
            shape: self.obs_shape.clone(),
            dtype,
        }
    }
}

/// Writes a checkpoint into `folder` as `step-<step>` and drops all but the newest `keep`.
///
/// # Errors
/// A file that cannot be written.
pub fn save(
    folder: &Path,
    state: &algorithms::State,
    settings: &Settings,
    counters: Counters,
    spec: &ObsSpec,
    num_actions: i64,
) -> Result<PathBuf, TrainerError> {
    let target = folder.join(format!("step-{:012}", counters.step));
    let aside = folder.join(".writing");
    if aside.exists() {
        fs::remove_dir_all(&aside).map_err(|source| TrainerError::io("remove", &aside, source))?;
    }
    fs::create_dir_all(&aside).map_err(|source| TrainerError::io("create", &aside, source))?;

    Tensor::write_safetensors(&state.tensors, aside.join(TENSORS))?;
    let state = State {
        format: FORMAT,
        algorithm: state.values.clone(),
        settings: settings.clone(),
        counters,
        obs_shape: spec.shape.clone(),
        obs_is_image: spec.dtype == Dtype::Uint8,
        num_actions,
    };
    write_json(&aside.join(STATE), &state)?;

    if target.exists() {
        fs::remove_dir_all(&target)
            .map_err(|source| TrainerError::io("replace", &target, source))?;
    }
    fs::rename(&aside, &target).map_err(|source| TrainerError::io("rename", &target, source))?;
    for old in list(folder)?
        .into_iter()
        .rev()
        .skip(settings.run.keep_checkpoints)
    {
        fs::remove_dir_all(&old).map_err(|source| TrainerError::io("remove", &old, source))?;
    }
    Ok(target)
}

/// Reads what a checkpoint holds beside the tensors.
///
/// # Errors
/// A folder that is no checkpoint, or one of another format.
pub fn read_state(checkpoint: &Path) -> Result<State, TrainerError> {
    let path = checkpoint.join(STATE);
    let text =
        fs::read_to_string(&path).map_err(|source| TrainerError::io("read", &path, source))?;
    let state: State = serde_json::from_str(&text)
        .map_err(|source| TrainerError::checkpoint(checkpoint, source))?;
    if state.format != FORMAT {
        let problem = format!(
            "has format {}, this program reads format {FORMAT}",
            state.format
        );
        return Err(TrainerError::checkpoint(checkpoint, problem));
    }
    Ok(state)
}

/// Reads what the algorithm needs to go on.
///
/// # Errors
/// Missing or broken files.
pub fn read_algorithm(checkpoint: &Path) -> Result<algorithms::State, TrainerError> {
    let tensors = Tensor::read_safetensors(checkpoint.join(TENSORS))
        .map_err(|error| TrainerError::checkpoint(checkpoint, error))?;
    Ok(algorithms::State {
        tensors,
        values: read_state(checkpoint)?.algorithm,
    })
}

/// The checkpoints in `folder`, oldest first.
///
/// # Errors
/// A folder that cannot be listed.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let error = |source| TrainerError::io("list", folder, source);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.join(STATE).exists()
            && path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("step-"))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The checkpoint that `path` means: itself, or the newest of the run in that folder.
///
/// # Errors
/// A path that is neither a checkpoint nor a run with one.
pub fn find(path: &Path) -> Result<PathBuf, TrainerError> {
    if path.join(STATE).exists() {
        return Ok(path.to_owned());
    }
    newest(path)
}

/// The newest checkpoint of the run in the folder `run`.
///
/// # Errors
/// A folder that is no run with a checkpoint; one that is a checkpoint itself.
pub fn newest(run: &Path) -> Result<PathBuf, TrainerError> {
    if !run.exists() {
        let problem = "does not exist; name a run's folder";
        return Err(TrainerError::checkpoint(run, problem));
    }
    if run.join(STATE).exists() {
        let above = run.parent().and_then(Path::parent);
        let above = above.map_or_else(String::new, |folder| format!(" `{}`", folder.display()));
        let problem =
            format!("is one of a run; name the run's folder{above}, whose newest is taken");
        return Err(TrainerError::checkpoint(run, problem));
    }
    let newest = list(&run.join("checkpoints"))?.pop();
    newest.ok_or_else(|| TrainerError::checkpoint(run, "holds no checkpoint; name a run's folder"))
}

/// Writes `value` as JSON, aside first.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TrainerError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|source| TrainerError::io("encode", path, source.into()))?;
    let aside = path.with_extension("writing");
    fs::write(&aside, text + "\n").map_err(|source| TrainerError::io("write", &aside, source))?;
    fs::rename(&aside, path).map_err(|source| TrainerError::io("rename", path, source))
}
