//! Agent steps per second of batches: `batch_speed ROM [NUM_ENVS [NUM_THREADS [BATCH_SIZE [PRESET [STEPS]]]]]`.
//!
//! The first three may be several numbers with commas between (a batch size of 0: all at once); each of five rounds
//! takes so many steps. Actions are random and the same in every run. Prints a line for each batch: its size, threads and
//! parts, the median round's steps per second, steps per second of processor time, and, of the first batch, whose memory
//! was nobody's before, kilobytes per environment.

#![expect(clippy::print_stdout, reason = "that is its purpose")]

use std::{env, error::Error, fs, path::Path, time::Instant};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use vec_env::{Actions, ObsBuffer, StepBatch, VecEnv, env::Random};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let usage = "usage: batch_speed ROM [NUM_ENVS [NUM_THREADS [BATCH_SIZE [PRESET [STEPS]]]]]";
    let rom = arguments.first().ok_or(usage)?;
    let text = |place: usize, default| arguments.get(place).map_or(default, String::as_str);
    let numbers = |place: usize, default| {
        let numbers = text(place, default).split(',').map(str::parse::<usize>);
        numbers.collect::<Result<Vec<_>, _>>()
    };
    let preset: Preset = serde_json::from_value(text(4, "default").into())?;
    let num_steps: usize = text(5, "4000").parse()?;
    println!("  envs threads  batch    steps/s  per CPU-s");
    let mut is_first = true;
    for num_envs in numbers(1, "1")? {
        for &num_threads in &numbers(2, "1")? {
            for &batch_size in &numbers(3, "0")? {
                let options = BatchOptions {
                    num_threads,
                    batch_size,
                    ..BatchOptions::new(Recipe::preset(preset))
                };
                let [wall, cpu, memory] = measure(rom.as_ref(), num_envs, &options, num_steps)?;
                println!("{num_envs:6} {num_threads:7} {batch_size:6} {wall:10.0} {cpu:10.0}");
                if std::mem::take(&mut is_first) {
                    println!("{memory:.0} kB for each environment");
                }
            }
        }
    }
    Ok(())
}

fn measure(
    rom: &Path,
    num_envs: usize,
    options: &BatchOptions,
    num_steps: usize,
) -> Result<[f64; 3], Box<dyn Error>> {
    let before = resident_kilobytes()?;
    let mut envs = AtariVecEnv::new(&[Cartridge::load(rom)?], num_envs, options)?;
    let num_actions = envs.action_space().num_actions() as usize;
    let row_bytes = envs.obs_spec().num_bytes();
    let mut obs = vec![0; num_envs * row_bytes];
    envs.reset(Some(0), &mut obs)?;
    let num_rows = envs.batch_size();
    let buffer = ObsBuffer::new(num_rows * row_bytes);
    let (mut random, mut step) = (Random::new(0), StepBatch::default());
    let mut actions = vec![0; num_envs];
    let mut num_sent = num_envs;
    let memory = (resident_kilobytes()? - before) / num_envs as f64;
    let cpu = cpu_seconds()?;
    let mut rates = Vec::new();
    let mut num_taken = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let rounds = num_steps.div_ceil(num_rows);
        for _ in 0..rounds {
            actions[..num_sent].fill_with(|| random.below(num_actions) as i64);
            envs.send(Actions::Discrete(&actions[..num_sent]), buffer.slot())?;
            envs.recv(&mut step)?;
            num_sent = num_rows;
        }
        num_taken += rounds * num_rows;
        rates.push((rounds * num_rows) as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let cpu = num_taken as f64 / (cpu_seconds()? - cpu);
    Ok([rates[ROUNDS / 2], cpu, memory])
}

/// Memory of this process, observations and the caller's copy of them included.
fn resident_kilobytes() -> Result<f64, Box<dyn Error>> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split(' ').nth(1).ok_or("no resident pages")?;
    Ok(pages.parse::<f64>()? * 4.096)
}

/// Processor time of all threads of this process.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/stat")?;
    // After the name, which may hold anything, come the state and eleven numbers; then ticks of 10 ms.
    let fields = status.rsplit_once(')').ok_or("no times")?.1;
    let ticks = fields.split(' ').skip(12).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}
