//! A task that takes a memory: with an LSTM it is learned, without one it cannot be.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rand_pcg::Pcg64;
use rust_trainer::{
    algorithms,
    data::obs_tensor,
    policy::seeded_rng,
    settings::{Algorithm, Settings},
};
use tch::Device;
use vec_env::{StepBatch, SyncVecEnv, VecEnv, envs::Recall};

const NUM_ENVS: usize = 16;
const CUES: usize = 4;
const DELAY: u32 = 5;

fn envs(seed: u64) -> SyncVecEnv<Recall> {
    SyncVecEnv::new(NUM_ENVS, |index| {
        Recall::new(CUES, DELAY, seed + index as u64)
    })
    .unwrap()
}

/// Trains with `changes` to the settings; returns the share of episodes in which the policy, by itself and
/// in other environments, is right.
fn right(algorithm: Algorithm, changes: &str) -> f64 {
    let changes = format!("num_envs = {NUM_ENVS}\ntorch_threads = 1\n{changes}");
    let settings = Settings::defaults(algorithm);
    let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
    let mut env = envs(1);
    let mut learner = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let mut step = StepBatch::default();
    env.reset(Some(1), &mut learner.next_obs()).unwrap();
    for _ in 0..settings.run.total_steps / NUM_ENVS as u64 {
        let actions = learner.act().unwrap();
        env.send(actions.as_actions(), learner.next_obs()).unwrap();
        env.recv(&mut step).unwrap();
        learner.observe(&step).unwrap();
        learner.learn().unwrap();
    }

    let (mut env, policy) = (envs(1000), learner.policy());
    let mut rng: Pcg64 = seeded_rng(2);
    let mut memory = policy.new_memory(NUM_ENVS);
    let mut obs = vec![0; NUM_ENVS * env.obs_spec().num_bytes()];
    let mut returns = Vec::new();
    env.reset(Some(1000), &mut obs).unwrap();
    while returns.len() < 400 {
        let seen = obs_tensor(&obs, NUM_ENVS, env.obs_spec()).unwrap();
        let actions = policy.act(&seen, &mut memory, &mut rng, false);
        env.step(actions.as_actions(), &mut obs, &mut step).unwrap();
        let ended: Vec<bool> = (0..NUM_ENVS).map(|env| step.is_done(env)).collect();
        memory.forget(&ended);
        returns.extend(step.episodes.iter().map(|episode| episode.raw_return));
    }
    returns.iter().sum::<f64>() / returns.len() as f64
}

#[test]
fn ppo_recalls_with_an_lstm_and_guesses_without() {
    let changes = "num_steps = 32\nlearning_rate = 2.5e-3\ntotal_steps = 40_960";
    let share = right(Algorithm::Ppo, &format!("{changes}\nlstm_size = 32"));
    assert!(share > 0.95, "right in {share} of the episodes");
    let share = right(Algorithm::Ppo, changes);
    assert!(
        share < 0.35,
        "right in {share} of the episodes without a memory"
    );
}
