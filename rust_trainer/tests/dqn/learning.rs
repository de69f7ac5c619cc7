//! Learning a task in seconds, on environments written in Rust.

use rust_trainer::{
    algorithms,
    settings::{Algorithm, Settings},
};
use tch::Device;
use vec_env::{SyncVecEnv, envs::CartPole};

use super::support::train;

const NUM_ENVS: usize = 4;

/// Trains on the cart pole with `changes` to the settings; returns the mean return of the last 40
/// episodes.
fn balanced(changes: &str) -> f64 {
    let settings = format!(
        "num_envs = {NUM_ENVS}\ntotal_steps = 16_000\nreplay_capacity = 10_000\n\
         learning_starts = 500\ntrain_frequency = 2\n\
         target_update = 100\n{changes}"
    );
    let defaults = Settings::defaults(Algorithm::Dqn);
    let settings = defaults.with(&toml::from_str(&settings).unwrap()).unwrap();
    let mut env = SyncVecEnv::new(NUM_ENVS, |index| CartPole::new(index as u64)).unwrap();
    let mut dqn = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let returns = train(&mut *dqn, &mut env, settings.run.total_steps);
    let last = &returns[returns.len() - 40..];
    last.iter().sum::<f64>() / last.len() as f64
}

#[test]
fn dqn_balances_the_pole() {
    let mean = balanced("learning_rate = 5e-4\nbatch_size = 64\ngamma = 0.98\nend_e = 0.02");
    assert!(mean > 100.0, "mean return {mean} of 500; at random 22");
}

#[test]
fn rainbow_balances_the_pole() {
    let mean = balanced(
        "learning_rate = 1e-3\ndouble_q = true\ndueling = true\nn_step = 3\nprioritized = true\nnoisy = true\n\
         distributional = 'c51'\nv_min = 0\nv_max = 100",
    );
    assert!(mean > 100.0, "mean return {mean} of 500; at random 22");
}

#[test]
fn implicit_quantiles_balance_the_pole() {
    let mean = balanced(
        "learning_rate = 1e-3\ndistributional = 'iqn'\nnum_tau_samples = 8\nnum_tau_prime_samples = 8\n\
         num_quantile_samples = 8\nend_e = 0.02",
    );
    assert!(mean > 100.0, "mean return {mean} of 500; at random 22");
}

#[test]
fn quantiles_balance_the_pole() {
    let mean = balanced(
        "learning_rate = 1e-3\ndistributional = 'quantile'\nnum_quantiles = 32\nend_e = 0.02",
    );
    assert!(mean > 100.0, "mean return {mean} of 500; at random 22");
}
