//! Plays a file of actions and writes what every frame gave, for a comparison with another emulator.
//!
//! `replay ROM ACTIONS [OPTIONS]`: ACTIONS holds one byte a frame, an action of 0 to 17, or 255 for a new game. For the
//! loaded ROM and then for each byte a record goes to standard output, little endian: RAM (128 bytes), CRC-32 of the
//! picture and, every tenth record, of the picture in gray (else 0), reward, lives, game over, frame number, frame number
//! of the episode (4 bytes each).
//!
//! - `--mode N`, `--difficulty N`: of the games that begin after the first record.
//! - `--observed`: only the last two of every four frames are drawn, as recipes do; the others have 0 as their CRCs.
//! - `--picture RECORD`: the pixels after one record are written instead.
//! - `--random-seed N` (0 unless told) begins ALE's random numbers, which decide whether an action is repeated in a frame
//!   (`--sticky P`, a probability) and how the modes of a few games are chosen.
//! - `--seed N`: the game is one for two, each frame has an action of each player, each record a reward and the lives of
//!   each.
//! - `--game NAME`: the ROM may be any, and is switched and begun as that game's.

use std::error::Error;
use std::io::{BufWriter, Write};
use std::str::FromStr;

use atari_core::{
    Action, Cartridge, Console, MersenneTwister, StartDraws, games, rl::pixels::Palette,
};

const NEW_GAME: u8 = 255;
const GRAY_EVERY: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rom, actions, options @ ..] = arguments.as_slice() else {
        return Err("usage: replay ROM ACTIONS [OPTIONS], see the head of replay.rs".into());
    };
    let is_observed = options.iter().any(|option| option == "--observed");
    let seed: Option<u32> = value(options, "--seed")?;
    let num_players = if seed.is_some() { 2 } else { 1 };
    let mut twister = MersenneTwister::new(value(options, "--random-seed")?.unwrap_or(0));
    let sticky: Option<f32> = value(options, "--sticky")?;
    let sticky = f64::from(sticky.unwrap_or(0.0));
    let game: Option<String> = value(options, "--game")?;
    let (cartridge, game) = if let Some(name) = game {
        let game = games::by_name(&name).ok_or(format!("no game `{name}`"))?;
        let bytes = std::fs::read(rom)?;
        (Cartridge::with_mapper(&name, &bytes, game.mapper)?, game)
    } else {
        let cartridge = Cartridge::load(rom.as_ref())?;
        let game = match seed {
            None => cartridge.game()?,
            Some(_) => cartridge.game_for_two()?,
        };
        (cartridge, game)
    };
    let mut console = match seed {
        None => Console::new_with(cartridge, game, &mut StartDraws::new(&mut twister, sticky))?,
        Some(seed) => Console::for_two(cartridge, game, seed)?,
    };
    if let Some(mode) = value(options, "--mode")? {
        console.set_mode(mode)?;
    }
    if let Some(difficulty) = value(options, "--difficulty")? {
        console.set_difficulty(difficulty)?;
    }
    let picture: Option<usize> = value(options, "--picture")?;
    let palette = Palette::of(game);
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let actions = std::fs::read(actions)?;
    let mut actions = actions.iter();
    let (mut rewards, mut is_drawn, mut held) = ([0; 2], true, Action::Noop);
    for record in 0.. {
        if picture == Some(record) {
            return Ok(out.write_all(console.screen())?);
        }
        if picture.is_none() {
            let gray = (is_drawn && record % GRAY_EVERY == 0).then_some(&palette);
            let picture = is_drawn.then(|| console.screen());
            write_record(&mut out, &console, &rewards[..num_players], picture, gray)?;
        }
        let Some(&first) = actions.next() else {
            break;
        };
        if first == NEW_GAME {
            console.reset_with(&mut StartDraws::new(&mut twister, sticky));
            (rewards, is_drawn, held) = ([0; 2], true, Action::Noop);
            continue;
        }
        is_drawn = !is_observed || console.frame_number() % 4 >= 2;
        if num_players == 2 {
            let second = *actions.next().ok_or("an action of the second player")?;
            rewards = console.act_both([action(first)?, action(second)?], is_drawn);
        } else {
            if twister.next_f64() >= sticky {
                held = action(first)?;
            }
            rewards[0] = console.act(held, is_drawn);
        }
    }
    Ok(out.flush()?)
}

/// What stands after an option, if that is there.
fn value<T>(options: &[String], name: &str) -> Result<Option<T>, Box<dyn Error>>
where
    T: FromStr<Err: Error + 'static>,
{
    let Some(place) = options.iter().position(|option| option == name) else {
        return Ok(None);
    };
    let value = options.get(place + 1).ok_or(format!("{name} of what?"))?;
    Ok(Some(value.parse()?))
}

fn action(index: u8) -> Result<Action, String> {
    Action::from_index(index.into()).ok_or(format!("{index} is no action"))
}

/// CRC-32 of a picture is 0 where there is none, in gray where there is no palette.
fn write_record(
    out: &mut impl Write,
    console: &Console,
    rewards: &[i32],
    picture: Option<&[u8]>,
    palette: Option<&Palette>,
) -> std::io::Result<()> {
    let gray = palette.zip(picture).map(|(palette, picture)| {
        let pixels = picture.iter().map(|&colour| palette.gray.at(colour));
        crc32fast::hash(&pixels.collect::<Vec<u8>>())
    });
    out.write_all(console.ram())?;
    out.write_all(&picture.map_or(0, crc32fast::hash).to_le_bytes())?;
    out.write_all(&gray.unwrap_or(0).to_le_bytes())?;
    for number in rewards
        .iter()
        .chain(&console.lives_of_both()[..rewards.len()])
    {
        out.write_all(&number.to_le_bytes())?;
    }
    let over = u32::from(console.game_over());
    for number in [over, console.frame_number(), console.episode_frame_number()] {
        out.write_all(&number.to_le_bytes())?;
    }
    Ok(())
}
