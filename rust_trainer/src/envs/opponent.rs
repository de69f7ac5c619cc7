//! [`AgainstOpponent`]: games for two in which somebody else plays the other side.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use vec_env::{Actions, BatchSpec, EnvError, ObsBuffer, ObsSlot, StepBatch, VecEnv, env::Random};

use super::self_play::{NUM_PLAYERS, SelfPlay};

/// Whoever plays the other side of a batch of games.
pub trait Opponent: Send {
    /// All games begin anew. Equal seeds give equal play; without one the random numbers go on.
    fn reset(&mut self, seed: Option<u64>);

    /// Chooses an action for each game from `obs`, a row for each as [`SelfPlay`] shows it;
    /// `began[game]` says that the observation is a game's first.
    ///
    /// # Errors
    /// [`EnvError::Backend`] for what its network says.
    fn act(&mut self, obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError>;
}

/// Plays anything.
pub struct RandomOpponent {
    num_actions: i64,
    random: Random,
}

impl RandomOpponent {
    /// Each of `num_actions` actions as often as any other.
    #[must_use]
    pub fn new(num_actions: i64) -> Self {
        Self {
            num_actions,
            random: Random::new(0),
        }
    }
}

impl Opponent for RandomOpponent {
    fn reset(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            self.random = Random::new(seed);
        }
    }

    fn act(&mut self, _obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError> {
        let actions = began
            .iter()
            .map(|_| self.random.below(self.num_actions as usize));
        Ok(actions.map(|action| action as i64).collect())
    }
}

/// What both sides of a game got that was played to its end; the opponent's second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Index of the game in its batch.
    pub env: usize,
    /// Points made: sum of the positive raw rewards.
    pub points: [f64; NUM_PLAYERS],
    /// Sum of all raw rewards.
    pub returns: [f64; NUM_PLAYERS],
}

/// The scores of a batch, in the order in which its games ended; read while the batch is in use elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Scores(Arc<Mutex<Vec<Score>>>);

impl Scores {
    /// Takes out those that are there.
    #[must_use]
    pub fn take(&self) -> Vec<Score> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, score: Score) {
        let mut scores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        scores.push(score);
    }
}

/// A batch of games for two as environments for one: the other side is an [`Opponent`]'s.
///
/// In games of even index the opponent is the second player, in the others the first: any even number of
/// games is played from both sides in equal shares. A row shows what [`SelfPlay`] shows that player.
pub struct AgainstOpponent {
    players: Box<SelfPlay>,
    spec: BatchSpec,
    opponent: Box<dyn Opponent>,
    /// The rows of all players.
    rows: ObsBuffer,
    /// What the opponent sees, a row for each game.
    opponents_obs: Vec<u8>,
    /// Which of those are the first of a game.
    began: Vec<bool>,
    slot: Option<ObsSlot>,
    received: StepBatch,
    /// Points so far of each game, the opponent's second.
    points: Vec<[f64; NUM_PLAYERS]>,
    scores: Scores,
}

impl AgainstOpponent {
    /// Games of `players` against `opponent`.
    #[must_use]
    pub fn new(players: Box<SelfPlay>, opponent: Box<dyn Opponent>) -> Self {
        let num_games = players.num_envs() / NUM_PLAYERS;
        let spec = BatchSpec {
            num_envs: num_games,
            batch_size: num_games,
            ..players.spec().clone()
        };
        Self {
            opponent,
            rows: ObsBuffer::new(players.spec().obs_bytes()),
            opponents_obs: vec![0; spec.obs_bytes()],
            spec,
            began: vec![true; num_games],
            slot: None,
            received: StepBatch::default(),
            points: vec![[0.0; NUM_PLAYERS]; num_games],
            scores: Scores::default(),
            players,
        }
    }

    /// Where the scores of games that end will be.
    #[must_use]
    pub fn scores(&self) -> Scores {
        self.scores.clone()
    }

    /// Which player the row of a game is.
    fn player(game: usize) -> usize {
        game % NUM_PLAYERS
    }

    /// Index of the row of one player among those of all: its own, or the opponent's.
    fn rows_of(game: usize) -> [usize; NUM_PLAYERS] {
        let player = Self::player(game);
        [player, 1 - player].map(|player| NUM_PLAYERS * game + player)
    }

    /// Shares `rows`, of all players, between the opponent and `obs`.
    fn share(&mut self, rows: &[u8], obs: &mut [u8]) {
        let bytes = self.players.obs_spec().num_bytes();
        let row = |index: usize| &rows[index * bytes..][..bytes];
        let ours = obs.chunks_exact_mut(bytes);
        let theirs = self.opponents_obs.chunks_exact_mut(bytes);
        for (game, (ours, theirs)) in ours.zip(theirs).enumerate() {
            let [own, others] = Self::rows_of(game);
            ours.copy_from_slice(row(own));
            theirs.copy_from_slice(row(others));
        }
    }

    /// Says of each game what was received of its own player.
    fn write_step(&self, step: &mut StepBatch) {
        let all = &self.received;
        let is_own = |row: usize| Self::rows_of(row / NUM_PLAYERS)[0] == row;
        let rows: Vec<usize> = (0..self.num_envs())
            .map(|game| Self::rows_of(game)[0])
            .collect();
        step.take_rows(all, &rows, &rows);
        step.episodes.clone_from(&all.episodes);
        step.episodes.retain(|episode| is_own(episode.env));
        for episode in &mut step.episodes {
            episode.env /= NUM_PLAYERS;
        }
        step.final_obs.clone_from(&all.final_obs);
        step.final_obs.retain(|(row, _)| is_own(*row));
        for (row, _) in &mut step.final_obs {
            *row /= NUM_PLAYERS;
        }
        step.final_info.clone_from(&all.final_info);
        step.final_info.retain(|info| is_own(info.row));
        for info in &mut step.final_info {
            info.row /= NUM_PLAYERS;
        }
    }

    /// Counts the points of this step, and notes the scores of games that it ended.
    fn count_points(&mut self) {
        let all = &self.received;
        for (game, points) in self.points.iter_mut().enumerate() {
            let rows = Self::rows_of(game);
            for (points, row) in points.iter_mut().zip(rows) {
                *points += f64::from(all.raw_reward[row].max(0.0));
            }
            if all.episodes.iter().any(|episode| episode.env == rows[0]) {
                self.scores.push(Score {
                    env: game,
                    points: mem::take(points),
                    returns: rows.map(|row| all.episode_return[row]),
                });
            } else if all.worker_restarted[rows[0]] {
                *points = [0.0; NUM_PLAYERS]; // the game that they were made in is lost
            }
            self.began[game] = all.is_done(rows[0]);
        }
    }
}

impl VecEnv for AgainstOpponent {
    fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        EnvError::check_length(obs, self.spec.obs_bytes())?;
        self.slot = None;
        let mut rows = vec![0; self.players.spec().obs_bytes()];
        self.players.reset(seed, &mut rows)?;
        self.opponent.reset(seed);
        self.share(&rows, obs);
        self.began.fill(true);
        self.points.fill([0.0; NUM_PLAYERS]);
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        let space = &self.spec.action_space;
        space.check(actions, self.num_envs(), |game| game)?;
        EnvError::check_length(&obs, self.spec.obs_bytes())?;
        let Actions::Discrete(actions) = actions else {
            let space = space.clone();
            return Err(EnvError::ActionKind { space });
        };
        if self.slot.is_some() {
            let problem = "a step is in flight: call `recv` first";
            return Err(EnvError::Order(problem.to_owned()));
        }
        let theirs = self.opponent.act(&self.opponents_obs, &self.began)?;
        let pairs = actions.iter().zip(theirs).enumerate();
        let all = pairs.flat_map(|(game, (&ours, theirs))| match Self::player(game) {
            0 => [ours, theirs],
            _ => [theirs, ours],
        });
        let all: Vec<i64> = all.collect();
        self.players
            .send(Actions::Discrete(&all), self.rows.slot())?;
        self.slot = Some(obs);
        Ok(())
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        if let Err(error) = self.players.recv_timeout(&mut self.received, timeout) {
            if !error.is_in_flight() {
                self.slot = None;
            }
            return Err(error.renumbered(games_of));
        }
        let Some(mut slot) = self.slot.take() else {
            let problem = "no step is in flight: call `send` first";
            return Err(EnvError::Order(problem.to_owned()));
        };
        let rows = self.rows.slot();
        self.share(&rows, &mut slot);
        self.write_step(step);
        self.count_points();
        Ok(())
    }

    fn worker_pids(&self) -> Vec<u32> {
        self.players.worker_pids()
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        Ok(games_of(&self.players.restart_workers()?))
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.slot = None;
        self.players.close()
    }
}

/// The games of the rows of all their players.
fn games_of(rows: &[usize]) -> Vec<usize> {
    let first = rows.iter().step_by(NUM_PLAYERS);
    first.map(|row| row / NUM_PLAYERS).collect()
}
