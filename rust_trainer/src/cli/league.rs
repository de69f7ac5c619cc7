//! `league`: trained agents, each against each in a game for two, and their Elo ratings.

use std::path::{Path, PathBuf, absolute};

use serde::Serialize;

use super::{
    games::{GamesArgs, How, NewTable, Side, check_is_for_two, name_apart},
    output::print,
    player::{HowArgs, status_after},
};
use crate::{
    error::TrainerError,
    league::{self, Record, Scores},
    run::{checkpoints, versus::Tally},
    stop::StopRequest,
};

#[derive(clap::Args)]
#[command(after_help = ABOUT_RATINGS)]
pub(super) struct LeagueArgs {
    /// Who plays, two at least: `random`, runs' folders (their newest checkpoint), checkpoints
    #[arg(required = true)]
    players: Vec<PathBuf>,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    games: GamesArgs,
    /// Of runs' folders take every checkpoint and every past self instead of the newest checkpoint
    #[arg(long, conflicts_with = "best")]
    all: bool,
    /// Draws to count between any two besides their games, which keep ratings finite [default: 0, or 1 where a rating
    /// would be infinite]
    #[arg(long, value_name = "N", value_parser = draws)]
    virtual_draws: Option<f64>,
    /// Also write the table to this new file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also write the games of each pair to this new file as CSV, with the columns of `versus`
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
}

const ABOUT_RATINGS: &str = "\
Ratings are those of the greatest likelihood in the model of Bradley and Terry: 400 points more are 10 to 1. A draw is half \
a win. ± is half of the 95 % interval, by the Fisher information; it is an interval of the distance to the player whose \
rating is fixed at 0: `random` if it plays, else the first.";

fn draws(word: &str) -> Result<f64, String> {
    match word.parse() {
        Ok(number) if (0.0..=1000.0).contains(&number) => Ok(number),
        _ => Err("must be a number from 0 to 1000".to_owned()),
    }
}

pub(super) fn league(args: &LeagueArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let players = find_players(args)?;
    if args.csv.is_some() && place(args.csv.as_deref()) == place(args.pairs.as_deref()) {
        let problem = "--csv and --pairs name one file, and are two tables";
        return Err(TrainerError::Usage(problem.to_owned()));
    }
    let mut table = NewTable::new(args.csv.as_deref())?;
    let mut pairs = NewTable::new(args.pairs.as_deref())?;
    let count = players.len();
    print(format_args!(
        "{count} players, {} pairs, {} games each, half of them from each side",
        count * (count - 1) / 2,
        args.games.episodes
    ))?;
    let mut scores = Scores::new(count);
    let mut records = vec![Record::default(); count];
    for first in 0..count {
        // Whoever plays at random is never the first of a pair.
        let Some(found) = &players[first].found else {
            continue;
        };
        let policy = args.how.load(found)?;
        for second in 0..count {
            if second == first || (second < first && players[second].found.is_some()) {
                continue;
            }
            let sides = [&players[first], &players[second]];
            let player = (found, &*policy);
            let Some(tally) = args.games.play(player, sides[1], &args.how, stop)? else {
                return Ok(status_after(stop));
            };
            pairs.write_games(sides, tally, &args.how)?;
            print(result(sides, &tally))?;
            note(&tally, (first, second), &mut scores, &mut records);
        }
    }
    let draws = virtual_draws(&scores, args.virtual_draws.unwrap_or(0.0))?;
    let rated = scores.with_draws(draws);
    let names = players.iter();
    let names = names.map(|side| (side.player().to_owned(), side.step()));
    let names: Vec<_> = names.collect();
    let random = players.iter().position(|side| side.found.is_none());
    let standings = league::standings(&names, &records, &rated, random.unwrap_or(0))?;
    for line in league::table(&standings) {
        print(line)?;
    }
    print("")?;
    for line in league::matrix(&standings, &scores) {
        print(line)?;
    }
    for row in &standings {
        let behind = Behind {
            virtual_draws: draws,
        };
        table.write((row, behind, How::from(&args.how)))?;
    }
    Ok(status_after(stop))
}

/// A column behind those of a standing.
#[derive(Serialize)]
struct Behind {
    virtual_draws: f64,
}

/// Finds all players before anybody plays.
fn find_players(args: &LeagueArgs) -> Result<Vec<Side>, TrainerError> {
    let mut players: Vec<(PathBuf, Side)> = Vec::new();
    for word in &args.players {
        let words = if args.all && word.is_dir() {
            checkpoints::all(word)?
        } else {
            vec![word.clone()]
        };
        for word in words {
            let side = Side::of(&word, |word| args.how.find(word))?;
            if let Some(found) = &side.found {
                check_is_for_two(found)?;
            }
            let same = players.iter().find(|(_, other)| other.is_same(&side));
            if let Some((other, _)) = same {
                let (word, other) = (word.display(), other.display());
                let problem = format!("`{word}` and `{other}` are the same player");
                return Err(TrainerError::Usage(problem));
            }
            let mut others = players.iter();
            let first = others.find_map(|(word, side)| Some((word, side.found.as_ref()?)));
            if let Some((named, first)) = first {
                side.check_plays_with(first, named)?;
            }
            players.push((word, side));
        }
    }
    let one_by_checkpoint = players.iter().any(|(_, side)| side.found.is_some());
    if players.len() < 2 || !one_by_checkpoint {
        let problem = "a league needs two players, one of them a run or a checkpoint";
        return Err(TrainerError::Usage(problem.to_owned()));
    }
    let (words, mut sides): (Vec<PathBuf>, Vec<Side>) = players.into_iter().unzip();
    name_apart(&mut sides, &words);
    Ok(sides)
}

/// The line about a pair's games.
fn result([player, opponent]: [&Side; 2], tally: &Tally) -> String {
    format!(
        "{} against {}: {} wins, {} draws, {} losses",
        player.name(),
        opponent.name(),
        tally.wins,
        tally.draws,
        tally.losses
    )
}

/// Counts what a pair's games came to.
fn note(tally: &Tally, pair: (usize, usize), scores: &mut Scores, records: &mut [Record]) {
    let half = tally.draws as f64 / 2.0;
    scores.add(pair, [tally.wins as f64 + half, tally.losses as f64 + half]);
    for (player, wins, losses) in [
        (pair.0, tally.wins, tally.losses),
        (pair.1, tally.losses, tally.wins),
    ] {
        records[player].wins += wins;
        records[player].draws += tally.draws;
        records[player].losses += losses;
    }
}

/// How many virtual draws ratings are made with: as many as are asked for, or as it takes.
fn virtual_draws(scores: &Scores, asked: f64) -> Result<f64, TrainerError> {
    if scores.with_draws(asked).have_maximum() {
        return Ok(asked);
    }
    print(
        "some made no point against the others, whose ratings would be infinite: a virtual draw between any two is \
         counted (--virtual-draws)",
    )?;
    Ok(1.0)
}

/// Where a new file is to be, by whichever name.
fn place(path: Option<&Path>) -> Option<PathBuf> {
    let path = absolute(path?).ok()?;
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}
