//! Plays a file of actions and writes what every frame gave, for a comparison with another emulator.
//!
//! `replay ROM ACTIONS [--game NAME] [--mode N] [--difficulty N] [--seed N] [--random-seed N] [--sticky P] [--observed] [--picture
//! RECORD]`: ACTIONS holds one byte a frame, an
//! action of 0 to 17, or 255 for a new game. For the loaded ROM and then for each byte a record goes to standard
//! output, little endian: RAM (128 bytes), CRC-32 of the picture and, every tenth record, of the picture in gray (else
//! 0), reward, lives, game over, frame number, frame number of the episode (4 bytes each). Mode and difficulty are
//! those of the games that begin after the first record. With `--observed` only the last two of every four frames are
//! drawn, as recipes do; the others have 0 as their CRCs. With `--picture` the pixels after one record are written
//! instead. `--random-seed` (0 unless told) begins ALE's random numbers, which decide
//! whether an action is repeated in a frame (`--sticky`, a probability) and how the modes of a few games are chosen. With `--seed` the game is one for two, and each frame has an action of
//! each player, each record a reward and the lives of each. With `--game` the ROM may be any, and is switched and begun as that game's.

use std::io::{BufWriter, Write};

use atari_core::{
    Action, Cartridge, Console, MersenneTwister, StartDraws, games, rl::pixels::Palette,
};

const NEW_GAME: u8 = 255;
const GRAY_EVERY: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rom, actions, options @ ..] = arguments.as_slice() else {
        return Err("usage: replay ROM ACTIONS [OPTIONS], see the head of replay.rs".into());
    };
    let place = |name: &str| options.iter().position(|option| option == name);
    let observed = place("--observed").is_some();
    let number = |name: &str| -> Result<Option<u32>, Box<dyn std::error::Error>> {
        let Some(place) = place(name) else {
            return Ok(None);
        };
        let value = options.get(place + 1).ok_or(format!("{name} of what?"))?;
        Ok(Some(value.parse()?))
    };
    let for_two = number("--seed")?;
    let mut twister = MersenneTwister::new(number("--random-seed")?.unwrap_or(0));
    let sticky: f32 = match place("--sticky") {
        Some(at) => options.get(at + 1).ok_or("--sticky of what?")?.parse()?,
        None => 0.0,
    };
    let sticky = f64::from(sticky);
    let (cartridge, game) = if let Some(at) = place("--game") {
        let name = options.get(at + 1).ok_or("--game of what?")?;
        let game = games::by_name(name).ok_or(format!("no game `{name}`"))?;
        let bytes = std::fs::read(rom)?;
        (Cartridge::with_mapper(name, &bytes, game.mapper)?, game)
    } else {
        let cartridge = Cartridge::load(rom.as_ref())?;
        let game = match for_two {
            None => cartridge.game()?,
            Some(_) => games::two::by_md5(cartridge.md5())
                .ok_or("its start and rules for two are not known")?,
        };
        (cartridge, game)
    };
    let mut console = match for_two {
        None => Console::new_with(cartridge, game, &mut StartDraws::new(&mut twister, sticky))?,
        Some(seed) => Console::for_two(cartridge, game, seed)?,
    };
    if let Some(mode) = number("--mode")? {
        console.set_mode(mode)?;
    }
    if let Some(difficulty) = number("--difficulty")? {
        console.set_difficulty(difficulty)?;
    }
    let picture = number("--picture")?.map(|record| record as usize);
    let palette = Palette::of(game);
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let actions = std::fs::read(actions)?;
    let (mut frames, size) = (actions.iter(), if for_two.is_some() { 2 } else { 1 });
    let mut rewards = [0; 2];
    let mut drawn = true;
    let mut held = Action::Noop;
    for record in 0.. {
        if record > 0 {
            let Some(&first) = frames.next() else {
                break;
            };
            if first == NEW_GAME {
                console.reset_with(&mut StartDraws::new(&mut twister, sticky));
                held = Action::Noop;
                rewards = [0; 2];
                drawn = true;
            } else {
                let action = |index: u8| {
                    Action::from_index(index.into()).ok_or(format!("{index} is no action"))
                };
                drawn = !observed || console.frame_number() % 4 >= 2;
                if for_two.is_some() {
                    let second = *frames.next().ok_or("an action of the second player")?;
                    rewards = console.act_both([action(first)?, action(second)?], drawn);
                } else {
                    if twister.next_f64() >= sticky {
                        held = action(first)?;
                    }
                    rewards[0] = console.act(held, drawn);
                }
            }
        }
        match picture {
            Some(wanted) if wanted == record => return Ok(out.write_all(console.screen())?),
            Some(_) => {}
            None => {
                let gray = (drawn && record % GRAY_EVERY == 0).then(|| gray(&console, &palette));
                write_record(
                    &mut out,
                    &console,
                    &rewards[..size],
                    drawn,
                    gray.unwrap_or(0),
                )?;
            }
        }
    }
    Ok(out.flush()?)
}

fn gray(console: &Console, palette: &Palette) -> u32 {
    let colours = console.screen().iter();
    let pixels: Vec<u8> = colours.map(|&colour| palette.gray.at(colour)).collect();
    crc32fast::hash(&pixels)
}

fn write_record(
    out: &mut impl Write,
    console: &Console,
    rewards: &[i32],
    drawn: bool,
    gray: u32,
) -> std::io::Result<()> {
    let picture = if drawn {
        crc32fast::hash(console.screen())
    } else {
        0
    };
    out.write_all(console.ram())?;
    out.write_all(&picture.to_le_bytes())?;
    out.write_all(&gray.to_le_bytes())?;
    for reward in rewards {
        out.write_all(&reward.to_le_bytes())?;
    }
    for lives in &console.lives_of_both()[..rewards.len()] {
        out.write_all(&lives.to_le_bytes())?;
    }
    out.write_all(&u32::from(console.game_over()).to_le_bytes())?;
    out.write_all(&console.frame_number().to_le_bytes())?;
    out.write_all(&console.episode_frame_number().to_le_bytes())
}
