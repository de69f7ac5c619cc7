//! What environments bring, written to a [`StepBatch`].

use vec_env::{Episode, FinalInfo, StepBatch};

use super::sub_env::StepResult;

/// Writes what the row of environment `env` says of its game; that one ended only if it took part in the call.
pub(super) fn fill_record(
    step: &mut StepBatch,
    row: usize,
    env: usize,
    result: &StepResult,
    took_part: bool,
) {
    let record = &result.step.record;
    step.env_ids[row] = env;
    step.raw_reward[row] = result.step.raw_reward;
    step.lives[row] = result.step.lives;
    step.game_terminated[row] = record.game_terminated;
    step.game_truncated[row] = record.game_truncated;
    step.episode_return[row] = record.episode_return;
    step.episode_length[row] = record.episode_length;
    step.episode_frames[row] = record.episode_frames;
    if took_part && (record.game_terminated || record.game_truncated) {
        step.episodes.push(Episode {
            env,
            raw_return: record.episode_return,
            length: record.episode_length,
            frames: record.episode_frames,
        });
    }
}

/// Writes the row but for the last observation.
pub(super) fn fill_row(
    step: &mut StepBatch,
    row: usize,
    env: usize,
    result: &StepResult,
    took_part: bool,
) {
    fill_record(step, row, env, result, took_part);
    step.reward[row] = result.step.reward;
    step.terminated[row] = result.step.terminated;
    step.truncated[row] = result.step.truncated;
}

/// Writes all of a row that took a step; the last observation moves there.
pub(super) fn fill_step(step: &mut StepBatch, row: usize, env: usize, result: &mut StepResult) {
    fill_row(step, row, env, result, true);
    let Some(last) = result.last.take() else {
        return;
    };
    let record = &result.step.record;
    step.final_obs.push((row, last.obs));
    step.final_info.push(FinalInfo {
        row,
        raw_reward: vec![result.step.raw_reward],
        lives: last.lives,
        game_terminated: record.game_terminated,
        game_truncated: record.game_truncated,
        episode_return: vec![record.episode_return],
        episode_length: record.episode_length,
        episode_frames: record.episode_frames,
    });
}
