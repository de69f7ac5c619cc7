//! The command line. What it can do lives in the library; here are arguments, messages and exit codes.

use std::{
    fmt::Display,
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use toml::{Table, Value};
use vec_env::ActionSpace;

use crate::{
    algorithms,
    checkpoint::{self, Counters, State},
    device, doctor,
    error::TrainerError,
    evaluate::{mean_and_deviation, play},
    make_env::{self, Recording},
    policy::Policy,
    settings::{self, Algorithm, DeviceChoice, Field, Settings},
    signals::StopRequest,
    train::{Outcome, Run},
};

const EXIT_OK: i32 = 0;
const EXIT_ERROR: i32 = 1;

/// Trains reinforcement-learning agents on Atari games, in Rust with libtorch.
#[derive(Parser)]
#[command(name = "rust_trainer", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train an agent, or go on with a run
    Train(Box<TrainArgs>),
    /// Play whole games with a trained agent and report their raw returns
    Eval(EvalArgs),
    /// Let a trained agent play and save every raw frame as PNG
    DumpFrames(DumpArgs),
    /// Show the interpreter, libpython, libtorch, CUDA and threads in use, and what is wrong with them
    Doctor,
}

#[derive(clap::Args)]
struct TrainArgs {
    /// TOML file of settings, named as the options below with `_` for `-`; the command line wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Go on with the run in this folder from its newest checkpoint
    #[arg(long, value_name = "RUN", conflicts_with = "config")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArgs,
}

/// The settings that a command line names.
struct SettingArgs(Table);

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self(Table::new());
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let groups = settings::groups(Algorithm::ALL);
        for (field, _) in groups.iter().flat_map(|(_, fields)| fields) {
            if let Some(value) = matches.get_one::<Value>(field.name) {
                self.0.insert(field.name.to_owned(), value.clone());
            }
        }
        Ok(())
    }
}

impl Args for SettingArgs {
    fn augment_args(mut command: clap::Command) -> clap::Command {
        for (heading, fields) in settings::groups(Algorithm::ALL) {
            for (field, readers) in fields {
                let arg = Arg::new(field.name)
                    .long(field.name.replace('_', "-"))
                    .value_name(field.name.to_uppercase())
                    .value_parser(field.parser())
                    .help_heading(heading)
                    .help(explain(field, &readers));
                command = command.arg(arg);
            }
        }
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// A setting's line of `--help`: what it is, which algorithms read it, its default.
fn explain(field: &Field, readers: &[Algorithm]) -> String {
    let mut help = field.help.trim().to_owned();
    if readers.len() < Algorithm::ALL.len() {
        let names: Vec<_> = readers.iter().map(|reader| reader.name()).collect();
        help = format!("{help} ({})", names.join(", "));
    }
    let default = |reader| settings::shown(&settings::default_of(field, reader));
    let first = default(readers[0]);
    if first.is_empty() {
        return help;
    }
    let others = readers[1..]
        .iter()
        .filter(|&&other| default(other) != first);
    let others: Vec<_> = others
        .map(|&other| format!(", {other}: {}", default(other)))
        .collect();
    format!("{help} [default: {first}{}]", others.concat())
}

#[derive(clap::Args)]
struct EvalArgs {
    /// A run's folder (its newest checkpoint is taken) or a checkpoint
    run: PathBuf,
    /// True games to play
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// Environments played at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    num_envs: u64,
    /// Folder for games as mp4, `env<env>-game<n>.mp4`; made if it is not there (Atari)
    #[arg(long, value_name = "FOLDER")]
    video_dir: Option<PathBuf>,
    /// Of each environment's games, save the first and every n-th after it
    #[arg(long, value_name = "N", default_value_t = 1, requires = "video_dir",
          value_parser = clap::value_parser!(u64).range(1..))]
    record_every: u64,
    #[command(flatten)]
    play: PlayArgs,
}

#[derive(clap::Args)]
struct DumpArgs {
    /// A run's folder (its newest checkpoint is taken) or a checkpoint
    run: PathBuf,
    /// Folder for the frames, `out<env>-<frame>.png`; made if it is not there
    img_dir: PathBuf,
    /// True games to play
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    #[command(flatten)]
    play: PlayArgs,
}

#[derive(clap::Args)]
struct PlayArgs {
    /// Seed of the games and of the policy's draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Always take the most probable action instead of drawing from the policy
    #[arg(long)]
    greedy: bool,
    /// Where the network runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

/// Runs the program with `args`, the program's name first; returns its exit status.
#[must_use]
pub fn run(args: Vec<String>) -> i32 {
    let matches = match Cli::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return error.exit_code();
        }
    };
    match dispatch(&matches) {
        Ok(status) => status,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {}", describe(&error));
            EXIT_ERROR
        }
    }
}

fn dispatch(matches: &ArgMatches) -> Result<i32, TrainerError> {
    let cli =
        Cli::from_arg_matches(matches).map_err(|error| TrainerError::Usage(error.to_string()))?;
    let stop = StopRequest::install()
        .map_err(|source| TrainerError::io("handle", "signals".as_ref(), source))?;
    let status = match cli.command {
        Command::Train(args) => train(&args, &stop),
        Command::Eval(args) => eval(&args, &stop),
        Command::DumpFrames(args) => dump_frames(&args, &stop),
        Command::Doctor => Ok(doctor::run()),
    };
    let shut_down = python_shim::shutdown();
    let status = status?;
    shut_down?;
    Ok(status)
}

fn train(args: &TrainArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let run = match &args.resume {
        Some(folder) => resume(folder, &args.settings.0)?,
        None => start(args)?,
    };
    let folder = run.folder().to_owned();
    let summary = run.train(stop)?;
    let Counters { step, seconds, .. } = summary.counters;
    match summary.mean_return {
        Some((mean, 1)) => say(format_args!("raw return of the only game: {mean:.1}")),
        Some((mean, games)) => say(format_args!(
            "mean raw return of the last {games} games: {mean:.1}"
        )),
        None => say("no game ended"),
    }
    say(format_args!("learning curve: {}", summary.curve.display()));
    match summary.outcome {
        Outcome::Finished => {
            say(format_args!("done: {step} agent steps in {seconds:.0} s"));
            Ok(EXIT_OK)
        }
        Outcome::Stopped => {
            say(format_args!(
                "stopped at agent step {step}; go on by: train --resume '{}'",
                folder.display()
            ));
            Ok(stop.exit_status())
        }
    }
}

fn start(args: &TrainArgs) -> Result<Run, TrainerError> {
    let mut settings = Settings::resolve(args.config.as_deref(), &args.settings.0)?;
    if settings.run.run_name.is_empty() {
        settings.run.run_name = run_name(&settings);
    }
    let threads = device::set_torch_threads(settings.machine.torch_threads);
    let env = make_env::for_training(&settings)?;
    let run = Run::create(settings.clone(), env)?;
    announce(&run, &settings, threads);
    doctor::write_machine(run.folder(), &device::name(run.algorithm().device()))?;
    Ok(run)
}

/// Settings that a resumed run may change: they say how far and where, not what is learned.
const CHANGEABLE: &[&str] = &[
    "total_steps",
    "device",
    "precision",
    "torch_threads",
    "env_threads",
    "checkpoint_every",
    "keep_checkpoints",
    "img_dir",
];

fn resume(folder: &Path, overrides: &Table) -> Result<Run, TrainerError> {
    if let Some(name) = overrides
        .keys()
        .find(|name| !CHANGEABLE.contains(&name.as_str()))
    {
        let list = CHANGEABLE.join(", ");
        return Err(TrainerError::Usage(format!(
            "`{name}` cannot change in a resumed run; what can: {list}"
        )));
    }
    let state = checkpoint::read_state(&checkpoint::newest(folder)?)?;
    let settings = state.settings.with(overrides)?;
    let threads = device::set_torch_threads(settings.machine.torch_threads);
    let env = make_env::for_training(&settings)?;
    let run = Run::resume(folder, settings.clone(), env)?;
    announce(&run, &settings, threads);
    say(format_args!(
        "going on from agent step {}",
        run.counters().step
    ));
    Ok(run)
}

fn announce(run: &Run, settings: &Settings, torch_threads: i32) {
    let device = device::name(run.algorithm().device());
    say(format_args!(
        "{} with {}: {} environments {}; {} parameters on {device}, {:?}, {torch_threads} libtorch threads",
        settings.env.env_id,
        settings.algorithm.algorithm().name().to_uppercase(),
        settings.env.num_envs,
        stepped_by(run.env().backend(), make_env::env_threads(settings)),
        run.algorithm().num_params(),
        settings.machine.precision,
    ));
    say(format_args!("run folder: {}", run.folder().display()));
}

/// Where environments run: the backend chosen is never a secret.
fn stepped_by(backend: &str, count: i64) -> String {
    match (backend, count) {
        ("ale", 1) => "on a thread (ale)".to_owned(),
        ("ale", _) => format!("on {count} threads (ale)"),
        ("async", 1) => "in a worker process (async)".to_owned(),
        ("async", _) => format!("in {count} worker processes (async)"),
        _ => format!("one after another ({backend})"),
    }
}

fn run_name(settings: &Settings) -> String {
    let time = humantime::format_rfc3339_seconds(SystemTime::now())
        .to_string()
        .replace(['-', ':', 'Z'], "")
        .replace('T', "-");
    let algorithm = settings.algorithm.algorithm();
    format!(
        "{}-{algorithm}-seed{}-{time}",
        settings.env.env_id.replace('/', "-"),
        settings.run.seed
    )
}

fn eval(args: &EvalArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let path = checkpoint::find(&args.run)?;
    let state = checkpoint::read_state(&path)?;
    let num_envs = args.num_envs.min(args.episodes) as usize;
    let recording = Recording {
        video_dir: args.video_dir.as_deref(),
        record_every: args.record_every,
        ..Recording::NONE
    };
    let mut env = make_env::for_evaluation(&state.settings, num_envs, recording)?;
    let policy = load(&path, &state, &args.play)?;
    say(format_args!(
        "{} at agent step {}, {} games",
        state.settings.env.env_id, state.counters.step, args.episodes
    ));
    let mut number = 0;
    let on_episode = |episode: &vec_env::Episode| {
        number += 1;
        say(format_args!(
            "game {number}: {} in {} steps",
            episode.raw_return, episode.length
        ));
    };
    let played = play(
        &*policy,
        &mut *env,
        args.episodes as usize,
        args.play.seed,
        args.play.greedy,
        stop,
        on_episode,
    )?;
    env.close()?;
    if !played.is_empty() {
        let (mean, deviation) = mean_and_deviation(&played);
        say(format_args!(
            "mean {mean:.2} ± {deviation:.2} (standard deviation) over {} games",
            played.len()
        ));
    }
    if let Some(folder) = &args.video_dir {
        say(format_args!("videos are in {}", folder.display()));
    }
    Ok(status_after(stop))
}

fn dump_frames(args: &DumpArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let path = checkpoint::find(&args.run)?;
    let state = checkpoint::read_state(&path)?;
    let recording = Recording {
        img_dir: Some(&args.img_dir),
        ..Recording::NONE
    };
    let mut env = make_env::for_evaluation(&state.settings, 1, recording)?;
    let policy = load(&path, &state, &args.play)?;
    let on_episode = |episode: &vec_env::Episode| {
        say(format_args!(
            "game of {} points in {} frames",
            episode.raw_return, episode.frames
        ));
    };
    play(
        &*policy,
        &mut *env,
        args.episodes as usize,
        args.play.seed,
        args.play.greedy,
        stop,
        on_episode,
    )?;
    env.close()?;
    say(format_args!("frames are in {}", args.img_dir.display()));
    Ok(status_after(stop))
}

/// The exit status of playing: whether it came to its end or was asked to stop.
fn status_after(stop: &StopRequest) -> i32 {
    if stop.is_asked() {
        stop.exit_status()
    } else {
        EXIT_OK
    }
}

/// The policy of a checkpoint.
fn load(path: &Path, state: &State, play: &PlayArgs) -> Result<Box<dyn Policy>, TrainerError> {
    let _ = device::set_torch_threads(state.settings.machine.torch_threads);
    let actions = ActionSpace::Discrete {
        n: state.num_actions,
    };
    algorithms::load_policy(
        &state.settings,
        &state.obs_spec(),
        &actions,
        device::select(play.device)?,
        &checkpoint::read_algorithm(path)?,
    )
    .map_err(|error| TrainerError::checkpoint(path, error))
}

/// The message for an error, with its causes.
fn describe(error: &TrainerError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let reason = source.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = source.source();
    }
    match error {
        TrainerError::Env(error) => match error.details() {
            Some(details) => format!("{text}\n{details}"),
            None => text,
        },
        _ => text,
    }
}

/// Prints a line; a closed pipe is no reason to fail.
fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}
