//! The 6507 processor: registers ([`Registers`]), operations ([`operations`]), addressing modes ([`modes`]), and
//! the table that puts them together ([`opcodes`]).
//!
//! Timing: an instruction is one step. Its bus accesses count at the cycle at which it ends, which is where
//! the last access of a 6502 instruction falls.

mod decimal;
mod modes;
mod opcodes;
mod operations;
mod stores;
#[cfg(test)]
mod tests;

use modes::Place;

use crate::machine::Machine;

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
}

/// An instruction: the machine, where the processor is ([`At`]), operand bytes, A, X and Y, and the result that N and
/// Z follow from. Six arguments, so that all of them are in registers on both x86-64 and `AArch64`.
///
/// Its last act is the call of the next one ([`Processor::next`]). An optimising compiler makes a jump of such a
/// call: no loop, no shared `match`, nothing saved or restored between two instructions. No guarantee is needed: a
/// chain ends after [`CHAIN`] calls, so that without that optimisation the stack is as little at risk.
type Handler = fn(&mut Machine, At, u32, u32, u32, u32);

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
    fn operand(self) -> u32 {
        self.0 & 0xffff
    }

    #[inline(always)]
    fn handler(self) -> Handler {
        opcodes::HANDLERS[(self.0 >> 23) as usize]
    }
}

/// Program counter, cycle and the instructions that are left of the chain, so that one addition steps over an
/// instruction: 20 bits of which the lower 16 are the program counter, 26 bits, and the rest, negative at the end.
#[derive(Clone, Copy)]
struct At(u64);

const CYCLE: u32 = 20;
const LEFT: u32 = 46;

impl At {
    fn new(pc: u32, cycle: i32, left: u32) -> Self {
        Self(u64::from(pc) | (cycle as u64) << CYCLE | u64::from(left) << LEFT)
    }

    #[inline(always)]
    fn pc(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    #[inline(always)]
    fn cycle(self) -> i32 {
        (self.0 >> CYCLE) as i32 & ((1 << (LEFT - CYCLE)) - 1)
    }

    /// Goes on by `bytes` of the program and `cycles`.
    #[inline(always)]
    fn advanced(self, bytes: u8, cycles: i32) -> Self {
        let step = u64::from(bytes).wrapping_add((cycles as u64) << CYCLE);
        Self(self.0.wrapping_add(step))
    }

    #[inline(always)]
    fn with_pc(self, pc: u32) -> Self {
        Self(self.0 >> CYCLE << CYCLE | u64::from(pc))
    }

    #[inline(always)]
    fn with_cycle(self, cycle: i32) -> Self {
        Self::new(self.0 as u32 & ((1 << CYCLE) - 1), cycle, 0).with_left(self.left())
    }

    fn left(self) -> u32 {
        (self.0 >> LEFT) as u32
    }

    fn with_left(self, left: u32) -> Self {
        Self(self.0 << (64 - LEFT) >> (64 - LEFT) | u64::from(left) << LEFT)
    }

    /// One instruction less.
    #[inline(always)]
    fn counted(self) -> Self {
        Self(self.0.wrapping_sub(1 << LEFT))
    }

    /// Whether more instructions were counted than there were.
    #[inline(always)]
    fn is_over(self) -> bool {
        (self.0 as i64) < 0
    }
}

/// Instructions that may be nested calls where the compiler makes no jumps of them.
const CHAIN: u32 = 250;

/// The processor within an instruction. Registers are wide so that nothing is masked before it is used.
pub(crate) struct Processor<'a> {
    bus: &'a mut Machine,
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
            let mut processor = Processor {
                bus: self,
                at: At::new(registers.pc.into(), registers.cycle, left),
                operand: 0,
                a: registers.a.into(),
                x: registers.x.into(),
                y: registers.y.into(),
                zero_negative: 0,
            };
            processor.set_status(registers.p.into());
            processor.next();
        }
    }
}

impl<'a> Processor<'a> {
    #[inline(always)]
    fn resume(
        bus: &'a mut Machine,
        at: At,
        operand: u32,
        a: u32,
        x_y: u32,
        zero_negative: u32,
    ) -> Self {
        Self {
            bus,
            at,
            operand,
            a,
            x: x_y & 0xff,
            y: x_y >> 8,
            zero_negative,
        }
    }

    /// The instruction at the program counter, and with it all that follow.
    #[inline(always)]
    fn next(self) {
        let x_y = self.x | self.y << 8;
        let at = self.at.counted();
        if at.is_over() {
            return self.bus.pause(at, 0, self.a, x_y, self.zero_negative);
        }
        match self.bus.banks.instruction(&self.bus.image, at.pc()) {
            Some(instruction) => {
                let (handler, operand) = (instruction.handler(), instruction.operand());
                handler(self.bus, at, operand, self.a, x_y, self.zero_negative);
            }
            None => fetch_bytes(self.bus, at, 0, self.a, x_y, self.zero_negative),
        }
    }

    /// Steps over `bytes` of the program in `cycles`.
    #[inline(always)]
    fn advance(&mut self, bytes: u8, cycles: i32) {
        self.at = self.at.advanced(bytes, cycles);
    }

    #[inline(always)]
    fn jump(&mut self, pc: u32) {
        self.at = self.at.with_pc(pc);
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
        if address & 0x1280 == 0x80 {
            Some(self.bus.riot.ram[(address & 0x7f) as usize].into())
        } else if PLAIN {
            self.bus
                .banks
                .plain(&self.bus.image, address)
                .map(u32::from)
        } else {
            Some(self.load_anywhere(address, lines))
        }
    }

    #[inline(always)]
    fn load_anywhere(&mut self, address: u32, lines: u32) -> u32 {
        let (value, at) = self.bus.read(address, lines, self.at);
        self.at = at;
        value
    }

    /// A byte of page zero, which is RAM and TIA.
    #[inline(always)]
    fn load_zero_page<const PLAIN: bool>(&mut self, address: u32, lines: u32) -> Option<u32> {
        if PLAIN {
            let is_ram = address & 0x80 != 0;
            is_ram.then(|| self.bus.riot.ram[(address & 0x7f) as usize].into())
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
            return self.bus.riot.ram[(place & 0x7f) as usize].into();
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

/// What the processor asks of the bus less often. These are called and not inlined; they take values, because the
/// fields of a [`Processor`] that was lent to them would have to live in memory.
impl Machine {
    /// Writes back what the processor holds: a chain is at its end.
    #[inline(never)]
    fn pause(&mut self, at: At, _operand: u32, a: u32, x_y: u32, zero_negative: u32) {
        let processor = Processor::resume(self, at, 0, a, x_y, zero_negative);
        let registers = Registers {
            a: processor.a as u8,
            x: processor.x as u8,
            y: processor.y as u8,
            sp: processor.bus.held.sp as u8,
            p: processor.status() as u8,
            pc: processor.at.pc() as u16,
            cycle: processor.at.cycle(),
        };
        self.cpu = registers;
    }

    /// The byte at an address, and where the processor is then.
    #[inline(never)]
    fn read(&mut self, address: u32, lines: u32, mut at: At) -> (u32, At) {
        let value = if address & 0x1000 != 0 {
            self.banks.read(&self.image, address)
        } else if address & 0x80 == 0 {
            self.tia.read(address, lines, at.cycle(), &self.input)
        } else if address & 0x200 == 0 {
            self.riot.ram[(address & 0x7f) as usize]
        } else {
            // Most games wait for the end of the picture in `LDA INTIM` and a branch back to it; the turns of that
            // loop change nothing.
            if address & 0x285 == 0x284 {
                at = self.skip_wait(at, address);
            }
            self.riot.read(address, at.cycle(), &self.input)
        };
        (value.into(), at)
    }

    /// Leaves out what passes after a load of `address`, which is INTIM, when a branch back to that load follows it.
    fn skip_wait(&mut self, at: At, address: u32) -> At {
        let pc = at.pc();
        let byte = |ahead: u32| {
            let address = pc.wrapping_add(ahead).wrapping_sub(3);
            self.banks.plain(&self.image, address)
        };
        let [Some(load), Some(low), Some(high), Some(branch), Some(0xfb)] =
            [0, 1, 2, 3, 4].map(byte)
        else {
            return at;
        };
        // The branch goes back over its own two bytes and the three of the load.
        if u32::from(u16::from_le_bytes([low, high])) != address {
            return at;
        }
        // LDA, LDX or LDY; BIT takes N from the timer, too, but Z from A as well.
        let waits = matches!((load, branch), (0xac..=0xae, _) | (0x2c, 0x10 | 0x30));
        if !waits {
            return at;
        }
        let crosses_page = ((pc + 2) ^ pc.wrapping_sub(3)) & 0x100 != 0;
        let period = 4 + 3 + i32::from(crosses_page);
        let left = at.left() + self.held.later;
        let turns = self
            .riot
            .skippable(at.cycle(), branch, period)
            .min(left as i32 / 2);
        // All that are left stay behind this chain.
        self.held.later = left - 2 * turns as u32;
        at.advanced(0, turns * period).with_left(0)
    }

    /// A write anywhere, and where the processor goes on.
    #[inline(never)]
    fn write(&mut self, address: u32, value: u8, at: At) -> At {
        if address & 0x1000 != 0 {
            self.banks.write(address, value);
        } else if address & 0x80 == 0 {
            let at = at.with_cycle(self.tia.write(address, value, at.cycle()));
            return if self.tia.frame_ended {
                at.with_left(0)
            } else {
                at
            };
        } else if address & 0x200 == 0 {
            self.riot.ram[(address & 0x7f) as usize] = value;
        } else {
            self.riot.write(address, value, at.cycle());
        }
        at
    }
}

/// An instruction that does not lie whole in one piece of the cartridge, or not in the piece of the last one.
#[cold]
#[inline(never)]
fn fetch_bytes(bus: &mut Machine, at: At, _operand: u32, a: u32, x_y: u32, zero_negative: u32) {
    let pc = at.pc();
    bus.banks.enter(pc);
    let instruction = bus.banks.instruction(&bus.image, pc).unwrap_or_else(|| {
        let mut byte = |address| bus.read(address & 0xffff, 0, at.with_pc(0)).0 as u8;
        let mut bytes = [byte(pc), 0, 0];
        for index in 1..usize::from(opcodes::LENGTH[usize::from(bytes[0])]) {
            bytes[index] = byte(pc + index as u32);
        }
        Instruction::new(bytes)
    });
    let (at, operand) = (at.with_pc(pc), instruction.operand());
    instruction.handler()(bus, at, operand, a, x_y, zero_negative);
}
