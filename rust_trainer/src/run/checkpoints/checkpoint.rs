//! Checkpoints: safetensors files with the tensors of an algorithm, the states of the environments and,
//! as metadata, everything else that a run needs to go on. A replay memory lies in a file beside it.
//!
//! A checksum covers all of it, and a file is whole or not there. Reading one runs no code.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt::Display,
    fs,
    path::{Path, PathBuf},
};

use safetensors::{SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tch::Device;
use vec_env::{ActionSpace, Dtype, ObsSpec, VecEnv};

use super::{
    action_space,
    files::{has_replay, path_of, path_of_replay},
    replay,
    tensors::{Stored, load},
};
use crate::{
    algorithms::{self, State},
    error::TrainerError,
    files,
    policy::Policy,
    report::Evaluation,
    settings::{FILE_OF_RUN, Settings, fields::shown, read_file},
    tensors::is_finite,
};

/// How files begin that `torch.save` and `pickle.dump` write: to read one can run any code.
const PICKLES: [&[u8]; 4] = [b"PK\x03\x04", b"\x80\x02", b"\x80\x04", b"\x80\x05"];

/// Goes up when what is stored changes its meaning.
const FORMAT_VERSION: u32 = 2;

/// What a checkpoint's header says besides its tensors, by name.
type Metadata = BTreeMap<String, String>;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Agent steps, over all environments.
    pub step: u64,
    /// Updates.
    pub update: u64,
    /// Agent steps at the end of the last update.
    #[serde(default)]
    pub updated_at: u64,
    /// Seconds spent training.
    pub seconds: f64,
    /// How often failed workers were restarted.
    pub worker_restarts: u64,
    /// Games that the run's table has; 0 where an older program did not count them.
    #[serde(default)]
    pub games: u64,
    /// Evaluations that the run's table has.
    #[serde(default)]
    pub evaluations: u64,
}

/// What a checkpoint holds.
#[derive(Debug)]
pub struct Checkpoint {
    /// The settings of the run.
    pub settings: Settings,
    /// How far it has come.
    pub counters: Counters,
    /// On what the last bits of its numbers depend, by name: device, threads, processor; empty in older ones.
    pub arithmetic: BTreeMap<String, String>,
    /// The observations that the network expects.
    pub obs_spec: ObsSpec,
    /// The actions of the policy.
    pub action_space: ActionSpace,
    /// What the algorithm has learned.
    pub state: State,
    /// The environments as they stood then.
    pub envs: EnvStates,
    /// Checksum of the replay memory beside it; `None` where there is none.
    pub replay: Option<String>,
    /// What an evaluation found it to be worth: the best checkpoint's reason.
    pub evaluation: Option<Evaluation>,
}

/// The environments of a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum EnvStates {
    /// The state of each, as [`VecEnv::save_state`](vec_env::VecEnv::save_state) returned it.
    Saved(Vec<Vec<u8>>),
    /// Why they are not there: the games start over.
    Missing(String),
}

/// How the tensors with the states of environments are named, before their index.
const ENV_STATE: &str = "env_state.";

impl Checkpoint {
    /// Writes it into `folder` as `step-<step>.safetensors`.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, TrainerError> {
        let path = path_of(folder, self.counters.step);
        self.write(&path)?;
        Ok(path)
    }

    /// Writes it to `path`, and before it the replay memory, if there is one, beside it. Where that cannot be
    /// written, the checkpoint is nevertheless, unless an older one there has its own.
    pub fn write(&self, path: &Path) -> Result<(), TrainerError> {
        let failed = |problem: &dyn ToString| TrainerError::checkpoint(path, problem.to_string());
        let mut tensors = Vec::new();
        for (name, tensor) in &self.state.tensors {
            tensors.push((name.clone(), Stored::new(tensor)?));
        }
        if let EnvStates::Saved(states) = &self.envs {
            let stored = states.iter().map(|state| Stored::from_bytes(state));
            let named = stored.enumerate();
            tensors.extend(named.map(|(index, state)| (format!("{ENV_STATE}{index}"), state)));
        }
        let mut views = BTreeMap::new();
        for (name, stored) in &tensors {
            let view = TensorView::new(stored.format, stored.shape.clone(), &stored.bytes);
            views.insert(name.as_str(), view.map_err(|error| failed(&error))?);
        }
        let mut metadata = self.metadata().map_err(|error| failed(&error))?;
        if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
            // This one only: the folder of a run that is lost is not made anew.
            fs::create_dir(folder)
                .and_then(|()| files::sync_folder(folder.parent().unwrap_or(folder)))
                .map_err(TrainerError::io("create", folder))?;
        }
        let replay = match self.state.replay.as_slice() {
            [] => Ok(None),
            tensors => replay::write(&path_of_replay(path), tensors).map(Some),
        };
        if replay.is_err() && has_replay(path.parent().unwrap_or(path)) {
            return replay.map(|_| ());
        }
        let named = replay.as_ref().map_or(Some(MISSING), Option::as_deref);
        metadata.extend(named.map(|checksum| ("replay".to_owned(), checksum.to_owned())));
        metadata.insert("checksum".to_owned(), checksum(&metadata, &views));
        let bytes = safetensors::serialize(views, Some(metadata.into_iter().collect()))
            .map_err(|error| failed(&error))?;
        files::write(path, &bytes)?;
        replay.map(|_| ())
    }

    /// Refuses numbers that are none: what they are in can neither play nor learn on.
    pub fn check_finite(&self) -> Result<(), TrainerError> {
        let mut tensors = self.state.tensors.iter();
        match tensors.find(|(_, tensor)| !is_finite(tensor)) {
            Some((name, _)) => Err(TrainerError::State(format!(
                "tensor `{name}` has numbers that are not finite"
            ))),
            None => Ok(()),
        }
    }

    fn metadata(&self) -> Result<Metadata, Box<dyn Error>> {
        let dtype = match self.obs_spec.dtype {
            Dtype::Uint8 => "uint8",
            Dtype::Float32 => "float32",
        };
        let made_by = format!("rust_trainer {}", build_commit::VERSION);
        let entries = [
            ("format_version", FORMAT_VERSION.to_string()),
            ("made_by", made_by),
            ("settings", serde_json::to_string(&self.settings)?),
            ("counters", serde_json::to_string(&self.counters)?),
            ("arithmetic", serde_json::to_string(&self.arithmetic)?),
            ("obs_shape", serde_json::to_string(&self.obs_spec.shape)?),
            ("obs_dtype", dtype.to_owned()),
            ("action_space", action_space::to_text(&self.action_space)?),
            ("algorithm", serde_json::to_string(&self.state.values)?),
        ];
        let mut entries = Metadata::from(entries.map(|(name, text)| (name.to_owned(), text)));
        if let EnvStates::Missing(why) = &self.envs {
            entries.insert("games_start_anew".to_owned(), why.clone());
        }
        if let Some(evaluation) = &self.evaluation {
            let text = serde_json::to_string(evaluation)?;
            entries.insert("evaluation".to_owned(), text);
        }
        Ok(entries)
    }

    /// Reads a checkpoint, but for the replay memory beside it: [`Checkpoint::read_replay`] does.
    ///
    /// # Errors
    /// [`TrainerError::Checkpoint`] for a damaged file; others for one that cannot be read or is no checkpoint.
    pub fn read(path: &Path) -> Result<Self, TrainerError> {
        let bytes = files::read(path).map_err(TrainerError::io("read", path))?;
        Self::parse(path, &bytes)
    }

    /// The checkpoint that the `bytes` of the file at `path` are.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, TrainerError> {
        let damaged = |problem| TrainerError::checkpoint(path, problem);
        let foreign =
            |what| TrainerError::Usage(format!("checkpoint `{}`: is {what}", path.display()));
        let metadata = match read_metadata(bytes) {
            Ok(metadata) => metadata,
            // The length of a header may begin as a pickle does.
            Err(_) if PICKLES.iter().any(|start| bytes.starts_with(start)) => {
                return Err(foreign(
                    "a file of PyTorch or Python (a pickle): none is ever loaded",
                ));
            }
            Err(problem) => return Err(damaged(problem)),
        };
        if !metadata.contains_key("format_version") {
            return Err(foreign(
                "a safetensors file, but no checkpoint of this program",
            ));
        }
        let version = text(&metadata, "format_version").map_err(damaged)?;
        if version != FORMAT_VERSION.to_string() {
            return Err(TrainerError::Usage(format!(
                "checkpoint `{}` has format version {version}, this program reads version {FORMAT_VERSION}",
                path.display()
            )));
        }
        Self::from_bytes(bytes, metadata).map_err(damaged)
    }

    fn from_bytes(bytes: &[u8], mut metadata: Metadata) -> Result<Self, String> {
        let found = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let expected = metadata.remove("checksum");
        let views: BTreeMap<&str, TensorView<'_>> = found.iter().collect();
        if expected != Some(checksum(&metadata, &views)) {
            return Err("is damaged: its checksum is another".to_owned());
        }
        let mut state = State {
            tensors: Vec::new(),
            values: entry(&metadata, "algorithm")?,
            replay: Vec::new(),
        };
        let mut env_states = BTreeMap::new();
        for (name, view) in views {
            if let Some(index) = name.strip_prefix(ENV_STATE) {
                let index: usize = index
                    .parse()
                    .map_err(|_| format!("has a tensor `{name}`"))?;
                env_states.insert(index, view.data().to_vec());
                continue;
            }
            let tensor = load(&view).map_err(|problem| format!("tensor `{name}`: {problem}"))?;
            state.tensors.push((name.to_owned(), tensor));
        }
        let envs = match metadata.get("games_start_anew") {
            Some(why) => EnvStates::Missing(why.clone()),
            None => EnvStates::Saved(env_states.into_values().collect()),
        };
        Ok(Self {
            settings: entry(&metadata, "settings")?,
            counters: entry(&metadata, "counters")?,
            arithmetic: optional(&metadata, "arithmetic")?.unwrap_or_default(),
            obs_spec: ObsSpec {
                shape: entry(&metadata, "obs_shape")?,
                dtype: match text(&metadata, "obs_dtype")?.as_str() {
                    "uint8" => Dtype::Uint8,
                    _ => Dtype::Float32,
                },
            },
            action_space: action_space::from_text(&text(&metadata, "action_space")?)
                .map_err(|problem| not_understood("action_space", problem))?,
            state,
            envs,
            replay: metadata.get("replay").cloned(),
            evaluation: optional(&metadata, "evaluation")?,
        })
    }

    /// Reads the replay memory beside the checkpoint at `path` into its state, if it has one.
    pub fn read_replay(&mut self, path: &Path) -> Result<(), TrainerError> {
        let Some(checksum) = &self.replay else {
            return Ok(());
        };
        let path = path_of_replay(path);
        let read = replay::read(&path, checksum);
        self.state.replay = read.map_err(|problem| TrainerError::checkpoint(&path, problem))?;
        Ok(())
    }

    /// The policy in it, on `device`.
    pub fn policy(&self, device: Device) -> Result<Box<dyn Policy>, TrainerError> {
        algorithms::load_policy(
            &self.settings,
            &self.obs_spec,
            &self.action_space,
            device,
            &self.state,
        )
    }

    /// Refuses a checkpoint at `path` that is of another run than the one with `settings`, whatever of
    /// them a resumed run may change.
    pub fn check_belongs(&self, path: &Path, settings: &Settings) -> Result<(), TrainerError> {
        let Some((name, own, of_file)) = self.settings.difference(settings, &[]) else {
            return Ok(());
        };
        let (own, of_file) = (shown(&own), shown(&of_file));
        let file = path.ancestors().nth(2).map(|run| run.join(FILE_OF_RUN));
        let written = file.and_then(|file| read_file::<toml::Table>(&file).ok());
        let is_cut = written.is_some_and(|table| !table.contains_key(&name));
        let problem = if is_cut {
            format!(
                "has `{name}` = {own}, which settings.toml lacks: remove that file, and it is written again"
            )
        } else {
            format!("is of another run: its `{name}` is {own}, that of settings.toml is {of_file}")
        };
        Err(TrainerError::checkpoint(path, problem))
    }

    /// Refuses a checkpoint at `path` whose network cannot play in `env`.
    pub fn check_spaces(&self, path: &Path, env: &dyn VecEnv) -> Result<(), TrainerError> {
        if (&self.obs_spec, &self.action_space) == (env.obs_spec(), env.action_space()) {
            return Ok(());
        }
        let problem = "is of an environment with other observations or actions";
        Err(TrainerError::checkpoint(path, problem))
    }
}

/// In place of the checksum of a replay memory that could not be written.
const MISSING: &str = "missing";

/// CRC-32 of everything in a checkpoint but itself.
fn checksum(metadata: &Metadata, tensors: &BTreeMap<&str, TensorView<'_>>) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for (name, text) in metadata {
        hasher.update(format!("{name}={text}\n").as_bytes());
    }
    for (name, view) in tensors {
        let kind = format!("{name}: {:?} {:?}\n", view.dtype(), view.shape());
        hasher.update(kind.as_bytes());
        hasher.update(view.data());
    }
    replay::checksum(hasher.finalize())
}

fn read_metadata(bytes: &[u8]) -> Result<Metadata, String> {
    let header = SafeTensors::read_metadata(bytes);
    let (_, header) =
        header.map_err(|problem| format!("is damaged, or no checkpoint: {problem}"))?;
    let metadata = header.metadata().iter().flatten();
    Ok(metadata
        .map(|(name, text)| (name.clone(), text.clone()))
        .collect())
}

fn damaged(problem: impl Display) -> String {
    format!("is damaged: {problem}")
}

fn text(metadata: &Metadata, name: &str) -> Result<String, String> {
    let text = metadata.get(name).cloned();
    text.ok_or_else(|| format!("lacks `{name}`"))
}

fn entry<T: DeserializeOwned>(metadata: &Metadata, name: &str) -> Result<T, String> {
    let text = text(metadata, name)?;
    serde_json::from_str(&text).map_err(|error| not_understood(name, error))
}

/// An entry that not every checkpoint has.
fn optional<T: DeserializeOwned>(metadata: &Metadata, name: &str) -> Result<Option<T>, String> {
    let text = metadata.get(name);
    text.map(|_| entry(metadata, name)).transpose()
}

fn not_understood(name: &str, problem: impl Display) -> String {
    format!("its `{name}` is not understood: {problem}")
}
