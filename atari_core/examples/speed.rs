//! How long one core takes over a file of actions: `speed ROM ACTIONS DRAWN_EVERY`.
//!
//! ACTIONS holds one byte a frame, an action of 0 to 17, or 255 for a new game, whose start is not counted. Every
//! DRAWN_EVERY-th frame is drawn; 0 draws none. Prints the seconds of CPU time, and a CRC-32 of RAM after every hundredth frame,
//! which another emulator must give as well.

use std::io::Write;
use std::time::Duration;

use atari_core::{Action, Cartridge, Console};

const NEW_GAME: u8 = 255;
/// Frames between two looks at RAM.
const CHECKED_EVERY: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rom, actions, drawn_every] = arguments.as_slice() else {
        return Err("usage: speed ROM ACTIONS DRAWN_EVERY".into());
    };
    let drawn_every: usize = drawn_every.parse()?;
    let cartridge = Cartridge::load(rom.as_ref())?;
    let game = cartridge.game()?;
    let mut console = Console::new(cartridge, game)?;
    let mut checksum = crc32fast::Hasher::new();
    let mut frames = 0;
    let mut seconds = Duration::ZERO;
    let mut started = cpu_time();
    for byte in std::fs::read(actions)? {
        if byte == NEW_GAME {
            seconds += cpu_time().saturating_sub(started);
            console.reset();
            started = cpu_time();
            continue;
        }
        let action = Action::from_index(byte.into()).ok_or(format!("{byte} is no action"))?;
        frames += 1;
        console.act(action, drawn_every != 0 && frames % drawn_every == 0);
        if frames % CHECKED_EVERY == 0 {
            checksum.update(console.ram());
        }
    }
    seconds += cpu_time().saturating_sub(started);
    let (seconds, checksum) = (seconds.as_secs_f64(), checksum.finalize());
    writeln!(std::io::stdout(), "{seconds} {checksum}")?;
    Ok(())
}

/// What this process has had of its processor: other programs that run meanwhile do not count.
#[cfg(target_os = "linux")]
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    #[expect(unsafe_code, reason = "a call of the C library")]
    // SAFETY: `time` is a timespec to be written.
    unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(target_os = "linux"))]
fn cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}
