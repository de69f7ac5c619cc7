//! What an instruction adds to, packed for speed.

/// The instructions that are left of a chain, counted up to the sixteenth of their bits, and the cycle, so that one addition
/// of a number of less than 32 bits steps over an instruction: longer ones cost room where decoded instructions are kept.
#[derive(Clone, Copy)]
pub(crate) struct At(u64);

const CYCLE: u32 = 16;
/// Instructions that can be left: one more sets the bit above.
const MOST: u32 = (1 << (CYCLE - 1)) - 1;

impl At {
    pub(super) fn new(cycle: i32, left: u32) -> Self {
        Self(0).with_cycle(cycle).with_left(left)
    }

    #[inline(always)]
    pub(super) fn cycle(self) -> i32 {
        (self.0.cast_signed() >> CYCLE) as i32
    }

    /// Goes on by `cycles`.
    #[inline(always)]
    pub(super) fn later(self, cycles: i32) -> Self {
        Self(self.0.wrapping_add((cycles as u64) << CYCLE))
    }

    #[inline(always)]
    pub(super) fn with_cycle(self, cycle: i32) -> Self {
        Self(u64::from(self.0 as u16) | (cycle as u64) << CYCLE)
    }

    pub(super) fn left(self) -> u32 {
        MOST - (self.0 as u32 & MOST)
    }

    /// `left` is at most [`MOST`].
    pub(super) fn with_left(self, left: u32) -> Self {
        Self(self.0 >> CYCLE << CYCLE | u64::from(MOST - left))
    }

    /// So many instructions less.
    #[inline(always)]
    pub(super) fn counted(self, instructions: u32) -> Self {
        Self(self.0.wrapping_add(instructions.into()))
    }

    /// Whether more instructions were counted than there were.
    #[inline(always)]
    pub(super) fn is_over(self) -> bool {
        (self.0 as u16).cast_signed() < 0
    }
}
