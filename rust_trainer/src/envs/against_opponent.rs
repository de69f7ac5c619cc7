//! [`AgainstOpponent`]: games for two in which somebody else plays the other side.

use std::{mem, ops::Range, time::Duration};

use vec_env::{Actions, BatchSpec, EnvError, Episode, ObsSlot, StepBatch, VecEnv};

use super::{
    opponent::{Opponent, Score, Scores},
    opponent_states::{SavedGame, join, split},
    self_play::{NUM_PLAYERS, SelfPlay},
    staged::Staged,
};

/// A batch of games for two in which an [`Opponent`] plays the other side: of all games, or of the last of them, while
/// in those before both players are environments as in [`SelfPlay`].
///
/// In games of even number among those against the opponent it is the second player, in the others the first: any even
/// number of games is played from both sides in equal shares. A row shows what [`SelfPlay`] shows that player.
pub struct AgainstOpponent {
    players: Staged<SelfPlay>,
    spec: BatchSpec,
    opponent: Box<dyn Opponent>,
    /// Of each row here, its row among those of all players.
    rows: Vec<usize>,
    /// The other way round; none for those of the opponent.
    envs: Vec<Option<usize>>,
    /// The games against the opponent.
    games: Vec<Game>,
    /// What the opponent sees, a row for each of its games.
    opponents_obs: Vec<u8>,
    /// Which of those are the first of a game.
    began: Vec<bool>,
    /// Where somebody asked for them.
    scores: Option<Scores>,
}

/// A game against the opponent.
struct Game {
    /// The player's row among those of all players, and the opponent's.
    rows: [usize; NUM_PLAYERS],
    /// Points so far, the opponent's second.
    points: [f64; NUM_PLAYERS],
}

impl AgainstOpponent {
    /// All games of `players`, against `opponent`.
    #[must_use]
    pub fn new(players: Box<SelfPlay>, opponent: Box<dyn Opponent>) -> Self {
        let num_games = players.num_envs() / NUM_PLAYERS;
        Self::in_some(players, opponent, 0..num_games)
    }

    /// The games of `players`, the last of them against `opponent`: those with the numbers `against`, where games against
    /// it are counted over all batches of a run.
    #[must_use]
    pub fn in_some(
        players: Box<SelfPlay>,
        opponent: Box<dyn Opponent>,
        against: Range<usize>,
    ) -> Self {
        let num_rows = players.num_envs();
        let first = (num_rows / NUM_PLAYERS).saturating_sub(against.len());
        let games = (first..num_rows / NUM_PLAYERS)
            .zip(against)
            .map(|(game, number)| {
                let player = number % NUM_PLAYERS;
                let rows = [player, 1 - player].map(|player| NUM_PLAYERS * game + player);
                let points = [0.0; NUM_PLAYERS];
                Game { rows, points }
            });
        let games: Vec<Game> = games.collect();
        let own = games.iter().map(|game| game.rows[0]);
        let rows: Vec<usize> = (0..NUM_PLAYERS * first).chain(own).collect();
        let mut envs = vec![None; num_rows];
        for (env, &row) in rows.iter().enumerate() {
            envs[row] = Some(env);
        }
        let spec = BatchSpec {
            num_envs: rows.len(),
            batch_size: rows.len(),
            ..players.spec().clone()
        };
        Self {
            opponent,
            opponents_obs: vec![0; games.len() * spec.obs_spec.num_bytes()],
            began: vec![true; games.len()],
            scores: None,
            spec,
            rows,
            envs,
            games,
            players: Staged::new(players),
        }
    }

    /// Where the scores of games against the opponent will be that end from now on.
    #[must_use]
    pub fn scores(&mut self) -> Scores {
        self.scores.get_or_insert_default().clone()
    }

    /// Shares `rows`, of all players, between the opponent and `obs`.
    fn share(&mut self, rows: &[u8], obs: &mut [u8]) {
        let bytes = self.spec.obs_spec.num_bytes();
        let row = |index: usize| &rows[index * bytes..][..bytes];
        for (ours, &index) in obs.chunks_exact_mut(bytes).zip(&self.rows) {
            ours.copy_from_slice(row(index));
        }
        let theirs = self.opponents_obs.chunks_exact_mut(bytes);
        for (theirs, game) in theirs.zip(&self.games) {
            theirs.copy_from_slice(row(game.rows[1]));
        }
    }

    /// Says of each row what was received of its player.
    fn write_step(&self, step: &mut StepBatch) {
        let all = &self.players.step;
        step.take_rows(all, &self.rows, &self.rows);
        let episodes = all.episodes.iter();
        step.episodes.extend(episodes.filter_map(|episode| {
            let env = self.envs[episode.env]?;
            Some(Episode { env, ..*episode })
        }));
        for ((row, seen), lives) in all.final_obs.iter().zip(&all.final_lives) {
            if let Some(env) = self.envs[*row] {
                step.final_obs.push((env, seen.clone()));
                step.final_lives.push(*lives);
            }
        }
    }

    /// Counts the points of this step, and notes the scores of games that it ended.
    fn count_points(&mut self) {
        let all = &self.players.step;
        for (index, Game { rows, points }) in self.games.iter_mut().enumerate() {
            for (points, &row) in points.iter_mut().zip(&*rows) {
                *points += f64::from(all.raw_reward[row].max(0.0));
            }
            let own = rows[0];
            if all.episodes.iter().any(|episode| episode.env == own) {
                let score = Score {
                    env: self.envs[own].unwrap_or_default(),
                    points: mem::take(points),
                    returns: rows.map(|row| all.episode_return[row]),
                };
                self.opponent.ended(index, &score);
                if let Some(scores) = &self.scores {
                    scores.push(score);
                }
            } else if all.worker_restarted[own] {
                *points = [0.0; NUM_PLAYERS]; // the game that they were made in is lost
            }
            // A life lost ends no game.
            let is_over = all.game_terminated[own] || all.game_truncated[own];
            self.began[index] = is_over || all.worker_restarted[own];
        }
    }

    /// The rows here of `rows` among those of all players.
    fn envs_of(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().filter_map(|&row| self.envs[row]).collect()
    }

    /// The number of games before those against the opponent.
    fn first(&self) -> usize {
        self.envs.len() / NUM_PLAYERS - self.games.len()
    }
}

impl VecEnv for AgainstOpponent {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let rows = self.players.reset(seed)?;
        self.opponent.reset(seed);
        self.share(&rows, obs);
        self.began.fill(true);
        for game in &mut self.games {
            game.points = [0.0; NUM_PLAYERS];
        }
        Ok(())
    }

    /// A state of each game.
    fn save_state(&mut self) -> Result<Vec<Vec<u8>>, EnvError> {
        let opponents = self.opponent.save()?;
        let mut states = self.players.env.save_state()?;
        let first = self.first();
        let games = self.games.iter().zip(&self.began).zip(opponents);
        for (state, ((game, &began), opponent)) in states[first..].iter_mut().zip(games) {
            let saved = SavedGame {
                points: game.points,
                began,
                opponent,
            };
            *state = join(state, &saved)?;
        }
        Ok(states)
    }

    fn restore_state(&mut self, states: &[Vec<u8>], obs: &mut [u8]) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        let num_games = self.envs.len() / NUM_PLAYERS;
        if states.len() != num_games {
            let (found, problem) = (states.len(), "states for as many games as there are");
            return Err(EnvError::State(format!(
                "{problem} are needed: {num_games}, not {found}"
            )));
        }
        let (free, against) = states.split_at(self.first());
        let against: Vec<_> = against
            .iter()
            .map(|state| split(state))
            .collect::<Result<_, _>>()?;
        let of_games = against.iter().map(|(game, _)| game.to_vec());
        let of_games: Vec<_> = free.iter().cloned().chain(of_games).collect();
        let opponents: Vec<_> = against
            .iter()
            .map(|(_, saved)| saved.opponent.clone())
            .collect();
        let before = self.opponent.save()?;
        self.opponent.restore(&opponents)?;
        let restored = self.players.restore_state(&of_games);
        let rows = restored.or_else(|error| self.opponent.restore(&before).and(Err(error)))?;
        for (index, (_, saved)) in against.iter().enumerate() {
            self.games[index].points = saved.points;
            self.began[index] = saved.began;
        }
        self.share(&rows, obs);
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        let space = &self.spec.action_space;
        space.check(actions, self.num_envs(), |env| env)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        let Actions::Discrete(actions) = actions else {
            let space = space.clone();
            return Err(EnvError::ActionKind { space });
        };
        if self.players.is_in_flight() {
            let problem = "a step is in flight: call `recv` first";
            return Err(EnvError::Order(problem.to_owned()));
        }
        let theirs = self.opponent.act(&self.opponents_obs, &self.began)?;
        let mut all = vec![0; self.envs.len()];
        for (&row, &action) in self.rows.iter().zip(actions) {
            all[row] = action;
        }
        for (game, action) in self.games.iter().zip(theirs) {
            all[game.rows[1]] = action;
        }
        self.players.send(Actions::Discrete(&all), obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let received = self.players.recv(timeout);
        let (rows, mut obs) =
            received.map_err(|error| error.renumbered(|rows| self.envs_of(rows)))?;
        self.share(&rows, &mut obs);
        self.write_step(step);
        self.count_points();
        Ok(())
    }

    fn worker_pids(&self) -> Vec<u32> {
        self.players.env.worker_pids()
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        let restarted = self.players.env.restart_workers()?;
        Ok(self.envs_of(&restarted))
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.players.close()
    }
}
