//! [`Env`]: a single environment written in Rust.

use crate::{
    picture::Picture,
    spaces::{ActionSpace, Actions, ObsSpec},
};

/// What one step of one environment brought beside its observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transition {
    /// The reward to learn from.
    pub reward: f32,
    /// The task itself ended.
    pub terminated: bool,
    /// A time limit cut the episode.
    pub truncated: bool,
}

/// A single environment. [`SyncVecEnv`](crate::SyncVecEnv) and [`ThreadedVecEnv`](crate::ThreadedVecEnv)
/// make a batch of several, check actions before they arrive here, and restart episodes that ended.
pub trait Env: Send {
    /// Shape and type of an observation.
    fn obs_spec(&self) -> ObsSpec;

    /// Its actions.
    fn action_space(&self) -> ActionSpace;

    /// Starts an episode and writes its first observation to `obs`, [`ObsSpec::num_bytes`] long. Equal
    /// seeds start equal futures; without one the random numbers go on.
    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]);

    /// Takes one action of its space and writes the next observation to `obs`.
    fn step(&mut self, action: Actions<'_>, obs: &mut [u8]) -> Transition;

    /// Least and greatest value of each number of an observation, in C order, where they are known.
    fn obs_bounds(&self) -> Option<[Vec<f32>; 2]> {
        None
    }

    /// What it looks like now, also before the first reset; `None` where it cannot be drawn.
    fn render(&self) -> Option<Picture> {
        None
    }

    /// Pictures a second at which it is to be watched.
    fn render_fps(&self) -> f64 {
        30.0
    }

    /// Everything that its future depends on, random numbers included, as plain data; `None` where it
    /// cannot be saved. [`words_to_bytes`] makes bytes of numbers.
    fn save_state(&self) -> Option<Vec<u8>> {
        None
    }

    /// Goes to a state that [`Env::save_state`] returned and writes what it shows to `obs`; `false`, and
    /// nothing changes, where the bytes are none of its states.
    fn restore_state(&mut self, _state: &[u8], _obs: &mut [u8]) -> bool {
        false
    }
}

/// Numbers as bytes of a state, the same on every machine; [`f64::to_bits`] makes words of real ones.
#[must_use]
pub fn words_to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The numbers that [`words_to_bytes`] wrote, if there are `N` of them.
#[must_use]
pub fn bytes_to_words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks();
    let words: &[[u8; 8]; N] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_le_bytes))
}

/// Writes float32 numbers as observations hold them.
pub fn write_floats(obs: &mut [u8], values: impl IntoIterator<Item = f32>) {
    for (bytes, value) in obs.as_chunks_mut().0.iter_mut().zip(values) {
        *bytes = value.to_ne_bytes();
    }
}

/// Random numbers for environments: `SplitMix64` (Steele, Lea and Flood 2014), whose whole state is its
/// seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts where `seed` says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Where in its sequence this is: [`Random::new`] goes on from there.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.0
    }

    /// Any of 2⁶⁴ numbers.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..count`.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next_u64()) * count as u128) >> 64) as usize
    }

    /// A number between `low` and `high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
