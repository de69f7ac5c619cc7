//! [`AgainstOpponent`]: games for two in which somebody else plays the other side.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use vec_env::{Actions, BatchSpec, EnvError, Episode, ObsSlot, StepBatch, VecEnv, env::Random};

use super::{
    self_play::{NUM_PLAYERS, SelfPlay},
    staged::Staged,
};

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
    players: Staged<SelfPlay>,
    spec: BatchSpec,
    opponent: Box<dyn Opponent>,
    /// What the opponent sees, a row for each game.
    opponents_obs: Vec<u8>,
    /// Which of those are the first of a game.
    began: Vec<bool>,
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
            opponents_obs: vec![0; spec.obs_bytes()],
            spec,
            began: vec![true; num_games],
            points: vec![[0.0; NUM_PLAYERS]; num_games],
            scores: Scores::default(),
            players: Staged::new(players),
        }
    }

    /// Where the scores of games that end will be.
    #[must_use]
    pub fn scores(&self) -> Scores {
        self.scores.clone()
    }

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
        let bytes = self.spec.obs_spec.num_bytes();
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
        let all = &self.players.step;
        let own = |row: usize| {
            let game = row / NUM_PLAYERS;
            (Self::rows_of(game)[0] == row).then_some(game)
        };
        let games = 0..self.num_envs();
        let rows: Vec<usize> = games.map(|game| Self::rows_of(game)[0]).collect();
        step.take_rows(all, &rows, &rows);
        let episodes = all.episodes.iter();
        step.episodes.extend(episodes.filter_map(|episode| {
            let env = own(episode.env)?;
            Some(Episode { env, ..*episode })
        }));
        for ((row, seen), lives) in all.final_obs.iter().zip(&all.final_lives) {
            if let Some(game) = own(*row) {
                step.final_obs.push((game, seen.clone()));
                step.final_lives.push(*lives);
            }
        }
    }

    /// Counts the points of this step, and notes the scores of games that it ended.
    fn count_points(&mut self) {
        let all = &self.players.step;
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
        let rows = self.players.reset(seed)?;
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
        if self.players.is_in_flight() {
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
        self.players.send(Actions::Discrete(&all), obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        let received = self.players.recv(timeout);
        let (rows, mut obs) = received.map_err(|error| error.renumbered(games_of))?;
        self.share(&rows, &mut obs);
        self.write_step(step);
        self.count_points();
        Ok(())
    }

    fn worker_pids(&self) -> Vec<u32> {
        self.players.env.worker_pids()
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        Ok(games_of(&self.players.env.restart_workers()?))
    }

    fn close(&mut self) -> Result<(), EnvError> {
        self.players.close()
    }
}

fn games_of(rows: &[usize]) -> Vec<usize> {
    let first = rows.iter().step_by(NUM_PLAYERS);
    first.map(|row| row / NUM_PLAYERS).collect()
}
