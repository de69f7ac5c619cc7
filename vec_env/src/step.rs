//! What a step or a reset brings beside the observations.

use crate::env::Transition;

/// A true game that ended: all lives lost, the goal reached, or the time limit hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Index of the environment.
    pub env: usize,
    /// Sum of the raw (unclipped) rewards over all lives; with two players, the first one's.
    pub raw_return: f64,
    /// Length in agent steps.
    pub length: i64,
    /// Length in emulator frames; equals `length` where nothing is skipped.
    pub frames: i64,
}

/// What a step or a reset brought beside the observations; one entry for each row received.
///
/// With two players `reward`, `raw_reward` and `episode_return` have two entries a row, one after the
/// other. Reused from step to step: every call that fills it overwrites every field. A reset fills it
/// with what its info says; rewards are 0 then, and nothing has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepBatch {
    /// Which environment each row is of: `0..num_envs` unless batches are smaller.
    pub env_ids: Vec<usize>,
    /// The reward to learn from (clipped to its sign for Atari).
    pub reward: Vec<f32>,
    /// The reward as the environment gave it.
    pub raw_reward: Vec<f32>,
    /// The task itself ended; with episodic life, a lost life too.
    pub terminated: Vec<bool>,
    /// A time limit cut the episode: bootstrap from [`StepBatch::final_obs`].
    pub truncated: Vec<bool>,
    /// Lives left, 0 where the environment has none.
    pub lives: Vec<i32>,
    /// The true game ended by its own rules; never a mere lost life.
    pub game_terminated: Vec<bool>,
    /// The true game was cut by a limit.
    pub game_truncated: Vec<bool>,
    /// Raw rewards so far of the true game that the step belonged to.
    pub episode_return: Vec<f64>,
    /// Agent steps so far of that game.
    pub episode_length: Vec<i64>,
    /// Emulator frames so far of that game, those of no-ops and FIRE included.
    pub episode_frames: Vec<i64>,
    /// The environment failed and was made anew; its episode counts as truncated.
    pub worker_restarted: Vec<bool>,
    /// The row is of an agent that took no part in this step, for its episode had ended and those of others of its
    /// environment had not; it counts as terminated. Empty where all took part.
    pub absent: Vec<bool>,
    /// The true games that ended in this step.
    pub episodes: Vec<Episode>,
    /// The last observation of every episode that ended in this step, as `(row, bytes)`; with
    /// same-step autoreset only, for otherwise it is the row's observation.
    pub final_obs: Vec<(usize, Vec<u8>)>,
    /// Lives left when the same episodes ended, where [`StepBatch::lives`] may be the next one's already; of all else
    /// this batch says what was.
    pub final_lives: Vec<i32>,
}

impl StepBatch {
    /// Which rows show nobody behind this step, of environments of `num_agents` agents: those of agents whose episodes
    /// have ended while others go on. Empty where all rows show somebody.
    #[must_use]
    pub fn shows_nobody(&self, num_agents: usize) -> Vec<bool> {
        if num_agents == 1 {
            return Vec::new();
        }
        // One who is absent counts as terminated.
        let is_out: Vec<bool> = (0..self.reward.len())
            .map(|row| self.is_done(row))
            .collect();
        // Where all have ended, the next episode has begun.
        let waits = is_out.chunks_exact(num_agents).flat_map(|of_env| {
            let goes_on = of_env.contains(&false);
            of_env.iter().map(move |is_out| *is_out && goes_on)
        });
        let waits: Vec<bool> = waits.collect();
        if waits.contains(&true) {
            waits
        } else {
            Vec::new()
        }
    }

    /// Whether the episode of `row` ended, for whichever reason.
    #[must_use]
    pub fn is_done(&self, row: usize) -> bool {
        self.terminated[row] || self.truncated[row]
    }

    /// Whether the agent of `row` took no part.
    #[must_use]
    pub fn is_absent(&self, row: usize) -> bool {
        self.absent.get(row) == Some(&true)
    }

    /// Writes what a step brought to a row that was cleared, of a game of one player without skipped frames that has so
    /// far had this return in so many steps.
    pub(crate) fn put(
        &mut self,
        row: usize,
        transition: Transition,
        episode_return: f64,
        length: i64,
    ) {
        self.reward[row] = transition.reward;
        self.raw_reward[row] = transition.reward;
        self.terminated[row] = transition.terminated;
        self.truncated[row] = transition.truncated;
        self.game_terminated[row] = transition.terminated;
        self.game_truncated[row] = transition.truncated;
        self.episode_return[row] = episode_return;
        self.episode_length[row] = length;
        self.episode_frames[row] = length;
        if self.is_done(row) {
            self.episodes.push(Episode {
                env: row,
                raw_return: episode_return,
                length,
                frames: length,
            });
        }
    }

    /// Adds the true games that ended, as the flags say, of environments of `num_players` players.
    pub fn add_episodes(&mut self, num_players: usize) {
        for (row, &env) in self.env_ids.iter().enumerate() {
            if self.game_terminated[row] || self.game_truncated[row] {
                self.episodes.push(Episode {
                    env,
                    raw_return: self.episode_return[row * num_players],
                    length: self.episode_length[row],
                    frames: self.episode_frames[row],
                });
            }
        }
    }

    /// Takes over from `other` one row for each of `rows`; of what players have one entry for each, those of
    /// `entries`. Environments are numbered by row; what ended is left out.
    pub fn take_rows(&mut self, other: &Self, rows: &[usize], entries: &[usize]) {
        fn take<T: Copy>(field: &mut Vec<T>, from: &[T], places: &[usize]) {
            field.clear();
            field.extend(places.iter().map(|&place| from[place]));
        }
        self.env_ids.clear();
        self.env_ids.extend(0..rows.len());
        take(&mut self.reward, &other.reward, entries);
        take(&mut self.raw_reward, &other.raw_reward, entries);
        take(&mut self.terminated, &other.terminated, rows);
        take(&mut self.truncated, &other.truncated, rows);
        take(&mut self.lives, &other.lives, rows);
        take(&mut self.game_terminated, &other.game_terminated, rows);
        take(&mut self.game_truncated, &other.game_truncated, rows);
        take(&mut self.episode_return, &other.episode_return, entries);
        take(&mut self.episode_length, &other.episode_length, rows);
        take(&mut self.episode_frames, &other.episode_frames, rows);
        take(&mut self.worker_restarted, &other.worker_restarted, rows);
        self.absent.clear();
        self.episodes.clear();
        self.final_obs.clear();
        self.final_lives.clear();
    }

    /// Makes this what a batch says in which nothing has happened: every row of a reset.
    pub fn clear(&mut self, num_rows: usize, num_players: usize) {
        fn fill<T: Clone + Default>(field: &mut Vec<T>, count: usize) {
            field.clear();
            field.resize(count, T::default());
        }
        self.env_ids.clear();
        self.env_ids.extend(0..num_rows);
        for field in [&mut self.reward, &mut self.raw_reward] {
            fill(field, num_rows * num_players);
        }
        for field in [
            &mut self.terminated,
            &mut self.truncated,
            &mut self.game_terminated,
            &mut self.game_truncated,
            &mut self.worker_restarted,
        ] {
            fill(field, num_rows);
        }
        fill(&mut self.lives, num_rows);
        fill(&mut self.episode_return, num_rows * num_players);
        fill(&mut self.episode_length, num_rows);
        fill(&mut self.episode_frames, num_rows);
        self.absent.clear();
        self.episodes.clear();
        self.final_obs.clear();
        self.final_lives.clear();
    }
}
