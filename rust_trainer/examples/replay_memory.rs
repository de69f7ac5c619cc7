//! What a full replay memory takes: fills one with Atari's observations and prints the process's memory.
//!
//! ```sh
//! cargo run --release -p rust_trainer --example replay_memory -- 1000000
//! ```

#![allow(clippy::print_stdout, reason = "it is what the example is for")]

use std::{error::Error, fs};

use rust_trainer::data::Replay;
use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec, StepBatch, env::Random};

const NUM_ENVS: usize = 8;
const STACK: usize = 4;
const FRAME: usize = 84 * 84;
/// Agent steps of a game: the four frames of its first observation are held.
const GAME: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let capacity = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |word| word.parse())?;
    let spec = ObsSpec {
        shape: vec![STACK, 84, 84],
        dtype: Dtype::Uint8,
    };
    let before = resident()?;
    let actions = ActionBatch::Discrete(vec![0; NUM_ENVS]);
    let mut replay = Replay::new(
        (&spec, &ActionSpace::Discrete { n: 1 }),
        NUM_ENVS,
        capacity,
        1,
        0.99,
    )?;
    println!("empty: {:.3} GB", (resident()? - before) as f64 / 1e9);
    let mut random = Random::new(1);
    let mut obs = vec![0; NUM_ENVS * STACK * FRAME];
    let mut step = StepBatch::default();
    step.clear(NUM_ENVS, 1);
    replay.restart(obs.clone())?;
    for number in 1..=capacity.div_ceil(NUM_ENVS) {
        for stack in obs.chunks_exact_mut(STACK * FRAME) {
            stack.copy_within(FRAME.., 0);
            let (older, newest) = stack.split_at_mut((STACK - 1) * FRAME);
            newest.fill(random.next_u64() as u8);
            if number % GAME == 0 {
                older.fill(0);
            }
        }
        step.terminated.fill(number % GAME == 0);
        replay.push(&actions, &step, obs.clone())?;
    }
    let held = replay.held();
    let newest: Vec<u64> = held.clone().rev().take(32).collect();
    let batch = replay.get(&newest)?;
    println!(
        "{} transitions: {:.3} GB; a batch of them is {:?}",
        held.end - held.start,
        (resident()? - before) as f64 / 1e9,
        batch.obs.size()
    );
    Ok(())
}

/// Bytes of this process in memory.
fn resident() -> Result<i64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap_or_default().trim_end_matches("kB").trim();
    Ok(kilobytes.parse::<i64>()? * 1024)
}
