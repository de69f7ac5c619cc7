//! Results of a server as a [`StepBatch`].

use prost::bytes::Bytes;
use vec_env::{BatchSpec, StepBatch};

use crate::{
    messages::{Array, Dict, Reply, Result as StepResult, reply::Answer},
    values::{Number, narrowed},
};

/// What results have to fit.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) spec: BatchSpec,
    /// The server's observations are float64.
    pub(crate) narrows_obs: bool,
}

impl Rows {
    /// Writes the observations of a reply to `obs`, a row for each of `num_rows` environments, and the rest to `step`.
    ///
    /// # Errors
    /// What in the reply cannot be.
    pub(crate) fn read(
        &self,
        reply: Reply,
        num_rows: usize,
        obs: &mut [u8],
        step: &mut StepBatch,
    ) -> Result<(), String> {
        let Some(Answer::Result(result)) = reply.answer else {
            return Err("no result".to_owned());
        };
        let received = self.observations(reply.observations, num_rows)?;
        let place = obs.get_mut(..received.len());
        place.ok_or("too many rows")?.copy_from_slice(&received);
        self.read_step(&result, num_rows, step)
    }

    fn observations(&self, bytes: Bytes, num_rows: usize) -> Result<Bytes, String> {
        let (given, expected) = (bytes.len(), num_rows * self.spec.obs_spec.num_bytes());
        let factor = if self.narrows_obs { 2 } else { 1 };
        if given != expected * factor {
            let needed = expected * factor;
            return Err(format!("{given} bytes of observations, not {needed}"));
        }
        Ok(if self.narrows_obs {
            narrowed(&bytes).into()
        } else {
            bytes
        })
    }

    fn read_step(
        &self,
        result: &StepResult,
        num_rows: usize,
        step: &mut StepBatch,
    ) -> Result<(), String> {
        let info = result.info.as_ref().ok_or("no info")?;
        let entries = num_rows * self.spec.num_players;
        step.clear(num_rows, self.spec.num_players);
        read(result.reward.as_ref(), "reward", entries, &mut step.reward)?;
        read(
            result.terminated.as_ref(),
            "terminated",
            num_rows,
            &mut step.terminated,
        )?;
        read(
            result.truncated.as_ref(),
            "truncated",
            num_rows,
            &mut step.truncated,
        )?;
        macro_rules! read_info {
            ($($count:ident $name:literal $field:ident,)*) => {
                $(read(info.array($name), $name, $count, &mut step.$field)?;)*
            };
        }
        read_info! {
            num_rows "env_id" env_ids,
            entries "raw_reward" raw_reward,
            num_rows "lives" lives,
            num_rows "game_terminated" game_terminated,
            num_rows "game_truncated" game_truncated,
            entries "episode_return" episode_return,
            num_rows "episode_length" episode_length,
            num_rows "episode_frames" episode_frames,
        }
        let num_envs = self.spec.num_envs;
        if let Some(id) = step.env_ids.iter().find(|&&id| id >= num_envs) {
            return Err(format!("environment {id} of {num_envs}"));
        }
        if let Some(restarted) = info.array("worker_restarted") {
            restarted.read(num_rows, &mut step.worker_restarted)?;
        }
        step.add_episodes(self.spec.num_players);
        match info.array("_final_obs") {
            None => Ok(()),
            Some(ended) => self.read_finals(result, info, ended, step),
        }
    }

    /// The last observations of those rows that `ended` marks.
    fn read_finals(
        &self,
        result: &StepResult,
        info: &Dict,
        ended: &Array,
        step: &mut StepBatch,
    ) -> Result<(), String> {
        let num_rows = step.env_ids.len();
        let (mut is_ended, mut lives) = (Vec::new(), Vec::new());
        ended.read(num_rows, &mut is_ended)?;
        let last = info.dict("final_info").and_then(|last| last.array("lives"));
        read::<i32>(last, "final_info", num_rows, &mut lives)?;
        let rows: Vec<usize> = (0..num_rows).filter(|&row| is_ended[row]).collect();
        let bytes = self.observations(result.final_rows.clone(), rows.len())?;
        let each = bytes.chunks_exact(self.spec.obs_spec.num_bytes());
        for (row, bytes) in rows.into_iter().zip(each) {
            step.final_obs.push((row, bytes.to_vec()));
            step.final_lives.push(lives[row]);
        }
        Ok(())
    }
}

fn read<T: Number>(
    array: Option<&Array>,
    name: &str,
    count: usize,
    out: &mut Vec<T>,
) -> Result<(), String> {
    let array = array.ok_or_else(|| format!("a result without `{name}`"))?;
    let say = |problem| format!("for `{name}` {problem}");
    array.read(count, out).map_err(say)
}
