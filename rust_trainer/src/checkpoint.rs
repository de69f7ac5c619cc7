//! Checkpoints: a folder with the weights, the optimizer's state and, as JSON, everything else.
//!
//! Written aside and renamed, so that a checkpoint is whole or not there. Loading one runs no code.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};
use vec_env::{Dtype, ObsSpec};

use crate::{error::TrainerError, learner::Learner, settings::Settings};

const FORMAT: u32 = 1;
const WEIGHTS: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
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
    /// Gradient steps that the optimizer took.
    pub optimizer_steps: u64,
    /// The generator of actions and minibatches.
    pub rng: Pcg64,
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

/// Writes a checkpoint of `learner` into `folder` as `step-<step>` and drops all but the newest `keep`.
///
/// # Errors
/// A file that cannot be written.
pub fn save(
    folder: &Path,
    learner: &Learner,
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

    let weights: Vec<(&str, Tensor)> = learner
        .net
        .params
        .named()
        .map(|(name, tensor)| (name, tensor.detach().to_device(Device::Cpu)))
        .collect();
    Tensor::write_safetensors(&weights, aside.join(WEIGHTS))?;
    let moments: Vec<(&str, Tensor)> = learner
        .optimizer
        .state()
        .into_iter()
        .map(|(name, tensor)| (name, tensor.to_device(Device::Cpu)))
        .collect();
    Tensor::write_safetensors(&moments, aside.join(OPTIMIZER))?;
    let state = State {
        format: FORMAT,
        settings: settings.clone(),
        counters,
        optimizer_steps: learner.optimizer.steps,
        rng: learner.rng.clone(),
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

/// Copies a checkpoint's weights, and with `optimizer` the optimizer's state, into `learner`.
///
/// # Errors
/// Missing or misshapen tensors.
pub fn load_tensors(
    checkpoint: &Path,
    learner: &mut Learner,
    optimizer: bool,
) -> Result<(), TrainerError> {
    let wrong = |problem: String| TrainerError::checkpoint(checkpoint, problem);
    let weights = Tensor::read_safetensors(checkpoint.join(WEIGHTS))
        .map_err(|error| wrong(error.to_string()))?;
    let shapes: Vec<(&str, Vec<i64>)> = learner
        .net
        .params
        .named()
        .map(|(name, tensor)| (name, tensor.size()))
        .collect();
    for (index, (name, shape)) in shapes.into_iter().enumerate() {
        let (_, tensor) = weights
            .iter()
            .find(|(saved, _)| saved == name)
            .ok_or_else(|| wrong(format!("weight `{name}` is missing")))?;
        if tensor.size() != shape {
            return Err(wrong(format!(
                "weight `{name}` has shape {:?}, the network needs {shape:?}",
                tensor.size()
            )));
        }
        learner.net.params.set(index, tensor);
    }
    if optimizer {
        let moments = Tensor::read_safetensors(checkpoint.join(OPTIMIZER))
            .map_err(|error| wrong(error.to_string()))?;
        if moments.len() != learner.optimizer.state().len() {
            return Err(wrong("is of another optimizer".to_owned()));
        }
        for (name, tensor) in &moments {
            if !learner.optimizer.restore(name, tensor) {
                return Err(wrong(format!(
                    "`{name}` does not belong to this optimizer and network"
                )));
            }
        }
    }
    Ok(())
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
