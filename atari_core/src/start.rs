//! What the chips happen to hold at power on. On the hardware it is chance; ale-py 0.12.1 always begins with the
//! same numbers, read out with a ROM that copies them, and results compare only if these are the same too.

use crate::rl::random::MersenneTwister;

/// RAM when a ROM is loaded, $80 first.
#[rustfmt::skip]
pub(crate) const RAM: [u8; 128] = [
    0xb8, 0x96, 0xc0, 0x49, 0xcb, 0x55, 0xc8, 0x7f, 0xfb, 0xb4, 0x45, 0x66, 0x2b, 0x34, 0x10, 0xca,
    0xb9, 0xce, 0xff, 0x8f, 0x4f, 0x44, 0xa1, 0x8a, 0x04, 0xc5, 0xcd, 0xfc, 0x75, 0xe7, 0x0a, 0xad,
    0x2d, 0x9b, 0x60, 0x9e, 0xaa, 0x17, 0x1e, 0x54, 0xf9, 0x84, 0x51, 0x3e, 0x34, 0x97, 0x7c, 0x5e,
    0x50, 0xb6, 0x86, 0x85, 0xbe, 0x77, 0x45, 0x8b, 0x6d, 0x04, 0xb5, 0xee, 0x42, 0x39, 0xc1, 0x4b,
    0x9c, 0x33, 0x52, 0x47, 0x49, 0xb3, 0xee, 0x6b, 0x70, 0xac, 0x24, 0x6b, 0xd4, 0xfe, 0xfe, 0xd6,
    0x17, 0xdc, 0x38, 0x9a, 0x49, 0x8e, 0x21, 0xac, 0xd6, 0x1c, 0x0d, 0x5c, 0xda, 0xad, 0x0b, 0x77,
    0xa3, 0x6c, 0x28, 0x38, 0x51, 0xc5, 0x89, 0x5c, 0x5a, 0x16, 0x98, 0x55, 0x95, 0x5b, 0xaf, 0x4a,
    0xaf, 0x99, 0x0d, 0x4b, 0xec, 0x0a, 0xba, 0x5e, 0xa7, 0xbd, 0xe6, 0xf7, 0xab, 0x14, 0x6f, 0xc0,
];

/// The interval timer at each power on, the two of loading a ROM first: as many as were read out, after which they
/// repeat here and not in ale-py. Few games look at the timer before they set it.
static TIMERS: &[u8; 8192] = include_bytes!("power_on_timers.bin");

pub(crate) fn timer(power_on: u32) -> u8 {
    TIMERS[power_on as usize % TIMERS.len()]
}

/// What the chips hold in `multi_agent_ale_py`, which a seed decides: RAM is the lowest bytes of `std::mt19937`'s numbers,
/// the timer at each power on another of them. Each frame of a game passes over one for each player, from whom an
/// action that sticks would be drawn.
#[derive(Clone)]
pub(crate) struct Chance {
    pub(crate) twister: MersenneTwister,
    /// Numbers to pass over before the next that counts.
    pub(crate) passed: u32,
}

impl Chance {
    /// RAM when a ROM is loaded, and what decides the timer when the power is switched on for the first time.
    pub(crate) fn at_load(seed: u32) -> ([u8; 128], Self) {
        let mut chance = Self::of(seed);
        let ram = std::array::from_fn(|_| chance.twister.next_u32() as u8);
        chance.pass(1);
        (ram, chance)
    }

    /// From the second time on.
    pub(crate) fn of(seed: u32) -> Self {
        Self {
            twister: MersenneTwister::new(seed),
            passed: 0,
        }
    }

    pub(crate) fn pass(&mut self, numbers: u32) {
        self.passed += numbers;
    }

    /// The timer at the next power on.
    pub(crate) fn timer(&mut self) -> u8 {
        for _ in 0..std::mem::take(&mut self.passed) {
            self.twister.next_u32();
        }
        25 + (self.twister.next_u32() % 75) as u8
    }
}
