//! Trains on an environment of one's own, without Python: PPO on the arm of `examples/robot_arm`, then 100 episodes of its
//! greedy policy. The run is in `runs/robot-arm`; `rust_trainer report` and `watch` know it.
//!
//! ```sh
//! cargo run --release -p rust_trainer --example train_robot_arm -- 300000
//! ```

#![allow(clippy::print_stdout, reason = "it is what the example is for")]

use std::error::Error;

use robot_arm::RobotArm;
use rust_trainer::{
    run::{
        Run, checkpoints,
        evaluate::{Play, play},
    },
    settings::{Algorithm, Settings},
    stop::StopRequest,
};
use tch::Device;
use vec_env::{AutoresetMode, SyncVecEnv, ThreadedVecEnv};

const NUM_ENVS: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let total_steps = std::env::args().nth(1).unwrap_or("300000".to_owned());
    let changes = format!(
        "env_id = 'RobotArm-v0'\nrun_name = 'robot-arm'\ntotal_steps = {total_steps}\nnum_envs = {NUM_ENVS}\n\
         num_steps = 128\nnum_minibatches = 8\nupdate_epochs = 10\nlearning_rate = 1e-3\ngamma = 0.95\n\
         ent_coef = 0.0\nvf_coef = 1.0\nnorm_reward = true\n\
         clip_coef = 0.2\nclip_vloss = false\ntorch_threads = 1"
    );
    let settings = Settings::defaults(Algorithm::Ppo).with(&toml::from_str(&changes)?)?;
    let arms = (0..NUM_ENVS as u64).map(|seed| RobotArm::new(100, seed));
    // A step is over before another thread is woken: one is enough.
    let envs = ThreadedVecEnv::new(arms.collect(), AutoresetMode::SameStep, 1)?;
    let stop = StopRequest::never();
    let run = Run::create(settings, Box::new(envs), &stop)?;
    let folder = run.folder.path().to_owned();
    let summary = run.train(&stop)?;
    println!("{} steps in {}", summary.counters.step, folder.display());

    let policy = checkpoints::find(&folder)?.checkpoint.policy(Device::Cpu)?;
    let mut envs = SyncVecEnv::new(10, |index| RobotArm::new(100, index as u64))?;
    let asked = Play {
        num_episodes: 100,
        seed: 1,
        greedy: true,
    };
    let games = play(&*policy, &mut envs, &asked, &stop, |_| Ok(()))?;
    let mean = |of: &dyn Fn(&vec_env::Episode) -> f64| {
        games.iter().map(|game| of(&game.episode)).sum::<f64>() / games.len() as f64
    };
    println!(
        "greedy: mean return {:.1}, mean length {:.1} over {} episodes",
        mean(&|episode| episode.raw_return),
        mean(&|episode| episode.length as f64),
        games.len()
    );
    Ok(())
}
