//! MT19937 (Matsumoto and Nishimura 1998, "Mersenne Twister"), as `std::mt19937` and numpy's `RandomState` have it.

use crate::state::{BadState, Tape};

const WORDS: usize = 624;
const MIDDLE: usize = 397;
const TWIST: u32 = 0x9908_b0df;
const UPPER_BIT: u32 = 0x8000_0000;

/// A Mersenne Twister of 32-bit words.
#[derive(Clone, Debug)]
pub struct MersenneTwister {
    words: [u32; WORDS],
    /// Words of this round that were given out.
    place: usize,
}

impl MersenneTwister {
    /// Begins as `std::mt19937(seed)` does.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut words = [seed; WORDS];
        for index in 1..WORDS {
            let last = words[index - 1];
            words[index] = (last ^ (last >> 30))
                .wrapping_mul(1_812_433_253)
                .wrapping_add(index as u32);
        }
        Self {
            words,
            place: WORDS,
        }
    }

    fn twist(&mut self) {
        for index in 0..WORDS {
            let joined =
                (self.words[index] & UPPER_BIT) | (self.words[(index + 1) % WORDS] & !UPPER_BIT);
            let twisted = if joined & 1 == 0 { 0 } else { TWIST };
            self.words[index] = self.words[(index + MIDDLE) % WORDS] ^ (joined >> 1) ^ twisted;
        }
        self.place = 0;
    }

    /// Any of 2³² numbers.
    pub fn next_u32(&mut self) -> u32 {
        if self.place == WORDS {
            self.twist();
        }
        let mut word = self.words[self.place];
        self.place += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// One of `0..=greatest`, by the reduction of libstdc++'s `uniform_int_distribution` (Lemire 2019, "Fast random
    /// integer generation in an interval").
    pub fn up_to(&mut self, greatest: u32) -> u32 {
        let count = u64::from(greatest) + 1;
        let threshold = ((1_u64 << 32) % count) as u32;
        loop {
            let product = u64::from(self.next_u32()) * count;
            if product as u32 >= threshold {
                return (product >> 32) as u32;
            }
        }
    }

    /// A number in [0, 1) of 53 random bits: `genrand_res53`, numpy's `random_sample`.
    pub fn next_f64(&mut self) -> f64 {
        let high = f64::from(self.next_u32() >> 5);
        let low = f64::from(self.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        let words = tape.number(&mut self.words)?;
        // All bits that matter 0 stay so: then `up_to` would wait for another number for ever.
        let is_alive = words[0] & UPPER_BIT != 0 || words[1..].iter().any(|word| *word != 0);
        tape.check(is_alive, "a Mersenne Twister")?;
        tape.within(&mut self.place, ..=WORDS, "a place")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::MersenneTwister;

    /// What libstdc++'s `uniform_int_distribution(0, greatest)` draws from `std::mt19937(7)`.
    #[test]
    fn every_bound_can_be_asked_for() {
        for (greatest, drawn) in [
            (0, [0; 4]),
            (1, [0, 0, 1, 0]),
            (29, [2, 6, 23, 9]),
            (
                u32::MAX - 1,
                [327_741_614, 976_413_891, 3_349_725_720, 1_369_975_285],
            ),
            (
                u32::MAX,
                [327_741_615, 976_413_892, 3_349_725_721, 1_369_975_286],
            ),
        ] {
            let mut twister = MersenneTwister::new(7);
            assert_eq!([0; 4].map(|_| twister.up_to(greatest)), drawn, "{greatest}");
        }
    }
}
