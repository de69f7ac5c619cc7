//! The results of a step or a reset, read out of the tuples that Python returns, and refused where a number is not
//! finite.

use pyo3::{
    buffer::{Element, PyUntypedBuffer},
    prelude::*,
    types::PyDict,
};
use vec_env::{Dtype, EnvError, Episode, FinalInfo, ObsSpec, StepBatch};

use super::{
    arrays::{Fields, broken, bytes},
    env::VecGymEnv,
};
use crate::{error::CallError, value};

/// Arrays of every info: those of the record, and `env_id`.
const ALWAYS: usize = 8;

/// Names that an info may have, beside which there are only the environment's own.
const KNOWN: [&str; 15] = [
    "raw_reward",
    "lives",
    "game_terminated",
    "game_truncated",
    "episode_return",
    "episode_length",
    "episode_frames",
    "env_id",
    "episode",
    "_episode",
    "final_obs",
    "_final_obs",
    "final_info",
    "_final_info",
    "worker_restarted",
];

impl VecGymEnv {
    /// Borrows observations of `num_rows` environments, after checking their size and type; those of float64
    /// are rounded to float32 first, in an array of their own.
    fn observations(
        &self,
        num_rows: usize,
        obs: &Bound<'_, PyAny>,
    ) -> Result<PyUntypedBuffer, CallError> {
        let buffer = if self.narrows_obs {
            PyUntypedBuffer::get(&obs.call_method1("astype", ("float32",))?)?
        } else {
            PyUntypedBuffer::get(obs)?
        };
        let ObsSpec { shape, dtype } = &self.spec.obs_spec;
        let format_fits = match dtype {
            Dtype::Uint8 => buffer.as_typed::<u8>().is_ok(),
            Dtype::Float32 => buffer.as_typed::<f32>().is_ok(),
        };
        let expected = [&[num_rows], shape.as_slice()].concat();
        if format_fits && buffer.shape() == expected && buffer.is_c_contiguous() {
            return Ok(buffer);
        }
        let problem = format!(
            "observations are {:?} of shape {:?}, not C-contiguous {dtype:?} of shape {expected:?}",
            buffer.format(),
            buffer.shape(),
        );
        Err(broken(&self.id, &problem))
    }

    /// Fills `batch` from the tuple `(obs, reward, terminated, truncated, info)` of `num_rows`
    /// environments and borrows `obs`.
    pub(super) fn read_step(
        &self,
        num_rows: usize,
        result: &Bound<'_, PyAny>,
        batch: &mut StepBatch,
    ) -> Result<PyUntypedBuffer, CallError> {
        let (obs, reward, terminated, truncated, info) = result.extract::<(
            Bound<'_, PyAny>,
            Bound<'_, PyAny>,
            Bound<'_, PyAny>,
            Bound<'_, PyAny>,
            Bound<'_, PyDict>,
        )>()?;
        let reader = InfoReader::new(self, num_rows, &info);
        let buffer = self.observations(num_rows, &obs)?;
        let fields = &reader.fields;
        fields.per_player("reward", &reward, &mut batch.reward)?;
        fields.flags("terminated", &terminated, &mut batch.terminated)?;
        fields.flags("truncated", &truncated, &mut batch.truncated)?;
        reader.read(batch)?;
        Ok(buffer)
    }

    /// Fills `batch` from the tuple `(obs, info)` of all environments and borrows `obs`.
    pub(super) fn read_reset(
        &self,
        result: &Bound<'_, PyAny>,
        batch: &mut StepBatch,
    ) -> Result<PyUntypedBuffer, CallError> {
        let (obs, info) = result.extract::<(Bound<'_, PyAny>, Bound<'_, PyDict>)>()?;
        let num_envs = self.spec.num_envs;
        let buffer = self.observations(num_envs, &obs)?;
        batch.clear(num_envs, self.spec.num_players);
        InfoReader::new(self, num_envs, &info).read(batch)?;
        Ok(buffer)
    }
}

struct InfoReader<'a, 'py> {
    env: &'a VecGymEnv,
    fields: Fields<'a>,
    info: &'a Bound<'py, PyDict>,
}

impl<'a, 'py> InfoReader<'a, 'py> {
    fn new(env: &'a VecGymEnv, num_rows: usize, info: &'a Bound<'py, PyDict>) -> Self {
        let fields = Fields {
            id: &env.id,
            num_rows,
            num_players: env.spec.num_players,
        };
        Self { env, fields, info }
    }

    fn read(&self, batch: &mut StepBatch) -> Result<(), CallError> {
        self.read_env_ids(&mut batch.env_ids)?;
        self.read_record(batch)?;
        batch.episodes.clear();
        batch.final_obs.clear();
        batch.final_info.clear();
        self.env.extras.borrow_mut().clear();
        batch.worker_restarted.clear();
        batch.worker_restarted.resize(self.fields.num_rows, false);
        // Most steps end nothing, and then no other array is there.
        if self.info.len() > ALWAYS {
            self.read_events(batch)?;
        }
        Ok(())
    }

    /// The arrays that every info has.
    fn read_record(&self, batch: &mut StepBatch) -> Result<(), CallError> {
        self.per_player("raw_reward", &mut batch.raw_reward)?;
        self.numbers("lives", &mut batch.lives)?;
        self.flags("game_terminated", &mut batch.game_terminated)?;
        self.flags("game_truncated", &mut batch.game_truncated)?;
        self.per_player("episode_return", &mut batch.episode_return)?;
        self.numbers("episode_length", &mut batch.episode_length)?;
        self.numbers("episode_frames", &mut batch.episode_frames)
    }

    fn numbers<T: Element + Default>(&self, name: &str, out: &mut Vec<T>) -> Result<(), CallError> {
        self.fields.numbers(name, &self.get(name)?, out)
    }

    fn per_player<T: Element + Default>(
        &self,
        name: &str,
        out: &mut Vec<T>,
    ) -> Result<(), CallError> {
        self.fields.per_player(name, &self.get(name)?, out)
    }

    fn flags(&self, name: &str, out: &mut Vec<bool>) -> Result<(), CallError> {
        self.fields.flags(name, &self.get(name)?, out)
    }

    /// Which environments the rows are of; all of them need no look at the array.
    fn read_env_ids(&self, env_ids: &mut Vec<usize>) -> Result<(), CallError> {
        let num_rows = self.fields.num_rows;
        if num_rows == self.env.spec.num_envs {
            if env_ids.len() != num_rows || env_ids.iter().copied().ne(0..num_rows) {
                env_ids.clear();
                env_ids.extend(0..num_rows);
            }
            return Ok(());
        }
        let mut ids: Vec<i32> = Vec::new();
        self.numbers("env_id", &mut ids)?;
        env_ids.clear();
        env_ids.extend(ids.into_iter().map(|id| id as usize));
        Ok(())
    }

    /// What is there only where something ended, failed, or has more to say.
    fn read_events(&self, batch: &mut StepBatch) -> Result<(), CallError> {
        let info = self.info;
        if let Some(restarted) = info.get_item("worker_restarted")? {
            let out = &mut batch.worker_restarted;
            self.fields.flags("worker_restarted", &restarted, out)?;
        }
        let rows = 0..self.fields.num_rows;
        let players = self.env.spec.num_players;
        batch.episodes.extend(
            rows.filter(|&row| batch.game_terminated[row] || batch.game_truncated[row])
                .map(|row| Episode {
                    env: batch.env_ids[row],
                    raw_return: batch.episode_return[row * players],
                    length: batch.episode_length[row],
                    frames: batch.episode_frames[row],
                }),
        );
        if let Some(mask) = info.get_item("_final_obs")? {
            let mut ended = Vec::new();
            self.fields.flags("_final_obs", &mask, &mut ended)?;
            self.read_final_obs(&ended, batch)?;
            self.read_final_info(&ended, batch)?;
        }
        for (key, object) in info {
            let key: String = key.extract()?;
            if !KNOWN.contains(&key.as_str())
                && let Ok(value) = value::from_python(&object)?
            {
                self.env.extras.borrow_mut().push((key, value));
            }
        }
        Ok(())
    }

    fn read_final_obs(&self, ended: &[bool], batch: &mut StepBatch) -> Result<(), CallError> {
        let array = self.get("final_obs")?;
        let buffer = self.env.observations(ended.len(), &array)?;
        let rows = bytes(&buffer).chunks_exact(self.env.spec.obs_spec.num_bytes());
        for (row, bytes) in rows.enumerate().filter(|&(row, _)| ended[row]) {
            batch.final_obs.push((row, bytes.to_vec()));
        }
        Ok(())
    }

    fn read_final_info(&self, ended: &[bool], batch: &mut StepBatch) -> Result<(), CallError> {
        let dict = self.get("final_info")?;
        let dict = dict.cast_into::<PyDict>().map_err(PyErr::from)?;
        let mut last = StepBatch::default();
        InfoReader::new(self.env, ended.len(), &dict).read_record(&mut last)?;
        let players = self.env.spec.num_players;
        for row in (0..ended.len()).filter(|&row| ended[row]) {
            let of_row = row * players..(row + 1) * players;
            batch.final_info.push(FinalInfo {
                row,
                raw_reward: last.raw_reward[of_row.clone()].to_vec(),
                lives: last.lives[row],
                game_terminated: last.game_terminated[row],
                game_truncated: last.game_truncated[row],
                episode_return: last.episode_return[of_row].to_vec(),
                episode_length: last.episode_length[row],
                episode_frames: last.episode_frames[row],
            });
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Bound<'py, PyAny>, CallError> {
        let missing = || broken(self.fields.id, &format!("the info has no `{name}`"));
        self.info.get_item(name)?.ok_or_else(missing)
    }
}

/// Refuses rewards and observations of environment `id` that are not finite, before they are in a learner's memory:
/// a loss would show them later, and not say where they come from.
///
/// # Errors
/// [`EnvError::Backend`], which names the environment and what it gave.
pub(super) fn check_finite(
    id: &str,
    spec: &ObsSpec,
    obs: &[u8],
    batch: &StepBatch,
) -> Result<(), EnvError> {
    let env_of = |row: usize| batch.env_ids.get(row).copied().unwrap_or(row);
    for rewards in [&batch.raw_reward, &batch.reward] {
        if let Some(place) = rewards.iter().position(|reward| !reward.is_finite()) {
            let players = rewards.len() / batch.env_ids.len().max(1);
            let env = env_of(place / players.max(1));
            let reward = rewards[place];
            return Err(refusal(id, env, &format!("gave the reward {reward}")));
        }
    }
    if spec.dtype != Dtype::Float32 {
        return Ok(());
    }
    let rows = obs.chunks_exact(spec.num_bytes().max(1)).enumerate();
    let last = batch.final_obs.iter();
    for (row, bytes) in rows.chain(last.map(|(row, bytes)| (*row, bytes.as_slice()))) {
        let (floats, _) = bytes.as_chunks();
        let mut floats = floats.iter().map(|bytes| f32::from_ne_bytes(*bytes));
        if floats.clone().all(f32::is_finite) {
            continue;
        }
        if let Some(place) = floats.position(|float| !float.is_finite()) {
            let shown = f32::from_ne_bytes(bytes.as_chunks().0[place]);
            let what = format!(
                "showed {shown} at place {place} of an observation of shape {:?}",
                spec.shape
            );
            return Err(refusal(id, env_of(row), &what));
        }
    }
    Ok(())
}

fn refusal(id: &str, env: usize, what: &str) -> EnvError {
    EnvError::Backend {
        message: format!(
            "environment {env} of `{id}` {what}: nothing can be learned from numbers that are not finite; \
             mend the environment, or wrap it"
        ),
        details: None,
        is_usage: false,
    }
}
