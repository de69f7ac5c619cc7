//! [`Program`]: a ROM as instructions. What can be known of an instruction beforehand is known here once.

use std::ops::Range;

use super::{Handler, loops, opcodes, stores};

/// For every byte of a ROM the instruction that begins there, if it is run from here ([`Instruction::in_piece`]).
pub(crate) struct Program<const LENGTH: usize> {
    handlers: [Handler; LENGTH],
    operands: [u16; LENGTH],
}

impl<const LENGTH: usize> Program<LENGTH> {
    /// Of instructions that repeat.
    pub(crate) fn new(instructions: &[Instruction]) -> Self {
        let at = |at: usize| instructions[at % instructions.len()];
        Self {
            handlers: std::array::from_fn(|byte| at(byte).handler()),
            operands: std::array::from_fn(|byte| at(byte).operand),
        }
    }

    /// What does the instruction at a byte, and its operand; `LENGTH` is a power of two.
    #[inline(always)]
    pub(super) fn at(&self, byte: u32) -> (Handler, u32) {
        let byte = byte as usize & (LENGTH - 1);
        (self.handlers[byte], self.operands[byte].into())
    }
}

/// An instruction: the number of its handler, and the two bytes behind the opcode.
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    pub(super) number: u16,
    pub(super) operand: u16,
}

impl Instruction {
    /// An instruction whose bytes may be anywhere.
    pub(super) fn anywhere([opcode, low, high]: [u8; 3]) -> Self {
        Self {
            number: opcodes::ANYWHERE + u16::from(opcode),
            operand: u16::from_le_bytes([low, high]),
        }
    }

    /// The instruction at byte `at` of a bank, if an instruction may begin there: in a piece of the program.
    pub(crate) fn in_piece(bytes: [u8; 3], at: u32, piece: &Range<u32>) -> Self {
        let [opcode, low, high] = bytes;
        let operand = u16::from_le_bytes([low, high]);
        let with_handler = |number| Self { number, operand };
        if !piece.contains(&at) {
            return with_handler(opcodes::FETCH);
        }
        if piece.contains(&(at + 1))
            && let Some(instruction) = loops::instruction(bytes, at)
        {
            return instruction;
        }
        if opcodes::is_branch(opcode) {
            let next = at + 2;
            let target = next.wrapping_add_signed(i32::from(low.cast_signed()));
            if !piece.contains(&target) {
                return Self::anywhere(bytes);
            }
            // How far the branch goes, and whether that crosses a page.
            let crosses = ((next ^ target) & 0x100) as u16;
            return Self {
                number: opcode.into(),
                operand: u16::from(low) | crosses,
            };
        }
        if let Some(store) = stores::handler(opcode, low) {
            return with_handler(store);
        }
        if opcodes::NEEDS[usize::from(opcode)].are_met(operand) {
            with_handler(opcode.into())
        } else {
            Self::anywhere(bytes)
        }
    }

    pub(super) fn handler(self) -> Handler {
        opcodes::HANDLERS[usize::from(self.number)]
    }

    pub(super) fn operand(self) -> u32 {
        self.operand.into()
    }
}
