//! The results of a step or a reset, read out of the tuples that Python returns, and refused where a number is not
//! finite.

use pyo3::{buffer::PyUntypedBuffer, prelude::*, types::PyDict};
use vec_env::{Dtype, EnvError, ObsSpec, StepBatch};

use super::{
    arrays::{Fields, broken, bytes},
    env::VecGymEnv,
};
use crate::{
    error::{CallError, gave, not_finite, showed},
    value,
};

/// Arrays of every info: those of the record, and `env_id`.
const ALWAYS: usize = 8;

/// Whether an info's array is one of those that every batch has, and not the environment's own.
fn is_known(name: &str) -> bool {
    matches!(
        name,
        "raw_reward"
            | "lives"
            | "game_terminated"
            | "game_truncated"
            | "episode_return"
            | "episode_length"
            | "episode_frames"
            | "env_id"
            | "episode"
            | "_episode"
            | "final_obs"
            | "_final_obs"
            | "final_info"
            | "_final_info"
            | "worker_restarted"
    )
}

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
        macro_rules! read {
            ($($kind:ident $name:ident,)*) => {
                $(self.fields.$kind(stringify!($name), &self.get(stringify!($name))?, &mut batch.$name)?;)*
            };
        }
        read! {
            per_player raw_reward, numbers lives, flags game_terminated, flags game_truncated,
            per_player episode_return, numbers episode_length, numbers episode_frames,
        }
        batch.absent.clear();
        batch.episodes.clear();
        batch.final_obs.clear();
        batch.final_lives.clear();
        self.env.extras.borrow_mut().clear();
        batch.worker_restarted.clear();
        batch.worker_restarted.resize(self.fields.num_rows, false);
        // Most steps end nothing, and then no other array is there.
        if self.info.len() > ALWAYS {
            self.read_events(batch)?;
        }
        Ok(())
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
        let array = self.get("env_id")?;
        self.fields.numbers("env_id", &array, &mut ids)?;
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
        batch.add_episodes(self.env.spec.num_players);
        if let Some(mask) = info.get_item("_final_obs")? {
            let mut ended = Vec::new();
            self.fields.flags("_final_obs", &mask, &mut ended)?;
            self.read_finals(&ended, batch)?;
        }
        for (key, object) in info {
            // What has no counterpart here is left out.
            let Ok(key) = key.extract::<String>() else {
                continue;
            };
            if is_known(&key) {
                continue;
            }
            match value::from_python(&object) {
                Ok(value) => self.env.extras.borrow_mut().push((key, value)),
                Err(CallError::Env(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_finals(&self, ended: &[bool], batch: &mut StepBatch) -> Result<(), CallError> {
        let last = self.get("final_info")?.get_item("lives")?;
        let mut lives = Vec::new();
        self.fields.numbers("lives", &last, &mut lives)?;
        let obs = self.get("final_obs")?;
        let buffer = self.env.observations(ended.len(), &obs)?;
        let rows = bytes(&buffer).chunks_exact(self.env.spec.obs_spec.num_bytes());
        for (row, bytes) in rows.enumerate().filter(|&(row, _)| ended[row]) {
            batch.final_obs.push((row, bytes.to_vec()));
            batch.final_lives.push(lives[row]);
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
            let who = format!("environment {env} of `{id}`");
            return Err(not_finite(&who, &gave(reward)));
        }
    }
    let rows = obs.chunks_exact(spec.num_bytes().max(1)).enumerate();
    let last = batch.final_obs.iter();
    for (row, bytes) in rows.chain(last.map(|(row, bytes)| (*row, bytes.as_slice()))) {
        if let Some(what) = showed(spec, bytes) {
            let who = format!("environment {} of `{id}`", env_of(row));
            return Err(not_finite(&who, &what));
        }
    }
    Ok(())
}
