//! The results of a step or a reset, read out of the tuples that Python returns.

use pyo3::{buffer::PyUntypedBuffer, prelude::*, types::PyDict};

use vec_env::{Episode, FinalInfo, StepBatch};

use super::{
    VecGymEnv,
    arrays::{Fields, broken, bytes, observations},
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
        let buffer = observations(&self.id, &self.spaces, num_rows, &obs)?;
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
        let num_envs = self.spaces.batch.num_envs;
        let buffer = observations(&self.id, &self.spaces, num_envs, &obs)?;
        batch.clear(num_envs, self.spaces.batch.num_players);
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
            num_players: env.spaces.batch.num_players,
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
        let (fields, get) = (&self.fields, |name| self.get(name));
        fields.per_player("raw_reward", &get("raw_reward")?, &mut batch.raw_reward)?;
        fields.numbers("lives", &get("lives")?, &mut batch.lives)?;
        let (terminated, truncated) = (&mut batch.game_terminated, &mut batch.game_truncated);
        fields.flags("game_terminated", &get("game_terminated")?, terminated)?;
        fields.flags("game_truncated", &get("game_truncated")?, truncated)?;
        let (length, frames) = (&mut batch.episode_length, &mut batch.episode_frames);
        fields.per_player(
            "episode_return",
            &get("episode_return")?,
            &mut batch.episode_return,
        )?;
        fields.numbers("episode_length", &get("episode_length")?, length)?;
        fields.numbers("episode_frames", &get("episode_frames")?, frames)
    }

    /// Which environments the rows are of; all of them need no look at the array.
    fn read_env_ids(&self, env_ids: &mut Vec<usize>) -> Result<(), CallError> {
        let num_rows = self.fields.num_rows;
        if num_rows == self.env.spaces.batch.num_envs {
            if env_ids.len() != num_rows || env_ids.iter().copied().ne(0..num_rows) {
                env_ids.clear();
                env_ids.extend(0..num_rows);
            }
            return Ok(());
        }
        let mut ids: Vec<i32> = Vec::new();
        self.fields
            .numbers("env_id", &self.get("env_id")?, &mut ids)?;
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
        let players = self.env.spaces.batch.num_players;
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
        let buffer = observations(&self.env.id, &self.env.spaces, ended.len(), &array)?;
        let rows = bytes(&buffer).chunks_exact(self.env.spaces.batch.obs_spec.num_bytes());
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
        let players = self.env.spaces.batch.num_players;
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
