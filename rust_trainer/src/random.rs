//! Seeded generators of random numbers: ours, so that every device draws alike and a checkpoint holds what is to come.

use rand_pcg::Pcg64;

/// The generator of a seed.
#[must_use]
pub fn seeded_rng(seed: u64) -> Pcg64 {
    // The stream's number is arbitrary; it keeps this generator apart from others of the same seed.
    Pcg64::new(u128::from(seed), 0x7472_6169_6e65_7200)
}

/// That of the other side of games, apart from the player's, which may have the same seed.
pub(crate) fn opponent_rng(seed: u64) -> Pcg64 {
    Pcg64::new(u128::from(seed), 0x6f70_706f_6e65_6e74)
}
