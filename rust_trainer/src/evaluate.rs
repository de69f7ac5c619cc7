//! Playing whole games with a trained policy.

use vec_env::{Episode, StepBatch, VecEnv};

use crate::{
    data::Observations,
    error::TrainerError,
    make_env::env_seed,
    policy::{Policy, seeded_rng},
    signals::StopRequest,
};

/// Plays `num_episodes` true games and returns them in the order in which they ended; `seed` decides the
/// games and the policy's draws.
///
/// Each environment plays a fixed share of them: were the first games to end taken from any environment,
/// short games, and so low returns, would be counted too often.
///
/// # Errors
/// What the environment raises.
pub fn play(
    policy: &dyn Policy,
    env: &mut dyn VecEnv,
    num_episodes: usize,
    seed: u64,
    greedy: bool,
    stop: &StopRequest,
    mut on_episode: impl FnMut(&Episode),
) -> Result<Vec<Episode>, TrainerError> {
    let num_envs = env.num_envs();
    let mut left: Vec<usize> = (0..num_envs)
        .map(|index| (num_episodes + index) / num_envs)
        .collect();
    let mut observations = Observations::new(env.obs_spec(), 1, num_envs, policy.device())?;
    let mut rng = seeded_rng(seed);
    let mut received = StepBatch::default();
    let mut played = Vec::new();
    env.reset(Some(env_seed(seed)), &mut observations.lend(0))?;
    while played.len() < num_episodes && !stop.is_asked() {
        let actions = policy.act(&observations.row(0), &mut rng, greedy);
        env.send(actions.as_actions(), observations.lend(0))?;
        env.recv(&mut received)?;
        for episode in &received.episodes {
            if left[episode.env] > 0 {
                left[episode.env] -= 1;
                on_episode(episode);
                played.push(*episode);
            }
        }
    }
    Ok(played)
}

/// Mean and standard deviation (of the population) of the raw returns.
#[must_use]
pub fn mean_and_deviation(episodes: &[Episode]) -> (f64, f64) {
    let count = episodes.len() as f64;
    let mean = episodes
        .iter()
        .map(|episode| episode.raw_return)
        .sum::<f64>()
        / count;
    let variance = episodes
        .iter()
        .map(|episode| (episode.raw_return - mean).powi(2))
        .sum::<f64>()
        / count;
    (mean, variance.sqrt())
}
