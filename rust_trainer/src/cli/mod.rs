//! The command line. What it can do lives in the library; here are arguments, messages and exit codes.

mod announce;
mod doctor;
mod dump_frames;
mod eval;
mod mistakes;
mod recorded;
mod seeds;
mod setting_args;
mod train;
mod versus;

use std::{
    ffi::OsString,
    fmt::Display,
    io::{self, Write},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use vec_env::VecEnv;

use crate::{
    device,
    error::TrainerError,
    memory,
    panics::catch_panics,
    policy::Policy,
    ranks::Launch,
    run::{
        aside,
        checkpoints::{self, Found},
        evaluate::Play,
    },
    settings::DeviceChoice,
    stop::StopRequest,
};

const EXIT_OK: i32 = 0;
const EXIT_ERROR: i32 = 1;

/// Trains reinforcement-learning agents on Atari games, in Rust with libtorch.
#[derive(Parser)]
#[command(name = "rust_trainer", version = build_commit::VERSION, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train an agent, or go on with a run
    Train(Box<train::TrainArgs>),
    /// Train with several seeds, also on several environments, in parallel; report mean and 95 % interval
    Seeds(Box<seeds::SeedsArgs>),
    /// Play whole games with a trained agent and report their raw returns
    Eval(eval::EvalArgs),
    /// Let a trained agent play and save every raw frame as PNG
    DumpFrames(dump_frames::DumpArgs),
    /// Let a trained agent play against others in a game for two, and print a table of the results
    Versus(versus::VersusArgs),
    /// Show the interpreter, libpython, libtorch, CUDA and threads in use, and what is wrong with them
    Doctor,
}

/// How a trained agent plays.
#[derive(clap::Args)]
struct PlayArgs {
    /// Seed of the games and of the policy's draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Take the checkpoint that did best in evaluations during training instead of the newest
    #[arg(long)]
    best: bool,
    /// Always take the most probable action instead of drawing from the policy
    #[arg(long)]
    greedy: bool,
    /// Where the network runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

impl PlayArgs {
    fn games(&self, num_episodes: u64) -> Play {
        Play {
            num_episodes: num_episodes as usize,
            seed: self.seed,
            greedy: self.greedy,
        }
    }
}

/// Runs the program with `args`, the program's name first; returns its exit status. Where they name no command but
/// begin with an option or a preset, `train` is meant.
#[must_use]
pub fn run(args: Vec<OsString>) -> i32 {
    let args = mistakes::with_command(&Cli::command(), args);
    let command = setting_args::tailored(Cli::command(), &args);
    let cli = command
        .clone()
        .try_get_matches_from(&args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => return mistakes::explain(error, &command, &args),
    };
    let stop = match StopRequest::install() {
        Ok(stop) => stop,
        Err(source) => {
            mistakes::fail(&TrainerError::io("handle", "signals".as_ref(), source));
            return EXIT_ERROR;
        }
    };
    let result = catch_panics(|| dispatch(cli, &stop));
    if let Err(TrainerError::Stopped) = result {
        let _ = writeln!(io::stderr(), "stopped");
        // Python may still be busy in a thread that was left to itself: it ends with the process.
        return stop.exit_status();
    }
    let shut_down = shut_down();
    match result.and_then(|status| shut_down.map(|()| status)) {
        Ok(status) => status,
        Err(TrainerError::Told) => EXIT_ERROR,
        Err(error) => {
            mistakes::fail(&error);
            EXIT_ERROR
        }
    }
}

/// Ends what Python does in the background, as long as Python lets anybody in: an environment that was given up
/// in the midst of a step may hold its lock, and ends with the process.
fn shut_down() -> Result<(), TrainerError> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send(python_shim::shutdown()));
    match ended.recv_timeout(PATIENCE) {
        Ok(ended) => Ok(ended?),
        Err(_) => Ok(()),
    }
}

fn dispatch(cli: Cli, stop: &StopRequest) -> Result<i32, TrainerError> {
    if !matches!(cli.command, Command::Train(_)) && Launch::from_env()?.is_some() {
        let problem = "RANK and WORLD_SIZE are set: several ranks can `train`, and nothing else";
        return Err(TrainerError::Usage(problem.to_owned()));
    }
    memory::check_address_space()?;
    match cli.command {
        Command::Train(args) => train::train(&args, stop),
        Command::Seeds(args) => seeds::seeds(&args, stop),
        Command::Eval(args) => eval::eval(&args, stop),
        Command::DumpFrames(args) => dump_frames::dump_frames(&args, stop),
        Command::Versus(args) => versus::versus(&args, stop),
        Command::Doctor => Ok(doctor::doctor()),
    }
}

/// The checkpoint that `run` means.
fn find(run: &Path, best: bool) -> Result<Found, TrainerError> {
    match best {
        true if run.is_file() => Err(TrainerError::Usage(format!(
            "`{}` is a file; --best takes a run's folder",
            run.display()
        ))),
        true => checkpoints::find_best(run),
        false => checkpoints::find(run),
    }
}

/// The policy of a checkpoint, and a word about newer ones that are damaged.
fn load_policy(found: &Found, play: &PlayArgs) -> Result<Box<dyn Policy>, TrainerError> {
    for error in &found.damaged {
        warn(format_args!("{error}; taking an older one"));
    }
    let checkpoint = &found.checkpoint;
    device::limit_torch_to_one_thread();
    checkpoint
        .policy(device::select(play.device)?)
        .map_err(|error| TrainerError::checkpoint(&found.path, error))
}

/// Makes environments as `make` says, unless a stop is asked for meanwhile.
fn make_envs<Envs: Send + 'static>(
    num_envs: usize,
    stop: &StopRequest,
    make: impl FnOnce() -> Result<Envs, TrainerError> + Send + 'static,
) -> Result<Envs, TrainerError> {
    // Python's main thread is the one that it starts in.
    python_shim::interpreter::start()?;
    let what = format!("{num_envs} environments are being made");
    stop.unless_asked_saying(Some(&what), make)
        .ok_or(TrainerError::Stopped)?
}

/// Closes environments that have played; what they make of it costs nothing of what they did.
fn close(mut env: Box<dyn VecEnv>) {
    if let Some(problem) = aside::close(&mut env) {
        warn(problem);
    }
}

/// The exit status of playing: whether it came to its end or was asked to stop.
fn status_after(stop: &StopRequest) -> i32 {
    if stop.is_asked() {
        stop.exit_status()
    } else {
        EXIT_OK
    }
}

/// Prints a line that says what is done; whether anybody reads it makes no difference.
fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line on standard error.
fn warn(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a line of the result. A reader that went away has what it wanted; a full disk is an error.
fn print(line: impl Display) -> Result<(), TrainerError> {
    let mut out = io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(TrainerError::io(
            "write",
            Path::new("standard output"),
            error,
        )),
        _ => Ok(()),
    }
}
