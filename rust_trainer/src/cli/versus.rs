//! `versus`: one trained agent against others, in a game for two.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    output::print,
    player::{PlayArgs, make_envs, status_after},
};
use crate::{
    envs::{self, Opponent, PolicyOpponent, RandomOpponent},
    error::TrainerError,
    policy::Policy,
    run::{
        checkpoints::{self, Found},
        versus::{Tally, scores_of},
    },
    stop::StopRequest,
};

#[derive(clap::Args)]
pub(super) struct VersusArgs {
    #[command(flatten)]
    play: PlayArgs,
    /// Its opponents, one after the other: `random`, `self`, runs' folders (their newest
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
}

/// The columns of the CSV file before those of the [`Tally`].
#[derive(Serialize)]
struct Sides<'a> {
    player: &'a str,
    player_step: u64,
    opponent: &'a str,
    opponent_step: Option<u64>,
}

/// Those behind it.
#[derive(Serialize)]
struct How {
    seed: u64,
    greedy: bool,
}

pub(super) fn versus(args: &VersusArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let player = args.play.find()?;
    let settings = &player.checkpoint.settings;
    if settings.env.num_players == 1 {
        let problem = "its `num_players` is 1; only games for two have another side";
        return Err(TrainerError::checkpoint(&player.path, problem));
    }
    let names = args.opponents.iter();
    let sides: Vec<Side> = names
        .map(|name| Side::find(name, args, &player))
        .collect::<Result<_, _>>()?;
    let policy = args.play.load(&player)?;
    // Made with the first row: a start that fails leaves no empty file that forbids the next.
    let mut table = None;
    if let Some(path) = args.csv.as_deref().filter(|path| path.exists()) {
        let source = io::ErrorKind::AlreadyExists.into();
        return Err(TrainerError::io("create", path)(source));
    }
    print(format_args!(
        "{}: {} against each of these, {} games, half of them from each side",
        settings.env.env_id,
        name(&player),
        args.episodes
    ))?;
    let width = sides.iter().map(|side| side.name.chars().count());
    let width = width.max().unwrap_or_default().max("opponent".len());
    print(format_args!(
        "{:width$}  wins  draws  losses  points for  points against  difference  standard error",
        "opponent"
    ))?;
    for side in &sides {
        let Some(tally) = games_against(side, &player, &*policy, args, stop)? else {
            break;
        };
        print(format_args!(
            "{:width$}  {:>4}  {:>5}  {:>6}  {:>10.2}  {:>14.2}  {:>+10.2}  {:>14.2}",
            side.name,
            tally.wins,
            tally.draws,
            tally.losses,
            tally.points_for,
            tally.points_against,
            tally.difference,
            tally.standard_error,
        ))?;
        if let Some(path) = &args.csv {
            let table = match &mut table {
                Some(table) => table,
                none => none.insert(new_table(path)?),
            };
            let opponent = side.found.as_ref().map(|found| &found.checkpoint);
            let sides = Sides {
                player: &settings.run.run_name,
                player_step: player.checkpoint.counters.step,
                opponent: opponent.map_or("random", |other| &other.settings.run.run_name),
                opponent_step: opponent.map(|other| other.counters.step),
            };
            let (seed, greedy) = (args.play.seed, args.play.greedy);
            let written = table.serialize((sides, tally, How { seed, greedy }));
            let written = written
                .map_err(io::Error::from)
                .and_then(|()| table.flush());
            written.map_err(TrainerError::io("write", path))?;
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
    let opponent: Box<dyn Opponent> = match &side.found {
        None => Box::new(RandomOpponent::new(checkpoint.action_space.num_actions())),
        Some(found) => Box::new(PolicyOpponent::new(
            args.play.load(found)?,
            found.checkpoint.obs_spec.clone(),
            args.play.greedy,
        )),
    };
    let num_envs = args.num_envs.min(args.episodes);
    let for_env = checkpoint.settings.clone();
    let make = move || envs::against(opponent, &for_env, num_envs);
    let games = make_envs(num_envs, stop, make)?;
    let scores = games.scores();
    let (env, count) = (Box::new(games), args.episodes as u64);
    let ended = args.play.play(policy, env, count, stop, |_| Ok(()))?;
    let is_whole = ended.len() == args.episodes;
    Ok(is_whole.then(|| Tally::of(&ended, &scores_of(&ended, &scores.take()))))
}

/// An opponent as the command line names it.
struct Side {
    name: String,
    /// Its checkpoint; none of one that plays at random.
    found: Option<Found>,
}

impl Side {
    /// The opponent `word` of `player`, which `args` name.
    fn find(word: &Path, args: &VersusArgs, player: &Found) -> Result<Self, TrainerError> {
        if word == Path::new("random") {
            let name = "random".to_owned();
            return Ok(Self { name, found: None });
        }
        let found = if word == Path::new("self") {
            args.play.find()?
        } else {
            checkpoints::find(word)?
        };
        let (ours, its) = (&player.checkpoint, &found.checkpoint);
        let plays_the_same = ours.settings.env.env_id == its.settings.env.env_id
            && ours.settings.env.num_players == its.settings.env.num_players
            && ours.obs_spec == its.obs_spec
            && ours.action_space == its.action_space;
        if !plays_the_same {
            let problem = format!(
                "plays another game than `{}`, or sees it otherwise: `{}` for {} with observations {:?}",
                args.play.run.display(),
                its.settings.env.env_id,
                its.settings.env.num_players,
                its.obs_spec.shape
            );
            return Err(TrainerError::checkpoint(&found.path, problem));
        }
        Ok(Self {
            name: name(&found),
            found: Some(found),
        })
    }
}

fn name(found: &Found) -> String {
    let checkpoint = &found.checkpoint;
    let (run, step) = (&checkpoint.settings.run.run_name, checkpoint.counters.step);
    format!("{run} at agent step {step}")
}

fn new_table(path: &Path) -> Result<csv::Writer<File>, TrainerError> {
    let file = File::create_new(path).map_err(TrainerError::io("create", path))?;
    Ok(csv::Writer::from_writer(file))
}

fn even(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(number @ 2..=1_048_576) if number % 2 == 0 => Ok(number),
        _ => Err("must be an even number from 2 to 1048576: both sides get the same share".into()),
    }
}
