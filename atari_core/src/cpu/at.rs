//! Numbers that are packed for speed: an instruction as a ROM holds it, and where the processor is.

use super::{Handler, opcodes, stores};

/// An instruction as it is kept for every byte of a ROM: its operand bytes in the lower half, and, in the upper 9
/// bits, which handler it has: the opcode's, or that of a store to one register of the TIA.
#[derive(Clone, Copy)]
pub(crate) struct Instruction(u32);

impl Instruction {
    pub(crate) fn new([opcode, low, high]: [u8; 3]) -> Self {
        let handler = stores::handler(opcode, low).unwrap_or(opcode.into());
        Self(u32::from(handler) << 23 | u32::from(high) << 8 | u32::from(low))
    }

    #[inline(always)]
    pub(super) fn operand(self) -> u32 {
        self.0 & 0xffff
    }

    #[inline(always)]
    pub(super) fn handler(self) -> Handler {
        opcodes::HANDLERS[(self.0 >> 23) as usize]
    }
}

/// Program counter, cycle and the instructions that are left of the chain, so that one addition steps over an
/// instruction: 20 bits of which the lower 16 are the program counter, 26 bits, and the rest, negative at the end.
#[derive(Clone, Copy)]
pub(crate) struct At(u64);

const CYCLE: u32 = 20;
const LEFT: u32 = 46;

impl At {
    pub(super) fn new(pc: u32, cycle: i32, left: u32) -> Self {
        Self(u64::from(pc) | (cycle as u64) << CYCLE | u64::from(left) << LEFT)
    }

    #[inline(always)]
    pub(super) fn pc(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    #[inline(always)]
    pub(super) fn cycle(self) -> i32 {
        (self.0 >> CYCLE) as i32 & ((1 << (LEFT - CYCLE)) - 1)
    }

    /// Goes on by `bytes` of the program and `cycles`.
    #[inline(always)]
    pub(super) fn advanced(self, bytes: u8, cycles: i32) -> Self {
        let step = u64::from(bytes).wrapping_add((cycles as u64) << CYCLE);
        Self(self.0.wrapping_add(step))
    }

    #[inline(always)]
    pub(super) fn with_pc(self, pc: u32) -> Self {
        Self(self.0 >> CYCLE << CYCLE | u64::from(pc))
    }

    #[inline(always)]
    pub(super) fn with_cycle(self, cycle: i32) -> Self {
        Self::new(self.0 as u32 & ((1 << CYCLE) - 1), cycle, 0).with_left(self.left())
    }

    pub(super) fn left(self) -> u32 {
        (self.0 >> LEFT) as u32
    }

    pub(super) fn with_left(self, left: u32) -> Self {
        Self(self.0 << (64 - LEFT) >> (64 - LEFT) | u64::from(left) << LEFT)
    }

    /// One instruction less.
    #[inline(always)]
    pub(super) fn counted(self) -> Self {
        Self(self.0.wrapping_sub(1 << LEFT))
    }

    /// Whether more instructions were counted than there were.
    #[inline(always)]
    pub(super) fn is_over(self) -> bool {
        (self.0 as i64) < 0
    }
}
