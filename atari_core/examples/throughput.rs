//! Agent steps per second of a batch: `throughput ROM [NUM_ENVS [NUM_THREADS [PRESET]]]`.

#![expect(clippy::print_stdout, reason = "that is its purpose")]

use std::{env, error::Error, time::Instant};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use vec_env::{Actions, ObsBuffer, StepBatch, VecEnv, env::Random};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let rom = arguments
        .first()
        .ok_or("usage: throughput ROM [NUM_ENVS [NUM_THREADS [PRESET]]]")?;
    let number = |place: usize| {
        arguments
            .get(place)
            .map_or(Ok(1), |text| text.parse::<usize>())
    };
    let (num_envs, num_threads) = (number(1)?, number(2)?);
    let name = arguments.get(3).map_or("default", String::as_str);
    let preset = Preset::from_name(name).ok_or_else(|| format!("there is no preset {name}"))?;
    let options = BatchOptions {
        num_threads,
        ..BatchOptions::new(Recipe::preset(preset))
    };
    let mut envs = AtariVecEnv::new(&[Cartridge::load(rom.as_ref())?], num_envs, &options)?;
    let num_actions = envs.action_space().num_actions() as usize;
    let mut obs = vec![0; num_envs * envs.obs_spec().num_bytes()];
    envs.reset(Some(0), &mut obs)?;
    let buffer = ObsBuffer::new(obs.len());
    let (mut random, mut step) = (Random::new(0), StepBatch::default());
    let mut actions = vec![0; num_envs];
    let num_steps = (4000 / num_envs).max(20);
    for round in 0..4 {
        let start = Instant::now();
        for _ in 0..num_steps {
            actions.fill_with(|| random.below(num_actions) as i64);
            envs.send(Actions::Discrete(&actions), buffer.slot())?;
            envs.recv(&mut step)?;
        }
        let rate = (num_steps * num_envs) as f64 / start.elapsed().as_secs_f64();
        println!("round {round}: {rate:.0} steps/s");
    }
    Ok(())
}
