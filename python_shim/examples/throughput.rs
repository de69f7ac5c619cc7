//! Agent steps per second through [`VecGymEnv`]: `throughput NUM_ENVS STEPS`.
//!
//! Same settings, seeds and actions as `scripts/benchmarks/ale_throughput.py`, which it is compared to.
//! Observations are copied into memory of the caller's, as training does. Prints one JSON object.

use std::{env, error::Error, time::Instant};

use python_shim::{
    MakeOptions, VecGymEnv,
    vec_env::{Actions, ObsBuffer, StepBatch, VecEnv},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args()
        .skip(1)
        .map(|argument| argument.parse::<usize>());
    let (Some(num_envs), Some(steps)) = (arguments.next(), arguments.next()) else {
        return Err("usage: throughput NUM_ENVS STEPS".into());
    };
    let (num_envs, steps) = (num_envs?, steps?);
    let mut envs =
        VecGymEnv::make_vec("SpaceInvadersNoFrameskip-v4", num_envs, &MakeOptions::new())?;
    let mut obs = vec![0; num_envs * envs.obs_spec().num_bytes()];
    VecEnv::reset(&mut envs, Some(0), &mut obs)?;
    let obs = ObsBuffer::new(obs.len());

    let mut batch = StepBatch::default();
    let (mut rewards, mut dones) = (0.0, 0);
    let warm_up = steps / 10;
    let mut started = Instant::now();
    for step in 0..steps {
        if step == warm_up {
            started = Instant::now();
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
    let speed = ((steps - warm_up) * num_envs) as f64 / started.elapsed().as_secs_f64();
    #[expect(clippy::print_stdout, reason = "this is what it is for")]
    {
        println!(r#"{{"steps_per_second": {speed}, "work": [{rewards}, {dones}]}}"#);
    }
    envs.close()?;
    Ok(python_shim::shutdown()?)
}
