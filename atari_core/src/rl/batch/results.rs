//! What environments bring, written to a [`StepBatch`].

use vec_env::{Episode, StepBatch};

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

    /// Writes the row of environment `env`. What ended is told only if it took part in the call: its game, and its episode,
    /// whose last observation moves there.
    pub(super) fn fill(
        &mut self,
        row: usize,
        env: usize,
        result: &mut StepResult,
        took_part: bool,
    ) {
        let (rows, num_players) = (&mut *self.step, self.num_players);
        let (step, record) = (&result.step, &result.step.record);
        let players = row * num_players..(row + 1) * num_players;
        rows.env_ids[row] = env;
        rows.reward[players.clone()].copy_from_slice(&step.reward[..num_players]);
        rows.raw_reward[players.clone()].copy_from_slice(&step.raw_reward[..num_players]);
        rows.terminated[row] = step.terminated;
        rows.truncated[row] = step.truncated;
        rows.lives[row] = step.lives;
        rows.game_terminated[row] = record.game_terminated;
        rows.game_truncated[row] = record.game_truncated;
        rows.episode_return[players].copy_from_slice(&record.episode_return[..num_players]);
        rows.episode_length[row] = record.episode_length;
        rows.episode_frames[row] = record.episode_frames;
        if !took_part {
            return;
        }
        if record.game_terminated || record.game_truncated {
            rows.episodes.push(Episode {
                env,
                raw_return: record.episode_return[0],
                length: record.episode_length,
                frames: record.episode_frames,
            });
        }
        if let Some(last) = result.last.take() {
            rows.final_obs.push((row, last.obs));
            rows.final_lives.push(last.lives);
        }
    }
}
