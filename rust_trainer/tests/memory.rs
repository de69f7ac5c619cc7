//! A task that takes a memory: with an LSTM it is learned, without one it cannot be.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use rust_trainer::{
    algorithms,
    run::evaluate::{Play, play},
    settings::{Algorithm, Settings},
    stop::StopRequest,
};
use tch::Device;
use vec_env::{SyncVecEnv, envs::Recall};

const NUM_ENVS: usize = 16;
const CUES: usize = 4;
const DELAY: u32 = 4;

fn envs() -> SyncVecEnv<Recall> {
    SyncVecEnv::new(NUM_ENVS, |index| Recall::new(CUES, DELAY, index as u64)).unwrap()
}

/// Trains with `changes` to the settings; returns the share of games in which the policy then names the
/// cue.
fn right(algorithm: Algorithm, changes: &str) -> f64 {
    let changes = format!("num_envs = {NUM_ENVS}\ntorch_threads = 1\n{changes}");
    let settings = Settings::defaults(algorithm);
    let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
    let mut env = envs();
    let mut learner = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    support::train(&mut *learner, &mut env, settings.run.total_steps);
    let games = Play {
        num_episodes: 400,
        seed: 1000,
        greedy: false,
    };
    let never = StopRequest::never();
    let played = play(learner.policy(), &mut envs(), &games, &never, |_| Ok(())).unwrap();
    let right = played.iter().filter(|game| game.episode.raw_return > 0.0);
    right.count() as f64 / played.len() as f64
}

/// Who guesses is right in a quarter of the games.
fn recalls_with_an_lstm_and_guesses_without(algorithm: Algorithm, changes: &str) {
    let share = right(algorithm, &format!("{changes}\nlstm_size = 16"));
    assert!(share > 0.9, "right in {share} of the games");
    let share = right(algorithm, changes);
    let words = "of the games without a memory";
    assert!(share < 0.35, "right in {share} {words}");
}

#[test]
fn ppo_recalls_with_an_lstm_and_guesses_without() {
    let changes = "num_steps = 20\nlearning_rate = 5e-3\ntotal_steps = 20_480";
    recalls_with_an_lstm_and_guesses_without(Algorithm::Ppo, changes);
}

/// The mean square of A2C's gradients starts at one (see `Optimizer::rms_prop`): it takes a thousand gradient
/// steps to forget that by the default of `rmsprop_alpha`, and here there are as many in all.
#[test]
fn a2c_recalls_with_an_lstm_and_guesses_without() {
    let changes = "num_steps = 5\nlearning_rate = 5e-3\nnorm_adv = true\nrmsprop_alpha = 0.9\n\
                   rmsprop_eps = 1e-10\ntotal_steps = 80_000";
    recalls_with_an_lstm_and_guesses_without(Algorithm::A2c, changes);
}
