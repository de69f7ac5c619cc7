//! [`SelfPlay`]: games for two in which each player is shown as an environment of its own, so that one
//! network learns from both.

use std::{iter, time::Duration};

use vec_env::{
    ActionSpace, Actions, BatchSpec, Dtype, EnvError, Episode, ObsSlot, ObsSpec, StepBatch, VecEnv,
    env::write_floats,
};

use super::staged::Staged;

/// Players in a game.
pub const NUM_PLAYERS: usize = 2;

/// A batch of games for two as a batch of environments for one: row `2 · game + player`.
///
/// Both players of an Atari game see the same screen, so each is told who it is. Its observation has one
/// entry more on its first axis, behind the others, which is 0 everywhere for the first player and the
/// largest value (255 in uint8, 1 in float32) for the second: stacked frames `[2, 4, 84, 84]` become
/// `[5, 84, 84]` for each, the last of the 5 planes being the indicator.
///
/// An action, a reward and a return belong to a player; all else is the game's and stands in both rows. A
/// game that ended is an [`Episode`] of each row.
///
/// The games write to memory of this batch, from which each row is copied to where it is trained from: one
/// copy more than without it.
pub struct SelfPlay {
    /// Observations are `[games, 2, ...]`.
    games: Staged<dyn VecEnv>,
    spec: BatchSpec,
}

impl SelfPlay {
    /// The players of `games`.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for other games than those of two players with the same discrete
    /// actions, or that give a part of the games at once.
    pub fn new(games: Box<dyn VecEnv>) -> Result<Self, EnvError> {
        let unfit = |what: String| Err(EnvError::Unsupported(format!("self-play: {what}")));
        if games.num_players() != NUM_PLAYERS {
            return unfit(format!(
                "games for two players are needed, not for {}",
                games.num_players()
            ));
        }
        if games.batch_size() != games.num_envs() {
            return unfit(format!(
                "all {} games are needed at once, not {}",
                games.num_envs(),
                games.batch_size()
            ));
        }
        let action_space = match games.action_space() {
            ActionSpace::MultiDiscrete { nvec } => match nvec.as_slice() {
                &[n, other] if n == other => ActionSpace::Discrete { n },
                _ => return unfit(format!("both players need the same actions, not {nvec:?}")),
            },
            space => return unfit(format!("each player needs discrete actions, not {space:?}")),
        };
        let ObsSpec { shape, dtype } = games.obs_spec();
        let obs_spec = match shape.as_slice() {
            [NUM_PLAYERS, first, rest @ ..] => ObsSpec {
                shape: [&[first + 1], rest].concat(),
                dtype: *dtype,
            },
            shape => {
                return unfit(format!(
                    "observations need an axis of {NUM_PLAYERS} players first, not the shape {shape:?}"
                ));
            }
        };
        let num_rows = NUM_PLAYERS * games.num_envs();
        Ok(Self {
            spec: BatchSpec {
                backend: games.backend().to_owned(),
                autoreset_mode: games.autoreset_mode(),
                ..BatchSpec::new(num_rows, obs_spec, action_space)
            },
            games: Staged::new(games),
        })
    }

    /// Writes what all players see, `[games, 2, ...]`, and who they are to `rows`.
    fn write_rows(&self, seen: &[u8], rows: &mut [u8]) {
        let seen = seen.chunks_exact(self.games.env.obs_spec().num_bytes() / NUM_PLAYERS);
        let rows = rows.chunks_exact_mut(self.spec.obs_spec.num_bytes());
        for (index, (seen, row)) in seen.zip(rows).enumerate() {
            self.write_row(index % NUM_PLAYERS, seen, row);
        }
    }

    fn write_row(&self, player: usize, seen: &[u8], row: &mut [u8]) {
        write_player(player, self.spec.obs_spec.dtype, seen, row);
    }

    /// Says of each player what was received of its game.
    fn write_step(&self, step: &mut StepBatch) {
        let games = &self.games.step;
        let of_game: Vec<usize> = (0..self.num_envs()).map(|row| row / NUM_PLAYERS).collect();
        let own: Vec<usize> = (0..self.num_envs()).collect();
        step.take_rows(games, &of_game, &own);
        for episode in &games.episodes {
            for env in rows_of(&[episode.env]) {
                let raw_return = games.episode_return[env];
                let of_player = Episode {
                    env,
                    raw_return,
                    ..*episode
                };
                step.episodes.push(of_player);
            }
        }
        for ((game, seen), lives) in games.final_obs.iter().zip(&games.final_lives) {
            let seen = seen.chunks_exact(seen.len() / NUM_PLAYERS);
            for (player, seen) in seen.enumerate() {
                let mut row = vec![0; self.spec.obs_spec.num_bytes()];
                self.write_row(player, seen, &mut row);
                step.final_obs.push((NUM_PLAYERS * game + player, row));
                step.final_lives.push(*lives);
            }
        }
    }
}

impl VecEnv for SelfPlay {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let screens = self.games.reset(seed)?;
        self.write_rows(&screens, obs);
        Ok(())
    }

    /// A state of each game; here is nothing else to save.
    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        self.games.env.save_state()
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let seen = self.games.restore_state(states)?;
        self.write_rows(&seen, obs);
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        let space = &self.spec.action_space;
        space.check(actions, self.num_envs(), |row| row)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        self.games.send(actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let received = self.games.recv(timeout);
        let (seen, mut rows) = received.map_err(|error| error.renumbered(rows_of))?;
        self.write_rows(&seen, &mut rows);
        self.write_step(step);
        Ok(())
    }

    fn worker_pids(&self) -> Vec<u32> {
        self.games.env.worker_pids()
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        Ok(rows_of(&self.games.env.restart_workers()?))
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.games.close()
    }
}

/// Writes what a player sees, and which of the two it is, to `row`.
pub(crate) fn write_player(player: usize, dtype: Dtype, seen: &[u8], row: &mut [u8]) {
    let (frames, indicator) = row.split_at_mut(seen.len());
    frames.copy_from_slice(seen);
    match dtype {
        Dtype::Uint8 => indicator.fill(if player == 0 { 0 } else { u8::MAX }),
        Dtype::Float32 => write_floats(indicator, iter::repeat(player as f32)),
    }
}

/// The rows of both players of each game.
fn rows_of(games: &[usize]) -> Vec<usize> {
    let rows = games.iter().map(|game| NUM_PLAYERS * game);
    rows.flat_map(|first| [first, first + 1]).collect()
}
