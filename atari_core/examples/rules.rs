//! What the rules of a game make of a row of RAMs, for a comparison with another emulator.
//!
//! `rules GAME [MODE]`: standard input holds records of 129 bytes, a 1 where a new game begins (the RAM is not looked at)
//! or a 0, and RAM, that of the console and of the cartridge, if it has any, being the same. For each a record goes to
//! standard output, little endian: reward, lives, game over (4 bytes each). `rules` alone names the games whose rules are
//! known. With a mode, one for two, rewards and lives are those of both, the first player's first.

use std::io::{Read, Write};

use atari_core::games::{self, Ram};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let Some(name) = std::env::args().nth(1) else {
        for game in games::all().filter(|game| game.unproved.is_none()) {
            writeln!(out, "{}", game.name)?;
        }
        return Ok(());
    };
    let mode = std::env::args().nth(2);
    let mode: Option<u32> = mode.map(|mode| mode.parse()).transpose()?;
    let game = match mode {
        None => games::by_name(&name),
        Some(_) => games::two::by_name(&name),
    };
    let game = game.ok_or(format!("no game `{name}`"))?;
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut answers: Vec<u8> = Vec::new();
    let mut progress = game.at_start;
    for record in input.chunks_exact(129) {
        let (kind, ram) = record.split_at(1);
        if kind[0] == 1 {
            progress = game.at_start;
        } else {
            let ram = ram.try_into()?;
            game.after_frame(Ram::new(ram, ram), mode.unwrap_or(0), &mut progress);
        }
        let first = [progress.reward, progress.lives];
        let second = [progress.second.reward, progress.second.lives];
        for (first, second) in first.into_iter().zip(second) {
            answers.extend(first.to_le_bytes());
            if mode.is_some() {
                answers.extend(second.to_le_bytes());
            }
        }
        answers.extend(i32::from(progress.over).to_le_bytes());
    }
    Ok(out.write_all(&answers)?)
}
