//! What crossing into Python costs: a step of [`VecGymEnv`] beside one of ALE's own Python interface.
//!
//! Both run the same game with the same settings, seed and actions, in turns of 50 steps, so that a busy
//! machine disturbs both alike; equal rewards show that they did equal work. Prints medians of the turns.
//!
//! `cargo run --release -p python_shim --example step_overhead -- 8 60`

use std::{error::Error, time::Instant};

use python_shim::{
    MakeOptions, StepBatch, VecEnv, VecGymEnv, interpreter,
    pyo3::{prelude::*, types::PyModule},
};

const TURN: usize = 50;

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
        start = time.perf_counter()
        for row in actions:
            obs, reward, terminated, truncated, info = self.env.step(row)
            total += reward[0]
        return (time.perf_counter() - start) / len(actions), float(total)
";

struct Ours {
    env: VecGymEnv,
    obs: Vec<u8>,
    batch: StepBatch,
}

impl Ours {
    fn new(num_envs: usize) -> Result<Self, Box<dyn Error>> {
        let mut env = VecGymEnv::make_vec("SpaceInvadersNoFrameskip-v4", num_envs, &MakeOptions::new())?;
        let mut obs = vec![0; num_envs * env.obs_spec().num_bytes()];
        VecEnv::reset(&mut env, Some(0), &mut obs)?;
        Ok(Self { env, obs, batch: StepBatch::default() })
    }

    /// Seconds for each step, and the first environment's raw reward.
    fn turn(&mut self, actions: &[Vec<i64>]) -> Result<(f64, f64), Box<dyn Error>> {
        let mut total = 0.0;
        let start = Instant::now();
        for row in actions {
            self.env.send(row)?;
            self.env.recv(&mut self.obs, &mut self.batch)?;
            total += f64::from(self.batch.raw_reward[0]);
        }
        Ok((start.elapsed().as_secs_f64() / actions.len() as f64, total))
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2] * 1e6
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let num_envs = arguments.next().transpose()?.unwrap_or(8);
    let num_turns = arguments.next().transpose()?.unwrap_or(60);

    let mut ours = Ours::new(num_envs)?;
    interpreter::start()?;
    let peer = Python::attach(|py| -> PyResult<Py<PyAny>> {
        let module = PyModule::from_code(py, PEER, c"peer.py", c"peer")?;
        Ok(module.getattr("Peer")?.call1((num_envs,))?.unbind())
    })?;
    let (mut our_samples, mut peer_samples) = (Vec::new(), Vec::new());
    let mut state = 1_u64;
    for _ in 0..num_turns {
        let mut action = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as i64 % 6
        };
        let actions: Vec<Vec<i64>> = (0..TURN).map(|_| (0..num_envs).map(|_| action()).collect()).collect();
        let (seconds, our_reward) = ours.turn(&actions)?;
        our_samples.push(seconds);
        let (seconds, peer_reward) = Python::attach(|py| -> PyResult<(f64, f64)> {
            peer.call_method1(py, "turn", (actions,))?.extract(py)
        })?;
        peer_samples.push(seconds);
        if our_reward.to_bits() != peer_reward.to_bits() {
            return Err(format!("unequal work: rewards {our_reward} and {peer_reward}").into());
        }
    }
    let (ours, peer) = (median(our_samples), median(peer_samples));
    println!("{num_envs} envs: ours {ours:.1} us, ALE in Python {peer:.1} us, {:+.1} us = {:+.2} %", ours - peer, (ours / peer - 1.0) * 100.0);
    Ok(())
}
