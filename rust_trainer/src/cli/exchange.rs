//! `export` and `import`: policies as other programs have them. The formats are Python's business, whose package
//! `rust_trainer` reads and writes them without this program, too.

use std::path::{Path, PathBuf};

use python_shim::Value;

use super::output::{EXIT_OK, print};
use crate::{error::TrainerError, stop::StopRequest};

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("target").args(["onnx", "hub"]).required(true).multiple(true)))]
pub(super) struct ExportArgs {
    /// A run's folder (its newest checkpoint is taken) or a checkpoint
    run: PathBuf,
    /// Take the checkpoint that did best in evaluations during training instead of the newest
    #[arg(long)]
    best: bool,
    /// Of several agents with a network each: whose is written, from 0 on
    #[arg(long, value_name = "N")]
    agent: Option<u32>,
    /// Write the network as an ONNX model, for any runtime of that format
    #[arg(long, value_name = "FILE")]
    onnx: Option<PathBuf>,
    /// Make a folder for a model hub: model card, settings, scores, a video, the weights
    #[arg(long, value_name = "FOLDER")]
    hub: Option<PathBuf>,
    /// True games that the scores on the model card are of
    #[arg(long, default_value_t = 10, requires = "hub",
          value_parser = clap::value_parser!(u32).range(1..))]
    episodes: u32,
    /// Seed of these games
    #[arg(long, default_value_t = 0, requires = "hub")]
    seed: u32,
    /// Play them by the most probable actions instead of drawing from the policy
    #[arg(long, requires = "hub")]
    greedy: bool,
}

#[derive(clap::Args)]
pub(super) struct ImportArgs {
    /// A zip of stable-baselines3 (PPO, A2C, DQN with `CnnPolicy`), or a state dict of CleanRL's PPO agent
    file: PathBuf,
    /// The game that it plays: any environment id that Gymnasium knows
    #[arg(long, value_name = "ENV_ID")]
    game: String,
    /// Folder for the checkpoint, as that of a run; it must not be there yet
    #[arg(long, value_name = "FOLDER")]
    output: PathBuf,
}

pub(super) fn export(args: &ExportArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let path = |path: &Option<PathBuf>| path.as_deref().map_or(Value::None, text);
    say_what_is_done(
        "export",
        vec![
            ("run", text(&args.run)),
            ("best", args.best.into()),
            (
                "agent",
                args.agent
                    .map_or(Value::None, |agent| i64::from(agent).into()),
            ),
            ("onnx", path(&args.onnx)),
            ("hub", path(&args.hub)),
            ("episodes", i64::from(args.episodes).into()),
            ("seed", i64::from(args.seed).into()),
            ("greedy", args.greedy.into()),
        ],
        stop,
    )
}

pub(super) fn import(args: &ImportArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    say_what_is_done(
        "import_",
        vec![
            ("file", text(&args.file)),
            ("game", args.game.as_str().into()),
            ("output", text(&args.output)),
        ],
        stop,
    )
}

/// Calls a command that is written in Python, which may play games, and prints the lines that it returns.
fn say_what_is_done(
    command: &'static str,
    args: Vec<(&'static str, Value)>,
    stop: &StopRequest,
) -> Result<i32, TrainerError> {
    let call = move || python_shim::call("rust_trainer.commands", command, &args);
    let done = stop.unless_asked(None, call).ok_or(TrainerError::Stopped)?;
    if let Value::List(lines) = done? {
        for line in lines {
            if let Value::Str(line) = line {
                print(line)?;
            }
        }
    }
    Ok(EXIT_OK)
}

fn text(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}
