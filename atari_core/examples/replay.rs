//! Plays a file of actions and writes what every frame gave, for a comparison with another emulator.
//!
//! `replay ROM ACTIONS [--observed | --picture RECORD]`: ACTIONS holds one byte a frame, an action of 0 to 17, or 255 for a new
//! game. For the loaded ROM and then for each byte a record goes to standard output, little endian: RAM (128 bytes),
//! CRC-32 of the picture, reward, lives, game over, frame number, frame number of the episode (4 bytes each). With
//! `--observed` only the last two of every four frames are drawn, as recipes do; the others have 0 as their CRC. With
//! `--picture` the pixels after one record are written instead.

use std::io::{BufWriter, Write};

use atari_core::{Action, Cartridge, Console};

const NEW_GAME: u8 = 255;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rom, actions, observed, picture) = match arguments.as_slice() {
        [rom, actions] => (rom, actions, false, None),
        [rom, actions, option] if option == "--observed" => (rom, actions, true, None),
        [rom, actions, option, record] if option == "--picture" => {
            (rom, actions, false, Some(record.parse::<usize>()?))
        }
        _ => return Err("usage: replay ROM ACTIONS [--observed | --picture RECORD]".into()),
    };
    let cartridge = Cartridge::load(rom.as_ref())?;
    let game = cartridge.game()?;
    let mut console = Console::new(cartridge, game)?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let actions = std::fs::read(actions)?;
    let mut reward = 0;
    let mut drawn = true;
    for record in 0..=actions.len() {
        if record > 0 {
            match actions[record - 1] {
                NEW_GAME => {
                    console.reset();
                    reward = 0;
                    drawn = true;
                }
                index => {
                    let action =
                        Action::from_index(index.into()).ok_or(format!("{index} is no action"))?;
                    drawn = !observed || console.frame_number() % 4 >= 2;
                    reward = console.act(action, drawn);
                }
            }
        }
        match picture {
            Some(wanted) if wanted == record => return Ok(out.write_all(console.screen())?),
            Some(_) => {}
            None => write_record(&mut out, &console, reward, drawn)?,
        }
    }
    Ok(out.flush()?)
}

fn write_record(
    out: &mut impl Write,
    console: &Console,
    reward: i32,
    drawn: bool,
) -> std::io::Result<()> {
    let picture = if drawn {
        crc32fast::hash(console.screen())
    } else {
        0
    };
    out.write_all(console.ram())?;
    out.write_all(&picture.to_le_bytes())?;
    out.write_all(&reward.to_le_bytes())?;
    out.write_all(&console.lives().to_le_bytes())?;
    out.write_all(&u32::from(console.game_over()).to_le_bytes())?;
    out.write_all(&console.frame_number().to_le_bytes())?;
    out.write_all(&console.episode_frame_number().to_le_bytes())
}
