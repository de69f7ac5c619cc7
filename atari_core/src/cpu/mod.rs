//! The 6507 processor: registers ([`Registers`]), operations ([`operations`], [`control`]), addressing modes ([`modes`]),
//! and the table that puts them together ([`opcodes`]).
//!
//! Timing: an instruction is one step. Its bus accesses count at the cycle at which it ends, which is where
//! the last access of a 6502 instruction falls.

mod at;
mod bus;
mod control;
mod decimal;
mod loops;
mod modes;
mod opcodes;
mod operations;
mod program;
mod stores;
#[cfg(test)]
mod tests;

pub(crate) use at::At;
use bus::fetch;
use modes::Place;
pub(crate) use program::Program;
use program::{Instruction, Pointer};

use crate::machine::{LONGEST_FRAME, Machine};
use crate::state::{BadState, Tape};

/// The registers between two frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) a: u8,
    pub(crate) x: u8,
    pub(crate) y: u8,
    pub(crate) sp: u8,
    /// Processor status: N V - B D I Z C.
    pub(crate) p: u8,
    pub(crate) pc: u16,
    /// Cycles since the line in which the frame began.
    pub(crate) cycle: i32,
}

/// Bits of the status register.
pub(crate) mod flag {
    pub(crate) const CARRY: u32 = 0x01;
    pub(crate) const ZERO: u32 = 0x02;
    pub(crate) const INTERRUPT: u32 = 0x04;
    pub(crate) const DECIMAL: u32 = 0x08;
    /// B and the bit without a name, which read as ones.
    pub(crate) const ALWAYS: u32 = 0x30;
    pub(crate) const OVERFLOW: u32 = 0x40;
    pub(crate) const NEGATIVE: u32 = 0x80;
}

impl Registers {
    pub(crate) fn power_on(pc: u16) -> Self {
        Self {
            sp: 0xff,
            p: flag::ALWAYS as u8,
            pc,
            ..Self::default()
        }
    }

    /// Goes over them, and returns the cycle.
    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<i32, BadState> {
        for register in [
            &mut self.a,
            &mut self.x,
            &mut self.y,
            &mut self.sp,
            &mut self.p,
        ] {
            tape.number(register)?;
        }
        tape.number(&mut self.pc)?;
        tape.within(&mut self.cycle, 0..=LONGEST_FRAME, "the cycle")
    }
}

/// What a running processor keeps in memory; the rest goes from one instruction to the next as arguments.
#[derive(Clone, Default)]
pub(crate) struct Held {
    pub(crate) sp: u32,
    /// 0 or 1.
    pub(crate) carry: u32,
    /// 0 or [`flag::OVERFLOW`].
    pub(crate) overflow: u32,
    /// 0 or [`flag::DECIMAL`].
    pub(crate) decimal: u32,
    /// 0 or [`flag::INTERRUPT`].
    pub(crate) interrupt: u32,
    /// Instructions that the frame may take after those of this chain.
    later: u32,
    /// The operand bytes of an instruction that lies in no piece of the program.
    operand: u32,
    /// What an instruction stores.
    value: u8,
}

/// An instruction: the machine, where in the program the processor is and when ([`At`]), A, X and Y, and the result that
/// N and Z follow from. Six arguments, so that all of them are in registers on both x86-64 and `AArch64`.
///
/// Its last act is the call of the next one ([`Processor::next`]). An optimising compiler makes a jump of such a
/// call: no loop, no shared `match`, nothing saved or restored between two instructions. No guarantee is needed: a
/// chain ends after [`CHAIN`] calls, so that without that optimisation the stack is as little at risk.
type Handler = fn(&mut Machine, Pointer, At, u32, u32, u32);

/// Instructions that may be nested calls where the compiler makes no jumps of them: fewer where nothing is optimised, as each
/// takes 2 kB of the stack there.
const CHAIN: u32 = if cfg!(debug_assertions) { 255 } else { 4_095 };

/// The processor within an instruction. Registers are wide so that nothing is masked before it is used.
pub(crate) struct Processor<'a> {
    bus: &'a mut Machine,
    pointer: Pointer,
    at: At,
    /// The operand bytes of the instruction.
    operand: u32,
    a: u32,
    x: u32,
    y: u32,
    /// Z is set when the low byte is 0, N when bit 7 or bit 15 is 1: most operations store their result and are done.
    zero_negative: u32,
}

impl Machine {
    /// Runs until the TIA ends the frame or `budget` instructions are done.
    pub(crate) fn run(&mut self, budget: u32) {
        self.tia.frame_ended = false;
        self.banks.refresh();
        self.held.later = budget;
        while self.held.later > 0 && !self.tia.frame_ended {
            let left = self.held.later.min(CHAIN);
            self.held.later -= left;
            let registers = self.cpu;
            self.held.sp = registers.sp.into();
            let position = self.banks.leave(registers.pc.into());
            let mut processor = Processor {
                pointer: self.program.at(position),
                bus: self,
                at: At::new(registers.cycle, left),
                operand: 0,
                a: registers.a.into(),
                x: registers.x.into(),
                y: registers.y.into(),
                zero_negative: 0,
            };
            processor.set_status(registers.p.into());
            processor.next_anywhere();
        }
    }
}

impl<'a> Processor<'a> {
    #[inline(always)]
    fn resume(
        bus: &'a mut Machine,
        pointer: Pointer,
        at: At,
        a: u32,
        x_y: u32,
        zero_negative: u32,
    ) -> Self {
        Self {
            bus,
            pointer,
            at,
            operand: pointer.operand(),
            a,
            x: x_y & 0xff,
            y: x_y >> 8,
            zero_negative,
        }
    }

    /// The next instruction of this piece of the program, and with it all that follow.
    #[inline(always)]
    fn next(self) {
        let at = self.at.counted(1);
        let go_on = if at.is_over() {
            Machine::pause
        } else {
            self.pointer.handler()
        };
        let x_y = self.x | self.y << 8;
        go_on(self.bus, self.pointer, at, self.a, x_y, self.zero_negative);
    }

    /// The next instruction, after one that may have left the piece of the program or switched banks.
    #[inline(always)]
    fn next_anywhere(self) {
        if self.bus.banks.is_outside() {
            let at = self.at.counted(1);
            let go_on = if at.is_over() { Machine::pause } else { fetch };
            let x_y = self.x | self.y << 8;
            return go_on(self.bus, self.pointer, at, self.a, x_y, self.zero_negative);
        }
        self.next();
    }

    /// Steps over `bytes` of the program in `cycles`.
    #[inline(always)]
    fn advance(&mut self, bytes: u8, cycles: i32) {
        self.pointer = self.pointer.moved(bytes.cast_signed());
        self.at = self.at.later(cycles);
    }

    /// Goes on at `pc`; a `PLAIN` instruction gives up where that is in another piece of the program.
    #[inline(always)]
    fn jump<const PLAIN: bool>(&mut self, pc: u32) -> Option<()> {
        let banks = &mut self.bus.banks;
        let position = match banks.position(pc) {
            None if PLAIN => return None,
            None => banks.leave(pc),
            Some(position) => position,
        };
        self.pointer = self.bus.program.at(position);
        Some(())
    }

    /// The program counter.
    #[inline(always)]
    fn pc(&self) -> u32 {
        self.bus.pc(self.pointer)
    }

    /// This instruction is the last.
    #[inline(always)]
    fn stop(&mut self) {
        self.at = self.at.with_left(0);
        self.bus.held.later = 0;
    }

    /// The byte at an address; `lines` is what the bus last carried, which floats into unconnected TIA bits.
    #[inline(always)]
    fn load<const PLAIN: bool>(&mut self, address: u32, lines: u32) -> Option<u32> {
        if !PLAIN {
            Some(self.load_anywhere(address, lines))
        } else if address & 0x1000 != 0 {
            let byte = self.bus.banks.plain(&self.bus.program.bytes, address)?;
            Some(byte.into())
        } else {
            let is_ram = address & 0x280 == 0x80;
            is_ram.then(|| self.ram(address))
        }
    }

    #[inline(always)]
    fn load_anywhere(&mut self, address: u32, lines: u32) -> u32 {
        let (value, at) = self.bus.read(address, lines, self.pointer, self.at);
        self.at = at;
        value
    }

    /// A byte of RAM.
    #[inline(always)]
    fn ram(&self, address: u32) -> u32 {
        self.bus.riot.ram[(address & 0x7f) as usize].into()
    }

    /// A byte of page zero, which is RAM and TIA.
    #[inline(always)]
    fn load_zero_page<const PLAIN: bool>(&mut self, address: u32, lines: u32) -> Option<u32> {
        if PLAIN {
            let is_ram = address & 0x80 != 0;
            is_ram.then(|| self.ram(address))
        } else {
            Some(self.load_anywhere(address, lines))
        }
    }

    /// A write, of a `PLAIN` instruction to a place in RAM ([`Place::writable`]).
    #[inline(always)]
    fn store<const PLAIN: bool>(&mut self, place: Place, value: u32) {
        if PLAIN {
            self.bus.riot.ram[(place.address & 0x7f) as usize] = value as u8;
        } else {
            self.at = self.bus.write(place.address, value as u8, self.at);
        }
    }

    /// The stack is page one, which is RAM and TIA once more. Gives up unless `pushes` more bytes lie in RAM.
    #[inline(always)]
    fn has_room<const PLAIN: bool>(&self, pushes: u32) -> Option<()> {
        (!PLAIN || self.bus.held.sp >= 0x7f + pushes).then_some(())
    }

    #[inline(always)]
    fn push<const PLAIN: bool>(&mut self, value: u32) {
        let address = self.bus.held.sp;
        self.bus.held.sp = address.wrapping_sub(1) & 0xff;
        self.store::<PLAIN>(Place { address, lines: 0 }, value);
    }

    /// Gives up unless the next `pulls` bytes lie in RAM.
    #[inline(always)]
    fn holds<const PLAIN: bool>(&self, pulls: u32) -> Option<()> {
        (!PLAIN || (0x7f..=0xff - pulls).contains(&self.bus.held.sp)).then_some(())
    }

    /// The stack pointer's old place is read first; what it held floats into the bits that the TIA leaves open.
    #[inline(always)]
    fn pull<const PLAIN: bool>(&mut self, opcode: u32) -> u32 {
        let before = self.bus.held.sp;
        let place = (before + 1) & 0xff;
        self.bus.held.sp = place;
        if PLAIN || place & 0x80 != 0 {
            return self.ram(place);
        }
        let lines = self.load_anywhere(before, opcode);
        self.load_anywhere(place, lines)
    }

    #[inline(always)]
    fn set_zero_negative(&mut self, result: u32) {
        self.zero_negative = result;
    }

    #[inline(always)]
    fn status(&self) -> u32 {
        let negative = (self.zero_negative | self.zero_negative >> 8) & flag::NEGATIVE;
        let zero = if self.zero_negative & 0xff == 0 {
            flag::ZERO
        } else {
            0
        };
        negative
            | self.bus.held.overflow
            | flag::ALWAYS
            | self.bus.held.decimal
            | self.bus.held.interrupt
            | zero
            | self.bus.held.carry
    }

    #[inline(always)]
    fn set_status(&mut self, status: u32) {
        self.bus.held.carry = status & flag::CARRY;
        self.bus.held.interrupt = status & flag::INTERRUPT;
        self.bus.held.decimal = status & flag::DECIMAL;
        self.bus.held.overflow = status & flag::OVERFLOW;
        let negative = status & flag::NEGATIVE;
        self.zero_negative = if status & flag::ZERO != 0 {
            negative << 8
        } else {
            negative | 1
        };
    }
}
