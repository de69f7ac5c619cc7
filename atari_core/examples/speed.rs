//! Frames per second of one core: `speed ROM [FRAMES]`, random actions held for four frames, new games as they end;
//! with every frame drawn, every fourth, none.

use std::io::Write;
use std::time::Instant;

use atari_core::{Action, Cartridge, Console};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rom = arguments.next().ok_or("usage: speed ROM [FRAMES]")?;
    let frames: u32 = arguments.next().map_or(Ok(8000), |frames| frames.parse())?;
    let cartridge = Cartridge::load(rom.as_ref())?;
    let mut line = Vec::new();
    write!(line, "{:18}", cartridge.name())?;
    for drawn_every in [1, 4, u32::MAX] {
        let mut console = Console::new(cartridge.clone(), cartridge.game()?)?;
        let mut state: u64 = 1;
        let mut action = Action::Noop;
        let start = Instant::now();
        for frame in 0..frames {
            if frame % 4 == 0 {
                // Knuth's linear congruential generator; the high bits choose.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                action = Action::ALL[(state >> 40) as usize % Action::ALL.len()];
            }
            console.act(action, frame % drawn_every == drawn_every - 1);
            if console.game_over() {
                console.reset();
            }
        }
        let per_second = f64::from(frames) / start.elapsed().as_secs_f64();
        write!(line, " {per_second:9.0}")?;
    }
    line.push(b'\n');
    Ok(std::io::stdout().write_all(&line)?)
}
