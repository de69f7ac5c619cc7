//! The memory that a row is made in.

use crate::tile::Scratch;

/// Memory for a row.
pub struct Room {
    pub sums: Scratch<f32>,
    /// Three rows of the inputs of each convolution, as they are multiplied.
    pub rows: [Scratch<u16>; 5],
    /// The gradient of outputs, turned.
    pub turned: Scratch<u16>,
}
