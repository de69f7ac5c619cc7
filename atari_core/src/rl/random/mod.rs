//! Where an environment's random numbers come from: the console's seed, and the draws of no-op counts.
//!
//! Two ways are in use and [`Seeding`] names one; both give the numbers of those who use them, bit for bit.

mod pcg64;

pub use crate::mersenne_twister::MersenneTwister;
pub use pcg64::{Pcg64, SeedSequence};

use super::recipe::Seeding;
use crate::state::{BadState, Reader, Writer};

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

    pub(super) fn save(&self, state: &mut Writer) {
        match self {
            Self::Hashed(generator) => generator.save(state),
            Self::Raw(twister) => twister.save(state),
        }
    }

    /// Draws of this kind that go on where saved ones stood.
    pub(super) fn read(&self, state: &mut Reader<'_>) -> Result<Self, BadState> {
        Ok(match self {
            Self::Hashed(_) => Self::Hashed(Pcg64::read(state)?),
            Self::Raw(_) => Self::Raw(Box::new(MersenneTwister::read(state)?)),
        })
    }
}
