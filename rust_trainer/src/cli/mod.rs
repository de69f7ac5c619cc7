//! The command line. What it can do lives in the library; here are arguments, messages and exit codes.

mod announce;
mod doctor;
mod dump_frames;
mod eval;
mod exchange;
mod games;
mod league;
mod mistakes;
mod output;
mod play;
mod player;
mod recorded;
mod report;
mod seeds;
mod serve;
mod setting_args;
mod train;
mod versus;
mod watch;

use std::{
    ffi::OsString,
    io::{self, Write},
    sync::mpsc,
    thread,
    time::Duration,
};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    error::TrainerError,
    listener::{self, Listener},
    memory,
    panics::catch_panics,
    ranks::Launch,
    stop::StopRequest,
};
use output::EXIT_ERROR;

/// Trains reinforcement-learning agents on Atari games, in Rust with libtorch.
#[derive(Parser)]
#[command(name = "rust_trainer", version = build_commit::VERSION, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train an agent, or continue a run
    Train(Box<train::TrainArgs>),
    /// Train with several seeds, and on several environments, in parallel; report the mean and its 95 % interval
    Seeds(Box<seeds::SeedsArgs>),
    /// Play whole games with a trained agent and report their raw returns
    Eval(eval::EvalArgs),
    /// Show how a run stands, live, from its files alone
    Watch(watch::WatchArgs),
    /// Let a trained agent play to be watched, in a window, in the terminal, or into a file
    Play(play::LivePlayArgs),
    /// Let a trained agent play and save every raw frame as PNG
    DumpFrames(dump_frames::DumpArgs),
    /// Let a trained agent play against others in a game for two, and print a table of the results
    Versus(versus::VersusArgs),
    /// Let trained agents play each against each in a game for two, and print their Elo ratings
    League(league::LeagueArgs),
    /// Write a page of HTML about runs: curves, bands over seeds, settings, speed
    Report(report::ReportArgs),
    /// Write a policy as an ONNX model, or as a folder for a model hub
    Export(exchange::ExportArgs),
    /// Make a checkpoint of a policy that stable-baselines3 or CleanRL trained
    Import(exchange::ImportArgs),
    /// Serve batches of environments over a socket, for `train --remote` and Python's `RemoteVecEnv`
    Serve(serve::ServeArgs),
    /// Serve the policy of a run over a socket: observations in, actions out
    ServePolicy(serve::ServeArgs),
    /// Show the interpreter, libpython, libtorch, CUDA and threads in use, and report what is wrong with them
    Doctor,
}

/// Runs the program with `args`, the program's name first; returns its exit status. Where they name no command but
/// begin with an option or a preset, `train` is meant.
#[must_use]
pub fn run(args: Vec<OsString>) -> i32 {
    run_until(StopRequest::never(), args)
}

/// The same for a caller that hears, event by event, what would be printed, and asks for this run's stop by `false`.
#[must_use]
pub fn run_heard(args: Vec<OsString>, mut hear: Box<dyn FnMut(&str) -> bool>) -> i32 {
    let stop = StopRequest::never();
    let ask = stop.asker();
    let listener: Listener = Box::new(move |event| {
        if !hear(event) {
            ask();
        }
    });
    listener::with(listener, || run_until(stop, args))
}

fn run_until(stop: StopRequest, args: Vec<OsString>) -> i32 {
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
    // A server hears them in Python.
    let is_server = matches!(cli.command, Command::Serve(_) | Command::ServePolicy(_));
    let heard = if is_server {
        Ok(stop)
    } else {
        stop.hearing_signals()
    };
    let stop = match heard {
        Ok(stop) => stop,
        Err(source) => {
            mistakes::fail(&TrainerError::io("handle", "signals")(source));
            return EXIT_ERROR;
        }
    };
    let result = catch_panics(|| dispatch(cli, &stop));
    if let Err(TrainerError::Stopped) = result {
        if !listener::is_there() {
            let _ = writeln!(io::stderr(), "stopped");
        }
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
        Command::Watch(args) => watch::watch(&args, stop),
        Command::Play(args) => play::play(&args, stop),
        Command::DumpFrames(args) => dump_frames::dump_frames(&args, stop),
        Command::Versus(args) => versus::versus(&args, stop),
        Command::League(args) => league::league(&args, stop),
        Command::Report(args) => report::report(&args, stop),
        Command::Export(args) => exchange::export(&args, stop),
        Command::Import(args) => exchange::import(&args, stop),
        Command::Serve(args) => serve::serve("serve", &args),
        Command::ServePolicy(args) => serve::serve("serve-policy", &args),
        Command::Doctor => Ok(doctor::doctor()),
    }
}
