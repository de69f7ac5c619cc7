//! What the chips happen to hold at power on. On the hardware it is chance; ale-py 0.12.1 always begins with the
//! same numbers, and results compare only if these are the same too.

use crate::mersenne_twister::MersenneTwister;

/// What ale-py's numbers begin with, whatever its `random_seed`: of all seeds below 2^24 the one that gives the RAM which a
/// ROM was loaded with.
const SEED: u32 = 4_753_849;
/// Numbers before those of the first power on: RAM, and one that nobody sees.
const BEFORE: u64 = 129;
/// Power-ons after which the numbers repeat here and not in ale-py, so that finding those of the last takes no longer than
/// a second.
const POWER_ONS: u32 = 1 << 20;

/// What the chips hold in ale-py: `std::mt19937`'s numbers, of which each power on takes one for the timer and, where the
/// cartridge has RAM, one for each byte of it.
#[derive(Clone)]
pub(crate) struct Contents {
    twister: MersenneTwister,
    taken: u64,
}

impl Contents {
    /// RAM when a ROM is loaded, $80 first, and what follows.
    pub(crate) fn at_load() -> ([u8; 128], Self) {
        let mut contents = Self {
            twister: MersenneTwister::new(SEED),
            taken: 0,
        };
        let ram = std::array::from_fn(|_| contents.next() as u8);
        (ram, contents)
    }

    fn next(&mut self) -> u32 {
        self.taken += 1;
        self.twister.next_u32()
    }

    /// The timer and the cartridge's RAM at a power on, the two of loading a ROM first. The second of these is done twice.
    pub(crate) fn at_power_on(&mut self, power_on: u32, with_ram: bool) -> (u8, [u8; 128]) {
        let length = if with_ram { 129 } else { 1 };
        let power_on = u64::from(power_on % POWER_ONS);
        let begins = BEFORE + (power_on + power_on.min(1)) * length;
        if self.taken > begins {
            *self = Self::at_load().1;
        }
        while self.taken < begins {
            self.next();
        }
        let timer = timer_of(self.next());
        let ram = if with_ram {
            std::array::from_fn(|_| self.next() as u8)
        } else {
            [0; 128]
        };
        (timer, ram)
    }
}

/// The timer that a number stands for.
fn timer_of(number: u32) -> u8 {
    25 + (number % 75) as u8
}

/// What the chips hold in `multi_agent_ale_py`, which a seed decides: RAM is the lowest bytes of `std::mt19937`'s numbers,
/// the timer at each power on another of them. Each frame of a game passes over one for each player, from whom an
/// action that sticks would be drawn.
#[derive(Clone)]
pub(crate) struct Chance {
    pub(crate) twister: MersenneTwister,
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
        }
    }

    pub(crate) fn pass(&mut self, numbers: u32) {
        for _ in 0..numbers {
            self.twister.next_u32();
        }
    }

    /// The timer at the next power on.
    pub(crate) fn timer(&mut self) -> u8 {
        timer_of(self.twister.next_u32())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Read out of ale-py by ROMs that copy them.
    #[test]
    fn contents_are_those_of_ale_py_in_any_order() {
        let (ram, mut contents) = Contents::at_load();
        assert_eq!(ram[..6], [0xb8, 0x96, 0xc0, 0x49, 0xcb, 0x55]);
        for power_ons in [[0, 1, 2, 3, 8191], [3, 2, 8191, 1, 0]] {
            for power_on in power_ons {
                let timer = [0x33, 0x4a, 0x41, 0x40].get(power_on as usize).copied();
                let found = contents.at_power_on(power_on, false).0;
                assert_eq!(found, timer.unwrap_or(LAST_TIMER), "{power_on}");
            }
        }
        for (power_on, bytes) in [(2, [0xef, 0x04, 0x7f, 0xe4]), (1, [0x6d, 0xe0, 0x42, 0x2b])] {
            assert_eq!(contents.at_power_on(power_on, true).1[..4], bytes);
        }
    }

    /// The 8,192nd.
    const LAST_TIMER: u8 = 0x42;
}
