//! What environments bring, written to a [`StepBatch`].

use vec_env::{Episode, FinalInfo, StepBatch};

use super::sub_env::StepResult;

/// Rows of a [`StepBatch`] that are being filled.
pub(super) struct Rows<'a> {
    step: &'a mut StepBatch,
    num_players: usize,
}

impl<'a> Rows<'a> {
    /// So many rows, in which nothing has happened yet.
    pub(super) fn new(step: &'a mut StepBatch, num_rows: usize, num_players: usize) -> Self {
        step.clear(num_rows, num_players);
        Self { step, num_players }
    }

    /// Writes what the row of environment `env` says of its game; that one ended only if it took part in the call.
    pub(super) fn fill_record(
        &mut self,
        row: usize,
        env: usize,
        result: &StepResult,
        took_part: bool,
    ) {
        let (step, record) = (&mut *self.step, &result.step.record);
        let players = row * self.num_players..(row + 1) * self.num_players;
        step.env_ids[row] = env;
        let raw_reward = &result.step.raw_reward[..self.num_players];
        step.raw_reward[players.clone()].copy_from_slice(raw_reward);
        step.lives[row] = result.step.lives;
        step.game_terminated[row] = record.game_terminated;
        step.game_truncated[row] = record.game_truncated;
        step.episode_return[players].copy_from_slice(&record.episode_return[..self.num_players]);
        step.episode_length[row] = record.episode_length;
        step.episode_frames[row] = record.episode_frames;
        if took_part && (record.game_terminated || record.game_truncated) {
            step.episodes.push(Episode {
                env,
                raw_return: record.episode_return[0],
                length: record.episode_length,
                frames: record.episode_frames,
            });
        }
    }

    /// Writes the row but for the last observation.
    pub(super) fn fill_row(
        &mut self,
        row: usize,
        env: usize,
        result: &StepResult,
        took_part: bool,
    ) {
        self.fill_record(row, env, result, took_part);
        let players = row * self.num_players..(row + 1) * self.num_players;
        let reward = &result.step.reward[..self.num_players];
        self.step.reward[players].copy_from_slice(reward);
        self.step.terminated[row] = result.step.terminated;
        self.step.truncated[row] = result.step.truncated;
    }

    /// Writes all of a row that took a step; the last observation moves there.
    pub(super) fn fill_step(&mut self, row: usize, env: usize, result: &mut StepResult) {
        self.fill_row(row, env, result, true);
        let Some(last) = result.last.take() else {
            return;
        };
        let record = &result.step.record;
        self.step.final_obs.push((row, last.obs));
        self.step.final_info.push(FinalInfo {
            row,
            raw_reward: result.step.raw_reward[..self.num_players].to_vec(),
            lives: last.lives,
            game_terminated: record.game_terminated,
            game_truncated: record.game_truncated,
            episode_return: record.episode_return[..self.num_players].to_vec(),
            episode_length: record.episode_length,
            episode_frames: record.episode_frames,
        });
    }
}
