//! Learning on environments written in Rust: flat observations and images in bfloat16, continuous actions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use robot_arm::RobotArm;
use rust_trainer::{
    algorithms,
    settings::{Algorithm, Settings},
};
use tch::Device;
use vec_env::{
    ActionSpace, Actions, AutoresetMode, Dtype, Env, ObsSpec, SyncVecEnv, ThreadedVecEnv,
    Transition, VecEnv,
    env::Random,
    envs::{CartPole, Pendulum},
};

use support::train;

/// Trains by an algorithm with `changes` to its settings; returns the mean return of the last 100 episodes.
fn trained(algorithm: Algorithm, env: &mut dyn VecEnv, changes: &str) -> f64 {
    let changes = format!(
        "precision = 'bf16'\nnum_envs = {}\n{changes}",
        env.num_envs()
    );
    let settings = Settings::defaults(algorithm);
    let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
    let mut algorithm = algorithms::new(&settings, env, Device::Cpu).unwrap();
    let returns = train(&mut *algorithm, env, settings.run.total_steps);
    let last = &returns[returns.len() - 100..];
    last.iter().sum::<f64>() / last.len() as f64
}

#[test]
fn cart_pole_is_balanced_in_bfloat16() {
    let mut env = SyncVecEnv::new(8, |index| CartPole::new(index as u64)).unwrap();
    let changes = "total_steps = 40_960\nnum_steps = 32\nlearning_rate = 2.5e-3";
    let mean = trained(Algorithm::Ppo, &mut env, changes);
    assert!(mean > 195.0, "mean return {mean} of 500; at random 22");
}

#[test]
fn cart_pole_is_balanced_by_pqn_in_bfloat16() {
    let mut env = SyncVecEnv::new(16, |index| CartPole::new(index as u64)).unwrap();
    let changes = "total_steps = 98_304\nnum_steps = 64\nnum_minibatches = 8\nupdate_epochs = 4\n\
        learning_rate = 2e-3\nanneal_lr = true\nq_lambda = 0.95\nexploration_fraction = 0.3\nend_e = 0.02";
    let mean = trained(Algorithm::Pqn, &mut env, changes);
    assert!(mean > 195.0, "mean return {mean} of 500; at random 22");
}

/// Lights one half of an image; the action that names it is worth 1. An episode takes 8 steps.
struct Halves {
    random: Random,
    lit: usize,
    steps: u32,
}

const SIDE: usize = 36;

impl Halves {
    fn show(&mut self, obs: &mut [u8]) {
        self.lit = self.random.below(2);
        obs.fill(0);
        for row in obs.chunks_exact_mut(SIDE) {
            row[self.lit * SIDE / 2..][..SIDE / 2].fill(255);
        }
    }
}

impl Env for Halves {
    fn obs_spec(&self) -> ObsSpec {
        ObsSpec {
            shape: vec![1, SIDE, SIDE],
            dtype: Dtype::Uint8,
        }
    }

    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete { n: 2 }
    }

    fn reset(&mut self, _seed: Option<u64>, obs: &mut [u8]) {
        self.steps = 0;
        self.show(obs);
    }

    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition {
        let is_right = action == Actions::Discrete(&[self.lit as i64]);
        self.steps += 1;
        self.show(obs);
        Transition {
            reward: f32::from(u8::from(is_right)),
            terminated: self.steps == 8,
            truncated: false,
        }
    }
}

#[test]
fn images_are_told_apart_in_bfloat16() {
    let mut env = SyncVecEnv::new(4, |index| Halves {
        random: Random::new(index as u64),
        lit: 0,
        steps: 0,
    })
    .unwrap();
    let mean = trained(
        Algorithm::Ppo,
        &mut env,
        "total_steps = 3200\nnum_steps = 32\nlearning_rate = 1e-3",
    );
    assert!(mean > 7.5, "mean return {mean} of 8; at random 4");
}

#[test]
fn a_pendulum_is_swung_up() {
    let mut env = SyncVecEnv::new(16, |index| Pendulum::new(index as u64)).unwrap();
    let settings = Settings::defaults(Algorithm::Ppo);
    let settings = settings.with(&toml::from_str(PENDULUM).unwrap()).unwrap();
    let mut ppo = algorithms::new(&settings, &env, Device::Cpu).unwrap();
    let returns = train(&mut *ppo, &mut env, settings.run.total_steps);
    let mean = |returns: &[f64]| returns.iter().sum::<f64>() / returns.len() as f64;
    let (first, last) = (mean(&returns[..32]), mean(&returns[returns.len() - 64..]));
    assert!(first < -1000.0 && last > -400.0, "from {first} to {last}");
}

/// The template for environments of one's own, on threads.
#[test]
fn a_robot_arm_learns_to_reach() {
    let arms = (0..16).map(|seed| RobotArm::new(50, seed)).collect();
    let mut env = ThreadedVecEnv::new(arms, AutoresetMode::SameStep, 2).unwrap();
    let changes = "total_steps = 98_304\nnum_steps = 64\nnum_minibatches = 4\nupdate_epochs = 10\n\
        learning_rate = 2e-3\nanneal_lr = false\ngamma = 0.9\nent_coef = 0.0\nnorm_reward = true\n\
        clip_coef = 0.2\nclip_vloss = false\ntorch_threads = 1";
    let mean = trained(Algorithm::Ppo, &mut env, changes);
    assert!(mean > -25.0, "mean return {mean}; at random -90");
}

#[test]
fn a_pendulum_is_swung_up_from_a_replay_memory() {
    let mut env = SyncVecEnv::new(4, |index| Pendulum::new(index as u64)).unwrap();
    let changes = "num_envs = 4\ntotal_steps = 12_800\nlearning_starts = 800\nreplay_capacity = 20_000\n\
        batch_size = 64\ntrain_frequency = 2\nlearning_rate = 2e-3\ngamma = 0.95\ntau = 0.01\ninit = 'uniform'\n\
        torch_threads = 1";
    for algorithm in [Algorithm::Ddpg, Algorithm::Td3] {
        let settings = Settings::defaults(algorithm);
        let settings = settings.with(&toml::from_str(changes).unwrap()).unwrap();
        let mut learner = algorithms::new(&settings, &env, Device::Cpu).unwrap();
        let returns = train(&mut *learner, &mut env, settings.run.total_steps);
        let mean = |returns: &[f64]| returns.iter().sum::<f64>() / returns.len() as f64;
        let (first, last) = (mean(&returns[..4]), mean(&returns[returns.len() - 12..]));
        assert!(
            first < -900.0 && last > -300.0,
            "{algorithm}: from {first} to {last}"
        );
    }
}

/// What swings a pendulum up in seconds.
const PENDULUM: &str = "
num_envs = 16
total_steps = 100_000
num_steps = 128
num_minibatches = 16
update_epochs = 10
learning_rate = 1e-3
gamma = 0.9
gae_lambda = 0.95
clip_coef = 0.2
clip_vloss = false
ent_coef = 0.0
torch_threads = 1
";
