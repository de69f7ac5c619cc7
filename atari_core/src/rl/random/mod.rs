//! Where an environment's random numbers come from: the console's seed, and the draws of no-op counts.
//!
//! Two ways are in use and [`Seeding`] names one; both give the numbers of those who use them, bit for bit.

mod pcg64;

pub use pcg64::{Pcg64, SeedSequence};

use super::recipe::Seeding;
use crate::MersenneTwister;
use crate::state::{BadState, Tape};

/// What an environment draws the number of its no-ops from.
#[derive(Clone, Debug)]
pub enum Draws {
    /// As gymnasium's Atari environment: a hash of the seed seeds the console, and a PCG64.
    Hashed(Pcg64),
    /// As the vector environments of ALE and EnvPool: the seed itself is the console's, and a Mersenne
    /// Twister's.
    Raw(Box<MersenneTwister>),
}

impl Draws {
    /// Begins at `seed`; returns the seed of the console's own random numbers beside the draws.
    #[must_use]
    pub fn new(seeding: Seeding, seed: u64) -> (u32, Self) {
        match seeding {
            Seeding::Hashed => {
                let [own, console] = SeedSequence::new(seed).words();
                (console, Self::Hashed(Pcg64::new(u64::from(own))))
            }
            // Seeds of ALE and of `std::mt19937` have 32 bits.
            Seeding::Raw => (
                seed as u32,
                Self::Raw(Box::new(MersenneTwister::new(seed as u32))),
            ),
        }
    }

    /// A uniform number from `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        match self {
            Self::Hashed(generator) => low + generator.up_to(high - low),
            Self::Raw(twister) => low + twister.up_to(high - low),
        }
    }

    pub(super) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        match self {
            Self::Hashed(generator) => generator.walk(tape),
            Self::Raw(twister) => twister.walk(tape),
        }
    }
}
