//! `versus`: one trained agent against others, in a game for two.

use std::path::PathBuf;

use super::{
    games::{GamesArgs, NewTable, Side, check_is_for_two, name_apart},
    output::print,
    player::{PlayArgs, status_after},
};
use crate::{error::TrainerError, run::checkpoints, stop::StopRequest};

#[derive(clap::Args)]
pub(super) struct VersusArgs {
    #[command(flatten)]
    play: PlayArgs,
    /// Its opponents, one after the other: `random`, `self`, runs' folders (their newest
    /// checkpoint), checkpoints
    #[arg(required = true)]
    opponents: Vec<PathBuf>,
    #[command(flatten)]
    games: GamesArgs,
    /// Also write the table to this new file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(super) fn versus(args: &VersusArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let (own, how) = (&args.play.run, &args.play.how);
    let found = args.play.find()?;
    check_is_for_two(&found)?;
    let mut sides = Vec::new();
    for word in &args.opponents {
        let side = Side::of(word, |word| match word.to_str() {
            Some("self") => args.play.find(),
            _ => checkpoints::find(word).map(|found| how.as_asked(found)),
        })?;
        side.check_plays_with(&found, own)?;
        sides.push(side);
    }
    let policy = how.load(&found)?;
    sides.insert(0, Some(found).into());
    name_apart(
        &mut sides,
        &[std::slice::from_ref(own), &args.opponents].concat(),
    );
    let (player, sides) = (&sides[0], &sides[1..]);
    let Some(found) = &player.found else {
        unreachable!("it was found")
    };
    let mut table = NewTable::new(args.csv.as_deref())?;
    print(format_args!(
        "{}: {} against each of these, {} games, half of them from each side",
        found.checkpoint.settings.env.env_id,
        player.name(),
        args.games.episodes
    ))?;
    let width = sides.iter().map(|side| side.name().chars().count());
    let width = width.max().unwrap_or_default().max("opponent".len());
    print(format_args!(
        "{:width$}  wins  draws  losses  points for  points against  difference  standard error",
        "opponent"
    ))?;
    for side in sides {
        let Some(tally) = args.games.play((found, &*policy), side, how, stop)? else {
            break;
        };
        print(format_args!(
            "{:width$}  {:>4}  {:>5}  {:>6}  {:>10.2}  {:>14.2}  {:>+10.2}  {:>14.2}",
            side.name(),
            tally.wins,
            tally.draws,
            tally.losses,
            tally.points_for,
            tally.points_against,
            tally.difference,
            tally.standard_error,
        ))?;
        table.write_games([player, side], tally, how)?;
    }
    Ok(status_after(stop))
}
