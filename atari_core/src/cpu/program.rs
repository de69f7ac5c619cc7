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
    entries: [Entry; LENGTH + SPARE],
}

const LENGTH: usize = size_of::<Image>();
/// Behind the last byte of the image: where the longest instruction leads from there.
const SPARE: usize = 3;

/// What does an instruction, and its operand bytes.
#[derive(Clone, Copy)]
struct Entry {
    handler: Handler,
    operand: u16,
}

impl Program {
    pub(crate) fn new(cartridge: &Cartridge) -> Arc<Self> {
        let (rom, mapper) = (cartridge.rom(), cartridge.mapper());
        let byte = |at: usize| rom[at % rom.len()];
        let entry = |at: usize| {
            let in_bank = at as u32 & 0xfff;
            let bytes = [byte(at), byte(at + 1), byte(at + 2)];
            let instruction = Instruction::in_piece(bytes, in_bank, &mapper.piece(in_bank));
            Entry {
                handler: instruction.handler(),
                operand: instruction.operand,
            }
        };
        let length = rom.len().max(0x1000);
        let entries: Vec<_> = (0..length).map(entry).collect();
        Arc::new(Self {
            mapper,
            bytes: std::array::from_fn(byte),
            entries: std::array::from_fn(|at| entries[at % length]),
        })
    }

    /// The instruction at a byte of the image.
    #[inline(always)]
    pub(super) fn at(&self, byte: u32) -> Pointer {
        Pointer(
            self.entries
                .as_ptr()
                .wrapping_add(byte as usize & (LENGTH - 1)),
        )
    }

    /// The byte of the image at which an instruction is.
    #[inline(always)]
    pub(super) fn position(&self, at: Pointer) -> u32 {
        let bytes = at.0.addr().wrapping_sub(self.entries.as_ptr().addr());
        (bytes / size_of::<Entry>()) as u32
    }
}

/// Where the processor is: at an instruction of a [`Program`].
///
/// It stays within one: a handler steps over as many bytes as its instruction has, three at most, from a byte of the image
/// ([`Program::at`]); behind each piece of program, and behind the image, stand instructions that look where they are
/// (`fetch`), and branches that lead out of their piece are none of those that move it ([`Instruction::in_piece`]).
#[derive(Clone, Copy)]
pub(crate) struct Pointer(*const Entry);

impl Pointer {
    #[inline(always)]
    #[expect(unsafe_code, reason = "a look-up without a check")]
    fn entry(&self) -> &Entry {
        // SAFETY: it points to an entry of the machine's program, which lives as long as a machine runs.
        unsafe { &*self.0 }
    }

    #[inline(always)]
    pub(super) fn handler(self) -> Handler {
        self.entry().handler
    }

    /// The operand bytes of the instruction.
    #[inline(always)]
    pub(super) fn operand(self) -> u32 {
        self.entry().operand.into()
    }

    /// So many bytes of the program further, or back.
    #[inline(always)]
    pub(super) fn moved(self, bytes: i8) -> Self {
        Self(self.0.wrapping_offset(bytes.into()))
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
}
