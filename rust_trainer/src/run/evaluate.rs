//! Playing whole games with a trained policy.

use vec_env::{EnvError, Episode, StepBatch, VecEnv};

use super::wait::{GracePeriod, Restarts, receive};
use crate::{
    data::Observations,
    envs::env_seed,
    error::TrainerError,
    policy::Policy,
    random::seeded_rng,
    report::{Evaluation, RunReport},
    stop::StopRequest,
};

/// How games are played.
#[derive(Clone, Copy, Debug)]
pub struct Play {
    /// True games.
    pub num_episodes: usize,
    /// Decides the games and the policy's draws.
    pub seed: u64,
    /// Take the most probable action instead of drawing from the policy.
    pub greedy: bool,
}

/// A true game that was played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Game {
    /// What became of it.
    pub episode: Episode,
    /// Its number among those of its environment, from 0.
    pub number: usize,
}

/// Plays true games and returns them in the order in which they ended; fewer where a stop was asked for.
///
/// Each environment plays a fixed share of them: were the first games to end taken from any environment,
/// short games, and so low returns, would be counted too often.
pub fn play(
    policy: &dyn Policy,
    env: &mut dyn VecEnv,
    play: &Play,
    stop: &StopRequest,
    mut on_game: impl FnMut(&Game) -> Result<(), TrainerError>,
) -> Result<Vec<Game>, TrainerError> {
    let num_envs = env.num_envs();
    let share = |index: usize| (play.num_episodes + index) / num_envs;
    let mut ended = vec![0; num_envs];
    let mut observations = Observations::new(env.obs_spec(), (1, num_envs), 1, policy.device())?;
    let mut memory = policy.new_memory(num_envs);
    let mut rng = seeded_rng(play.seed);
    let mut grace_period = GracePeriod::new(stop);
    let mut received = StepBatch::default();
    let mut played = Vec::new();
    env.reset(Some(env_seed(play.seed)), &mut observations.lend(0))?;
    while played.len() < play.num_episodes && !stop.is_asked() {
        let obs = observations.row(0);
        let actions = policy.act(&obs, &mut memory, &mut rng, play.greedy);
        env.send(actions.as_actions(), observations.lend(0))?;
        if !receive(env, &mut received, &mut grace_period)? {
            break;
        }
        let ended_now: Vec<bool> = (0..num_envs).map(|env| received.is_done(env)).collect();
        memory.forget(&ended_now);
        for &episode in &received.episodes {
            let number = ended[episode.env];
            ended[episode.env] += 1;
            if number < share(episode.env) {
                let game = Game { episode, number };
                on_game(&game)?;
                played.push(game);
            }
        }
    }
    Ok(played)
}

/// What `games`, at least one, say of a policy that learned from `step` agent steps; they took `seconds`.
pub(crate) fn evaluation_of(games: &[Game], step: u64, seconds: f64) -> Evaluation {
    let count = games.len() as f64;
    let returns = || games.iter().map(|game| game.episode.raw_return);
    let mean = returns().sum::<f64>() / count;
    let variance = returns().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let lengths = games.iter().map(|game| game.episode.length as f64);
    Evaluation {
        step,
        mean,
        std: variance.sqrt(),
        min: returns().fold(f64::INFINITY, f64::min),
        max: returns().fold(f64::NEG_INFINITY, f64::max),
        episodes: games.len(),
        length: lengths.sum::<f64>() / count,
        seconds,
    }
}

/// Plays the same games again and again while a run trains.
pub(super) struct Evaluator {
    pub env: Box<dyn VecEnv>,
    pub how: Play,
    /// Agent steps between two evaluations.
    pub every: u64,
    /// The agent step of the last one.
    pub last: u64,
    /// The one that the best checkpoint is of.
    pub best: Option<Evaluation>,
}

impl Evaluator {
    pub fn is_due(&self, step: u64) -> bool {
        step / self.every > self.last / self.every
    }

    /// The games of an evaluation; all of them anew where a worker fails, and fewer after a stop.
    pub fn play(
        &mut self,
        policy: &dyn Policy,
        restarts: &mut Restarts,
        report: &mut RunReport,
        stop: &StopRequest,
    ) -> Result<Vec<Game>, TrainerError> {
        loop {
            match play(policy, &mut *self.env, &self.how, stop, |_| Ok(())) {
                Err(TrainerError::Env(error @ EnvError::Worker { .. })) => {
                    if !restarts.mend(&mut self.env, error, report, stop)? {
                        return Ok(Vec::new());
                    }
                }
                played => {
                    restarts.step_done();
                    return played;
                }
            }
        }
    }
}
