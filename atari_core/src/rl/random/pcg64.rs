//! PCG64 (O'Neill 2014, "PCG", XSL-RR 128/64) and the hash that seeds it, as numpy's `Generator` has them: what
//! `gymnasium.utils.seeding.np_random` returns.

use crate::state::{BadState, Tape};

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const POOL: usize = 4;

/// numpy's `SeedSequence` of one number: a pool of well-mixed words (O'Neill 2015, "Developing a `seed_seq`
/// alternative").
#[derive(Clone, Debug)]
pub struct SeedSequence([u32; POOL]);

impl SeedSequence {
    /// The sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut multiplier = 0x43b0_d7e5_u32;
        let mut hash = |word: u32| {
            let word = word ^ multiplier;
            multiplier = multiplier.wrapping_mul(0x931e_8875);
            let word = word.wrapping_mul(multiplier);
            word ^ (word >> 16)
        };
        // A word that a small seed lacks is hashed as 0.
        let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(&mut hash);
        for from in 0..POOL {
            for to in (0..POOL).filter(|to| *to != from) {
                let mixed = pool[to]
                    .wrapping_mul(0xca01_f9dd)
                    .wrapping_sub(hash(pool[from]).wrapping_mul(0x4973_f715));
                pool[to] = mixed ^ (mixed >> 16);
            }
        }
        Self(pool)
    }

    /// What `generate_state(N)` returns.
    #[must_use]
    pub fn words<const N: usize>(&self) -> [u32; N] {
        let mut multiplier = 0x8b51_f9dd_u32;
        std::array::from_fn(|index| {
            let word = self.0[index % POOL] ^ multiplier;
            multiplier = multiplier.wrapping_mul(0x58f3_8ded);
            let word = word.wrapping_mul(multiplier);
            word ^ (word >> 16)
        })
    }
}

/// numpy's `Generator(PCG64(seed))`.
#[derive(Clone, Debug)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// The half of a 64-bit number that the last 32-bit one left.
    kept: Option<u32>,
}

impl Pcg64 {
    /// Begins at the seed sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let words: [u32; 8] = SeedSequence::new(seed).words();
        // Pairs of words make 64 bits, the low one first; pairs of those 128, the high one first.
        let wide = |at: usize| {
            let half = |at: usize| u128::from(words[at]) | u128::from(words[at + 1]) << 32;
            half(at) << 64 | half(at + 2)
        };
        let increment = wide(4) << 1 | 1;
        let state = increment.wrapping_add(wide(0));
        Self {
            state: state.wrapping_mul(MULTIPLIER).wrapping_add(increment),
            increment,
            kept: None,
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.state = self
            .state
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(self.increment);
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    fn next_u32(&mut self) -> u32 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        let both = self.next_u64();
        self.kept = Some((both >> 32) as u32);
        both as u32
    }

    /// One of `0..=greatest`, as `Generator.integers` draws it: by Lemire's reduction, and without a draw where
    /// there is one number only.
    pub fn up_to(&mut self, greatest: u32) -> u32 {
        let count = u64::from(greatest) + 1;
        if greatest == 0 || greatest == u32::MAX {
            return if greatest == 0 { 0 } else { self.next_u32() };
        }
        let threshold = ((1_u64 << 32) % count) as u32;
        loop {
            let product = u64::from(self.next_u32()) * count;
            if product as u32 >= threshold {
                return (product >> 32) as u32;
            }
        }
    }

    pub(super) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        tape.number(&mut self.state)?;
        let increment = tape.number(&mut self.increment)?;
        // With an even one it may come to a state that it never leaves.
        tape.check(increment & 1 == 1, "a PCG64")?;
        tape.number(&mut self.kept)?;
        Ok(())
    }
}
