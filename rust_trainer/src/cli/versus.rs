//! `versus`: one trained agent against others, in a game for two.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{PlayArgs, close, find, load_policy, make_envs, print, status_after};
use crate::{
    envs::{self, Opponent, PolicyOpponent, RandomOpponent},
    error::TrainerError,
    policy::Policy,
    run::{
        checkpoints::Found,
        evaluate::play,
        versus::{Tally, scores_of},
    },
    stop::StopRequest,
};

#[derive(clap::Args)]
pub(super) struct VersusArgs {
    /// A run's folder (its newest checkpoint is taken) or a checkpoint, of games for two
    run: PathBuf,
    /// Whom it plays against, one after the other: `random`, `self`, runs' folders (their newest
    /// checkpoint), checkpoints
    #[arg(required = true)]
    opponents: Vec<PathBuf>,
    /// True games to play against each, an even number: half of them from each side
    #[arg(long, default_value_t = 100, value_parser = even)]
    episodes: usize,
    /// Environments played at once, an even number
    #[arg(long, default_value_t = 8, value_parser = even)]
    num_envs: usize,
    /// Also write the table to this new file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    play: PlayArgs,
}

/// A row of the table as the CSV file has it.
#[derive(Serialize)]
struct Row<'a> {
    player: &'a str,
    player_step: u64,
    opponent: &'a str,
    opponent_step: Option<u64>,
    games: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    points_for: f64,
    points_against: f64,
    difference: f64,
    standard_error: f64,
    return_mean: f64,
    opponent_return_mean: f64,
    length_mean: f64,
    seed: u64,
    greedy: bool,
}

pub(super) fn versus(args: &VersusArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let player = find(&args.run, args.play.best)?;
    if player.checkpoint.settings.env.num_players == 1 {
        let problem = "its `num_players` is 1; only games for two have another side";
        return Err(TrainerError::checkpoint(&player.path, problem));
    }
    let opponents: Vec<Side> = args
        .opponents
        .iter()
        .map(|name| Side::find(name, args, &player))
        .collect::<Result<_, _>>()?;
    let policy = load_policy(&player, &args.play)?;
    // Made with the first row: a start that fails leaves no empty file that forbids the next.
    let mut table = None;
    if let Some(path) = args.csv.as_deref().filter(|path| path.exists()) {
        let source = io::ErrorKind::AlreadyExists.into();
        return Err(TrainerError::io("create", path, source));
    }
    let settings = &player.checkpoint.settings;
    print(format_args!(
        "{}: {} against each of these, {} games, half of them from each side",
        settings.env.env_id,
        name(&player),
        args.episodes
    ))?;
    let width = opponents.iter().map(|side| side.name().chars().count());
    let width = width.max().unwrap_or_default().max("opponent".len());
    print(format_args!(
        "{:width$}  {:>4}  {:>5}  {:>6}  {:>10}  {:>14}  {:>10}  {:>14}",
        "opponent",
        "wins",
        "draws",
        "losses",
        "points for",
        "points against",
        "difference",
        "standard error"
    ))?;
    for side in &opponents {
        let tally = games_against(side, &player, &*policy, args, stop)?;
        let Some(tally) = tally else { break };
        print(format_args!(
            "{:width$}  {:>4}  {:>5}  {:>6}  {:>10.2}  {:>14.2}  {:>+10.2}  {:>14.2}",
            side.name(),
            tally.wins,
            tally.draws,
            tally.losses,
            tally.points_for,
            tally.points_against,
            tally.difference.0,
            tally.difference.1,
        ))?;
        if let Some(path) = &args.csv {
            let table = match &mut table {
                Some(table) => table,
                none => none.insert(new_table(path)?),
            };
            let row = Row {
                player: &settings.run.run_name,
                player_step: player.checkpoint.counters.step,
                opponent: side.run_name(),
                opponent_step: side.step(),
                games: tally.games(),
                wins: tally.wins,
                draws: tally.draws,
                losses: tally.losses,
                points_for: tally.points_for,
                points_against: tally.points_against,
                difference: tally.difference.0,
                standard_error: tally.difference.1,
                return_mean: tally.returns[0],
                opponent_return_mean: tally.returns[1],
                length_mean: tally.length,
                seed: args.play.seed,
                greedy: args.play.greedy,
            };
            let failed = |error: csv::Error| TrainerError::io("write", path, error.into());
            table.serialize(row).map_err(failed)?;
            table
                .flush()
                .map_err(|source| TrainerError::io("write", path, source))?;
        }
    }
    Ok(status_after(stop))
}

/// Plays all games against one opponent; nothing where a stop was asked for meanwhile.
fn games_against(
    side: &Side,
    player: &Found,
    policy: &dyn Policy,
    args: &VersusArgs,
    stop: &StopRequest,
) -> Result<Option<Tally>, TrainerError> {
    let checkpoint = &player.checkpoint;
    let opponent: Box<dyn Opponent> = match side {
        Side::Random => Box::new(RandomOpponent::new(checkpoint.action_space.num_actions())),
        Side::Trained(found) => Box::new(PolicyOpponent::new(
            load_policy(found, &args.play)?,
            found.checkpoint.obs_spec.clone(),
            args.play.greedy,
        )),
    };
    let num_envs = args.num_envs.min(args.episodes);
    let for_env = checkpoint.settings.clone();
    let make = move || envs::against(opponent, &for_env, num_envs);
    let mut games = make_envs(num_envs, stop, make)?;
    let scores = games.scores();
    let how = args.play.games(args.episodes as u64);
    let ended = play(policy, &mut games, &how, stop, |_| Ok(()))?;
    close(Box::new(games));
    let is_whole = ended.len() == args.episodes;
    Ok(is_whole.then(|| Tally::of(&ended, &scores_of(&ended, &scores.take()))))
}

/// An opponent as the command line names it.
enum Side {
    Random,
    Trained(Box<Found>),
}

impl Side {
    /// The opponent `name` of `player`, which `args` name.
    fn find(name: &Path, args: &VersusArgs, player: &Found) -> Result<Self, TrainerError> {
        if name == Path::new("random") {
            return Ok(Self::Random);
        }
        let found = if name == Path::new("self") {
            find(&args.run, args.play.best)?
        } else {
            find(name, false)?
        };
        let (ours, its) = (&player.checkpoint, &found.checkpoint);
        let plays_the_same = ours.settings.env.env_id == its.settings.env.env_id
            && ours.settings.env.num_players == its.settings.env.num_players
            && ours.obs_spec == its.obs_spec
            && ours.action_space == its.action_space;
        if !plays_the_same {
            let problem = format!(
                "plays another game than `{}`, or sees it otherwise: `{}` for {} with observations {:?}",
                args.run.display(),
                its.settings.env.env_id,
                its.settings.env.num_players,
                its.obs_spec.shape
            );
            return Err(TrainerError::checkpoint(&found.path, problem));
        }
        Ok(Self::Trained(Box::new(found)))
    }

    fn name(&self) -> String {
        match self {
            Self::Random => "random".to_owned(),
            Self::Trained(found) => name(found),
        }
    }

    fn run_name(&self) -> &str {
        match self {
            Self::Random => "random",
            Self::Trained(found) => &found.checkpoint.settings.run.run_name,
        }
    }

    fn step(&self) -> Option<u64> {
        match self {
            Self::Random => None,
            Self::Trained(found) => Some(found.checkpoint.counters.step),
        }
    }
}

fn name(found: &Found) -> String {
    let checkpoint = &found.checkpoint;
    let (run, step) = (&checkpoint.settings.run.run_name, checkpoint.counters.step);
    format!("{run} at agent step {step}")
}

fn new_table(path: &Path) -> Result<csv::Writer<File>, TrainerError> {
    let file = File::create_new(path).map_err(|source| TrainerError::io("create", path, source))?;
    Ok(csv::Writer::from_writer(file))
}

fn even(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(number @ 2..=1_048_576) if number % 2 == 0 => Ok(number),
        _ => Err("must be an even number from 2 to 1048576: both sides get the same share".into()),
    }
}
