//! Where the processor is, packed for speed.

/// Where the processor is, so that one addition steps over an instruction: from the lowest bit on the position in the
/// image (16 bits, of which one is spare), the instructions that are left of the chain, counted up to the eleventh of
/// their bits, and the cycle. What an instruction adds is a number of less than 32 bits, which is part of the machine's
/// instruction: longer ones cost room where decoded instructions are kept.
///
/// The program counter is the position and what [`crate::cartridge::Banks`] says that the piece of program begins with.
#[derive(Clone, Copy)]
pub(crate) struct At(u64);

const COUNT: u32 = 16;
const CYCLE: u32 = 27;
/// The bit that is 1 as soon as more instructions were counted than there were.
const OVER: u32 = 1 << 26;
/// Instructions that can be left.
pub(super) const MOST: u32 = (OVER >> COUNT) - 1;

impl At {
    pub(super) fn new(position: u32, cycle: i32, left: u32) -> Self {
        Self(u64::from(position) | (cycle as u64) << CYCLE).with_left(left)
    }

    #[inline(always)]
    pub(super) fn position(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    #[inline(always)]
    pub(super) fn cycle(self) -> i32 {
        (self.0.cast_signed() >> CYCLE) as i32
    }

    /// Goes on by `bytes` of the program and `cycles`.
    #[inline(always)]
    pub(super) fn advanced(self, bytes: u8, cycles: i32) -> Self {
        let step = u64::from(bytes).wrapping_add((cycles as u64) << CYCLE);
        Self(self.0.wrapping_add(step))
    }

    /// Goes on by `bytes`, which are not too many for the piece of program, in either direction.
    #[inline(always)]
    pub(super) fn moved(self, bytes: i8) -> Self {
        Self(self.0.wrapping_add_signed(bytes.into()))
    }

    #[inline(always)]
    pub(super) fn with_position(self, position: u32) -> Self {
        Self(self.0 >> COUNT << COUNT | u64::from(position))
    }

    #[inline(always)]
    pub(super) fn with_cycle(self, cycle: i32) -> Self {
        Self(self.0 & ((1 << CYCLE) - 1) | (cycle as u64) << CYCLE)
    }

    pub(super) fn left(self) -> u32 {
        MOST - (self.0 as u32 >> COUNT & MOST)
    }

    /// `left` is at most [`MOST`].
    pub(super) fn with_left(self, left: u32) -> Self {
        let counted = u64::from((2 * OVER - 1) >> COUNT << COUNT);
        Self(self.0 & !counted | u64::from(MOST - left) << COUNT)
    }

    /// So many instructions less.
    #[inline(always)]
    pub(super) fn counted(self, instructions: u32) -> Self {
        Self(self.0.wrapping_add(u64::from(instructions) << COUNT))
    }

    /// Whether more instructions were counted than there were.
    #[inline(always)]
    pub(super) fn is_over(self) -> bool {
        self.0 as u32 & OVER != 0
    }
}
