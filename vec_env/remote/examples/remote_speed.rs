//! Agent steps a second of a served batch beside the same batch here: `remote_speed ADDRESS ROM NUM_ENVS`.
//!
//! The server plays the game of that ROM by the preset `default` on `native`, and its token is that of
//! `ATARI_WRAPPERS_TOKEN`. The two batches take turns of two seconds with the same actions, ten rounds, and must bring
//! the same rewards. Prints a line of CSV for each turn, and the medians.

#![expect(clippy::print_stdout, reason = "that is its purpose")]

use std::{
    env,
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use vec_env::{Actions, EnvError, StepBatch, VecEnv, env::Random};
use vec_env_remote::{RemoteVecEnv, Server};

const ROUNDS: usize = 10;
const TURN: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, rom, num_envs] = arguments.as_slice() else {
        return Err("usage: remote_speed ADDRESS ROM NUM_ENVS".into());
    };
    let num_envs = num_envs.parse()?;
    let server = Server::at(address).token(&env::var("ATARI_WRAPPERS_TOKEN")?);
    let mut remote = RemoteVecEnv::connect(&server, num_envs, &[])?;
    let options = BatchOptions::new(Recipe::preset(Preset::Default));
    let mut here = AtariVecEnv::new(&[Cartridge::load(Path::new(rom))?], num_envs, &options)?;
    let mut speeds_of = [Vec::new(), Vec::new()];
    println!("round,batch,steps_per_second");
    for round in 0..ROUNDS {
        let played = Played::by(&mut remote, round as u64, |_, since| since.elapsed() < TURN)?;
        let again = Played::by(&mut here, round as u64, |steps, _| steps < played.num_steps)?;
        if again.points != played.points {
            return Err("the server plays another game".into());
        }
        for (name, played, speeds) in [("remote", &played, 0), ("here", &again, 1)] {
            println!("{round},{name},{:.0}", played.speed);
            speeds_of[speeds].push(played.speed);
        }
    }
    let [remote, here] = speeds_of.map(|mut speeds| {
        speeds.sort_by(f64::total_cmp);
        f64::midpoint(speeds[ROUNDS / 2 - 1], speeds[ROUNDS / 2])
    });
    println!("# {remote:.0} of {here:.0}: {:.2}", remote / here);
    Ok(())
}

struct Played {
    num_steps: usize,
    /// Sum of all rewards.
    points: i64,
    /// Agent steps a second.
    speed: f64,
}

impl Played {
    /// Plays at random from the seed `game` for as long as `goes_on` says, of the steps done and the start.
    fn by(
        envs: &mut dyn VecEnv,
        game: u64,
        goes_on: impl Fn(usize, Instant) -> bool,
    ) -> Result<Self, EnvError> {
        let num_actions = envs.action_space().num_actions() as usize;
        let (mut obs, mut step) = (vec![0; envs.spec().obs_bytes()], StepBatch::default());
        let (mut random, mut actions) = (Random::new(game), vec![0; envs.num_envs()]);
        envs.reset(Some(game), &mut obs)?;
        let (since, mut num_steps, mut points) = (Instant::now(), 0, 0);
        while goes_on(num_steps, since) {
            actions.fill_with(|| random.below(num_actions) as i64);
            envs.step(Actions::Discrete(&actions), &mut obs, &mut step)?;
            points += step
                .raw_reward
                .iter()
                .map(|&reward| reward as i64)
                .sum::<i64>();
            num_steps += 1;
        }
        let speed = (num_steps * actions.len()) as f64 / since.elapsed().as_secs_f64();
        Ok(Self {
            num_steps,
            points,
            speed,
        })
    }
}
