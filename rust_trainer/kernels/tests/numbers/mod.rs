//! Numbers to compute with.

/// Numbers from -0.5 to 0.5, the same each time (Marsaglia's xorshift).
pub fn uniform(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count).map(|_| draw()).collect()
}
