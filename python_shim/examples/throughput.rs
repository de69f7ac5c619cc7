//! Agent steps per second of `SpaceInvaders` from Rust: `throughput ale|native|rust NUM_ENVS STEPS`.
//!
//! `ale` and `native` go through [`VecGymEnv`] to that backend of Python's, `rust` to the console in Rust without Python.
//! Same settings, seeds and actions as `scripts/benchmarks/ale_throughput.py`, which it is compared to.
//! Observations are copied into memory of the caller's, as training does. Prints one JSON object.

use std::{env, error::Error, fs, thread, time::Instant};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use python_shim::{
    AtariRequest, MakeOptions, Value, VecGymEnv,
    vec_env::{Actions, ObsBuffer, StepBatch, VecEnv},
};

const GAME: &str = "SpaceInvadersNoFrameskip-v4";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [backend, num_envs, steps] = arguments.as_slice() else {
        return Err("usage: throughput ale|native|rust NUM_ENVS STEPS".into());
    };
    let (num_envs, steps) = (num_envs.parse()?, steps.parse()?);
    if backend == "rust" {
        measure(&mut in_rust(num_envs)?, steps)?;
    } else {
        let mut options = MakeOptions::new();
        options.set("backend", Value::Str(backend.clone()));
        let mut envs = VecGymEnv::make_vec(GAME, num_envs, &options)?;
        measure(&mut envs, steps)?;
        envs.close()?;
    }
    Ok(python_shim::shutdown()?)
}

fn in_rust(num_envs: usize) -> Result<AtariVecEnv, Box<dyn Error>> {
    let request = AtariRequest::resolve(GAME, &MakeOptions::new())?.ok_or("no Atari game")?;
    let options = BatchOptions {
        num_threads: thread::available_parallelism()?.get(),
        ..BatchOptions::new(Recipe::preset(Preset::Default))
    };
    Ok(AtariVecEnv::new(
        &[Cartridge::load(&request.rom)?],
        num_envs,
        &options,
    )?)
}

fn measure(envs: &mut impl VecEnv, steps: usize) -> Result<(), Box<dyn Error>> {
    let num_envs = envs.num_envs();
    let mut obs = vec![0; num_envs * envs.obs_spec().num_bytes()];
    envs.reset(Some(0), &mut obs)?;
    let obs = ObsBuffer::new(obs.len());

    let mut batch = StepBatch::default();
    let (mut rewards, mut dones) = (0.0, 0);
    let warm_up = steps / 10;
    let (mut started, mut cpu) = (Instant::now(), 0.0);
    for step in 0..steps {
        if step == warm_up {
            (started, cpu) = (Instant::now(), cpu_seconds()?);
        }
        let action = |env: usize| (((step * 1_103_515_245 + env * 12_345) >> 16) % 6) as i64;
        let actions: Vec<i64> = (0..num_envs).map(action).collect();
        envs.send(Actions::Discrete(&actions), obs.slot())?;
        envs.recv(&mut batch)?;
        rewards += batch
            .raw_reward
            .iter()
            .map(|reward| f64::from(*reward))
            .sum::<f64>();
        dones += (0..num_envs).filter(|env| batch.is_done(*env)).count();
    }
    let taken = ((steps - warm_up) * num_envs) as f64;
    let speed = taken / started.elapsed().as_secs_f64();
    let cpu = 1e3 * (cpu_seconds()? - cpu) / taken;
    #[expect(clippy::print_stdout, reason = "this is what it is for")]
    {
        println!(
            r#"{{"steps_per_second": {speed}, "cpu_seconds_per_1000_steps": {cpu}, "work": [{rewards}, {dones}]}}"#
        );
    }
    Ok(())
}

/// Processor time of all threads of this process.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/stat")?;
    // After the name, which may hold anything, come the state and eleven numbers; then ticks of 10 ms.
    let fields = status.rsplit_once(')').ok_or("no times")?.1;
    let ticks = fields.split(' ').skip(12).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}
