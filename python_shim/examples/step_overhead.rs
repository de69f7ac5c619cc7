//! What crossing into Python costs: a step of [`VecGymEnv`] beside one of ALE's own Python interface.
//!
//! Both run the same game with the same settings, seed and actions, in turns of 50 steps, so that a busy
//! machine disturbs both alike; equal rewards show that they did equal work. Prints the median step of
//! each, the median of the differences within a pair of turns, and the same of the calling thread's CPU
//! time, which leaves out the waiting for emulation and so is all that either interface itself costs.
//!
//! `cargo run --release -p python_shim --example step_overhead -- 8 60`

use std::{error::Error, time::Instant};

use python_shim::{
    MakeOptions, VecGymEnv, interpreter,
    pyo3::{prelude::*, types::PyModule},
    vec_env::{Actions, ObsBuffer, StepBatch, VecEnv, env::Random},
};

const TURN: usize = 50;

/// Seconds and CPU seconds for each step, and the sum of the first environment's raw rewards.
type Turn = (f64, f64, f64);

/// ALE's vector env as a Python program would run it.
const PEER: &std::ffi::CStr = c"
import time
import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode

class Peer:
    def __init__(self, num_envs):
        self.env = AtariVectorEnv('space_invaders', num_envs, autoreset_mode=AutoresetMode.SAME_STEP,
                                  noop_max=30, use_fire_reset=True, reward_clipping=False,
                                  max_num_frames_per_episode=108_000)
        self.env.reset(seed=np.arange(num_envs))

    def turn(self, actions):
        actions = np.array(actions)
        total = 0.0
        start, cpu = time.perf_counter(), time.thread_time()
        for row in actions:
            obs, reward, terminated, truncated, info = self.env.step(row)
            total += reward[0]
        cpu = time.thread_time() - cpu
        return (time.perf_counter() - start) / len(actions), cpu / len(actions), float(total)
";

struct Ours {
    env: VecGymEnv,
    obs: ObsBuffer,
    batch: StepBatch,
}

impl Ours {
    fn new(num_envs: usize) -> Result<Self, Box<dyn Error>> {
        let mut env =
            VecGymEnv::make_vec("SpaceInvadersNoFrameskip-v4", num_envs, &MakeOptions::new())?;
        let mut obs = vec![0; num_envs * env.obs_spec().num_bytes()];
        VecEnv::reset(&mut env, Some(0), &mut obs)?;
        Ok(Self {
            env,
            obs: ObsBuffer::new(obs.len()),
            batch: StepBatch::default(),
        })
    }

    fn turn(&mut self, actions: &[Vec<i64>]) -> Result<Turn, Box<dyn Error>> {
        let mut total = 0.0;
        let (start, cpu) = (Instant::now(), thread_seconds());
        for row in actions {
            self.env.send(Actions::Discrete(row), self.obs.slot())?;
            self.env.recv(&mut self.batch)?;
            total += f64::from(self.batch.raw_reward[0]);
        }
        let cpu = thread_seconds() - cpu;
        let (seconds, num_steps) = (start.elapsed().as_secs_f64(), actions.len() as f64);
        Ok((seconds / num_steps, cpu / num_steps, total))
    }
}

/// CPU time that this thread has used.
#[expect(unsafe_code, reason = "libc::clock_gettime")]
fn thread_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` only.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Median of what `pick` takes from the turns, in microseconds.
fn median(turns: &[(Turn, Turn)], pick: impl Fn(&(Turn, Turn)) -> f64) -> f64 {
    let mut samples: Vec<f64> = turns.iter().map(pick).collect();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2] * 1e6
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse());
    let num_envs = arguments.next().transpose()?.unwrap_or(8);
    let num_turns = arguments.next().transpose()?.unwrap_or(60);

    let mut ours = Ours::new(num_envs)?;
    interpreter::start()?;
    let peer = Python::attach(|py| -> PyResult<Py<PyAny>> {
        let module = PyModule::from_code(py, PEER, c"peer.py", c"peer")?;
        Ok(module.getattr("Peer")?.call1((num_envs,))?.unbind())
    })?;
    let mut turns = Vec::new();
    let mut random = Random::new(1);
    for _ in 0..num_turns {
        let mut row = |_| (0..num_envs).map(|_| random.below(6) as i64).collect();
        let actions: Vec<Vec<i64>> = (0..TURN).map(&mut row).collect();
        let ours = ours.turn(&actions)?;
        let peer: PyResult<Turn> =
            Python::attach(|py| peer.call_method1(py, "turn", (actions,))?.extract(py));
        let peer = peer?;
        if ours.2.to_bits() != peer.2.to_bits() {
            return Err(format!("unequal work: rewards {} and {}", ours.2, peer.2).into());
        }
        turns.push((ours, peer));
    }
    let ours = median(&turns, |turn| turn.0.0);
    let peer = median(&turns, |turn| turn.1.0);
    let difference = median(&turns, |turn| turn.0.0 - turn.1.0);
    let cpu = median(&turns, |turn| turn.0.1 - turn.1.1);
    println!(
        "{num_envs} envs: ours {ours:.1} us, ALE in Python {peer:.1} us, {difference:+.1} us = {:+.2} %; \
         CPU {cpu:+.1} us = {:+.2} %",
        difference / peer * 100.0,
        cpu / peer * 100.0,
    );
    Ok(())
}
