//! Products of blocks by themselves, by which the rate is measured at which tiles multiply: it depends on the caches that
//! blocks come from.

use half::{bf16, slice::HalfFloatSliceExt};

use super::{
    blocks::{BLOCK, BYTES},
    tiles::{Factors, Step, Sums, Tiles},
    unit::{TileUnit, with_tiles},
};
use crate::tile::Scratch;

/// Two rows of blocks, and which of them are multiplied. A block is 1024 numbers of bfloat16, 2 KiB.
#[derive(Debug)]
pub struct BlockProducts {
    unit: TileUnit,
    a: Scratch<u16>,
    b: Scratch<u16>,
    steps: Vec<Step>,
}

impl BlockProducts {
    /// `count` products, each of a block of `a` and one of `b`: of the first two, of the next two and so on. A row that has
    /// ended begins again. Both are copied.
    ///
    /// A block of `a` is 32 rows of 32 terms, `[32][32]`. One of `b` is 32 terms of 32 columns, every two terms beside one
    /// another: `[2 halves of the columns][16 pairs of terms][16 columns][2 terms]`.
    ///
    /// # Panics
    /// If a row is empty, does not end with a block, or has 4 GiB.
    #[must_use]
    pub fn new(unit: TileUnit, [a, b]: [&[bf16]; 2], count: usize) -> Self {
        let steps = places(a).cycle().zip(places(b).cycle()).take(count);
        Self {
            unit,
            a: copied(a),
            b: copied(b),
            steps: steps.map(|(a, b)| Step { a, b }).collect(),
        }
    }

    /// Adds all products to `sums`, `[32 rows][32 columns]`, one after the other: `sums[i][j] += Σ a[i][k] · b[k][j]`.
    pub fn add_to(&mut self, sums: &mut [[f32; 32]; 32]) {
        if self.steps.is_empty() {
            return;
        }
        let factors = Factors {
            a: self.a.start(),
            a_second: BYTES / 2,
            b: self.b.start(),
        };
        let sums = Sums::block(sums.as_mut_ptr().cast());
        // SAFETY: each step begins where a block does, and there is one; the sums are 32 by 32, and nobody else's.
        with_tiles!(self.unit, 16, tiles => unsafe { tiles.product(sums, sums, factors, &self.steps) });
    }
}

/// Where the blocks of a row begin.
fn places(row: &[bf16]) -> impl Iterator<Item = u32> + Clone {
    let is_whole = !row.is_empty() && row.len().is_multiple_of(BLOCK);
    assert!(is_whole, "{} numbers are no blocks", row.len());
    let end = u32::try_from(size_of_val(row)).expect("less than 4 GiB");
    (0..end).step_by(BYTES)
}

/// The same numbers on cache lines of their own.
fn copied(row: &[bf16]) -> Scratch<u16> {
    let (from, mut copy): (&[u16], _) = (row.reinterpret_cast(), Scratch::new(row.len()));
    let to: *mut u16 = copy.start();
    // SAFETY: there is room for them.
    unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    copy
}
