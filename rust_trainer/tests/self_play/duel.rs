//! A batch of games for two, scripted: everything that it shows and pays is known beforehand.

use std::time::Duration;

use vec_env::{
    ActionSpace, Actions, BatchSpec, Dtype, EnvError, Episode, ObsSlot, ObsSpec, StepBatch, VecEnv,
};

pub const NUM_GAMES: usize = 3;
pub const NUM_ACTIONS: i64 = 4;

/// Game `g` lasts `g + 2` steps; those of odd index are cut off, the others end. A step pays the first
/// player its action less the second's, and takes as much from the second, and one more from it where
/// its action is 0.
pub struct Duel {
    pub spec: BatchSpec,
    /// Steps taken in each game, and games before it.
    at: [(i64, i64); NUM_GAMES],
    returns: [[f64; 2]; NUM_GAMES],
    sent: Option<(Vec<i64>, ObsSlot)>,
    /// What the next calls of `recv` say instead of an answer, the last first.
    pub troubles: Vec<EnvError>,
}

impl Duel {
    pub fn new() -> Self {
        Self::with(
            ObsSpec {
                shape: vec![2, 2, 3],
                dtype: Dtype::Uint8,
            },
            ActionSpace::MultiDiscrete {
                nvec: vec![NUM_ACTIONS; 2],
            },
        )
    }

    pub fn with(obs_spec: ObsSpec, space: ActionSpace) -> Self {
        Self {
            spec: BatchSpec {
                num_players: 2,
                ..BatchSpec::new(NUM_GAMES, obs_spec, space)
            },
            at: [(0, 0); NUM_GAMES],
            returns: [[0.0; 2]; NUM_GAMES],
            sent: None,
            troubles: Vec::new(),
        }
    }

    /// What `player` of `game` sees after `steps` of it, `games` having been played before.
    pub fn shown(game: usize, player: usize, steps: i64, games: i64) -> [u8; 6] {
        let first = 100 * player as u8 + 20 * game as u8;
        [0, 1, 2, 3, 4, 5].map(|place| first + place + steps as u8 + 7 * games as u8)
    }

    fn show(&self, game: usize) -> Vec<u8> {
        let (steps, games) = self.at[game];
        let players = [0, 1].map(|player| Self::shown(game, player, steps, games));
        let mut bytes = players.concat();
        bytes.resize(self.spec.obs_spec.num_bytes(), 0);
        bytes
    }
}

impl VecEnv for Duel {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, _seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        (self.at, self.sent) = ([(0, 0); NUM_GAMES], None);
        self.returns = [[0.0; 2]; NUM_GAMES];
        obs.copy_from_slice(&[0, 1, 2].map(|game| self.show(game)).concat());
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        if self.sent.is_some() {
            return Err(EnvError::Order("call recv first".to_owned()));
        }
        self.spec
            .action_space
            .check(actions, NUM_GAMES, |row| row)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        let Actions::Discrete(actions) = actions else {
            unreachable!("checked")
        };
        self.sent = Some((actions.to_vec(), obs));
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        _timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        if let Some(trouble) = self.troubles.pop() {
            return Err(trouble);
        }
        let Some((actions, mut obs)) = self.sent.take() else {
            return Err(EnvError::Order("call send first".to_owned()));
        };
        step.clear(NUM_GAMES, 2);
        for game in 0..NUM_GAMES {
            let (first, second) = (actions[2 * game] as f32, actions[2 * game + 1] as f32);
            let penalty = f32::from(u8::from(second == 0.0));
            let rewards = [first - second, second - first - penalty];
            self.at[game].0 += 1;
            for (player, reward) in rewards.into_iter().enumerate() {
                self.returns[game][player] += f64::from(reward);
                step.raw_reward[2 * game + player] = reward;
                step.reward[2 * game + player] = reward.clamp(-1.0, 1.0);
                step.episode_return[2 * game + player] = self.returns[game][player];
            }
            let (length, games) = self.at[game];
            let is_over = length == game as i64 + 2;
            let (ends, is_cut) = (is_over && game % 2 == 0, is_over && game % 2 == 1);
            (step.terminated[game], step.game_terminated[game]) = (ends, ends);
            (step.truncated[game], step.game_truncated[game]) = (is_cut, is_cut);
            step.lives[game] = 5 - game as i32;
            step.episode_length[game] = length;
            step.episode_frames[game] = 4 * length;
            if is_over {
                step.final_obs.push((game, self.show(game)));
                step.final_lives.push(5 - game as i32);
                step.episodes.push(Episode {
                    env: game,
                    raw_return: self.returns[game][0],
                    length,
                    frames: 4 * length,
                });
                (self.at[game], self.returns[game]) = ((0, games + 1), [0.0; 2]);
            }
            let bytes = self.spec.obs_spec.num_bytes();
            obs[game * bytes..][..bytes].copy_from_slice(&self.show(game));
        }
        Ok(())
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        Ok(vec![1, 2])
    }

    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        let states = self
            .at
            .iter()
            .map(|(steps, games)| vec![*steps as u8, *games as u8]);
        Ok(states.collect())
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        for (at, state) in self.at.iter_mut().zip(states) {
            *at = (i64::from(state[0]), i64::from(state[1]));
        }
        obs.copy_from_slice(&[0, 1, 2].map(|game| self.show(game)).concat());
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.sent = None;
        Ok(())
    }
}
