//! [`Program`]: a ROM as instructions. What can be known of an instruction beforehand is known here once.

use std::ops::Range;
use std::sync::Arc;

use super::{Handler, loops, opcodes, stores};
use crate::cartridge::{Cartridge, Image};
use crate::mapper::Mapper;

/// A ROM that repeats: its bytes, and for each of them the instruction that begins there, if it is run from here
/// ([`Instruction::in_piece`]).
pub(crate) struct Program {
    pub(crate) mapper: Mapper,
    pub(crate) bytes: Image,
    handlers: [Handler; LENGTH],
    operands: [u16; LENGTH],
}

/// A power of two.
const LENGTH: usize = size_of::<Image>();

impl Program {
    pub(crate) fn new(cartridge: &Cartridge) -> Arc<Self> {
        let (rom, mapper) = (cartridge.rom(), cartridge.mapper());
        let byte = |at: usize| rom[at % rom.len()];
        let instruction = |at: usize| {
            let in_bank = at as u32 & 0xfff;
            let bytes = [byte(at), byte(at + 1), byte(at + 2)];
            Instruction::in_piece(bytes, in_bank, &mapper.piece(in_bank))
        };
        let length = rom.len().max(0x1000);
        let instructions: Vec<_> = (0..length).map(instruction).collect();
        Arc::new(Self {
            mapper,
            bytes: std::array::from_fn(byte),
            handlers: std::array::from_fn(|at| instructions[at % length].handler()),
            operands: std::array::from_fn(|at| instructions[at % length].operand),
        })
    }

    /// What does the instruction at a byte, and its operand.
    #[inline(always)]
    pub(super) fn at(&self, byte: u32) -> (Handler, u32) {
        let byte = byte as usize & (LENGTH - 1);
        (self.handlers[byte], self.operands[byte].into())
    }
}

/// An instruction: the number of its handler, and the two bytes behind the opcode.
#[derive(Clone, Copy)]
pub(super) struct Instruction {
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
    fn in_piece(bytes: [u8; 3], at: u32, piece: &Range<u32>) -> Self {
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
