//! What the rules of a game make of a row of RAMs, for a comparison with another emulator.
//!
//! `rules GAME [MODE]`: standard input holds records of 129 bytes, a 1 where a new game begins (the RAM is not looked at)
//! or a 0, and RAM, that of the console and of the cartridge, if it has any, being the same. For each a record goes to standard output, little endian: reward, lives, game over (4 bytes
//! each). `rules` alone names the games whose rules are known. With a mode, one for two, rewards and lives are those of
//! both, the first player's first.

use std::io::{Read, Write};

use atari_core::games;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let Some(name) = std::env::args().nth(1) else {
        for game in games::all().filter(|game| game.rules.is_some()) {
            writeln!(out, "{}", game.name)?;
        }
        return Ok(());
    };
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut answers = Vec::new();
    if let Some(mode) = std::env::args().nth(2) {
        let (game, mode) = (games::two::by_name(&name), mode.parse()?);
        let rules = game.and_then(|game| game.rules_for_two);
        let rules = rules.ok_or(format!("the rules of `{name}` for two are not known"))?;
        let mut progress = rules.start;
        for record in input.chunks_exact(129) {
            let (kind, ram) = record.split_at(1);
            if kind[0] == 1 {
                progress = rules.start;
            } else {
                rules.step(ram.try_into()?, mode, &mut progress);
            }
            let (rewards, lives) = (
                [progress.reward, progress.second.reward],
                [progress.lives, progress.second.lives],
            );
            for number in [rewards, lives]
                .iter()
                .flatten()
                .chain([&progress.over.into()])
            {
                answers.extend(number.to_le_bytes());
            }
        }
        return Ok(out.write_all(&answers)?);
    }
    let game = games::by_name(&name).ok_or(format!("no game `{name}`"))?;
    let rules = game
        .rules
        .ok_or(format!("the rules of `{name}` are not known"))?;
    let mut progress = rules.start;
    for record in input.chunks_exact(129) {
        let (kind, ram) = record.split_at(1);
        if kind[0] == 1 {
            progress = rules.start;
        } else {
            let ram = ram.try_into()?;
            rules.step(ram, ram, &mut progress);
        }
        for number in [progress.reward, progress.lives, progress.over.into()] {
            answers.extend(number.to_le_bytes());
        }
    }
    Ok(out.write_all(&answers)?)
}
