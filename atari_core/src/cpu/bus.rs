//! What the processor asks of the bus less often: any byte anywhere, loops that wait for the timer, code that lies
//! astride. These are called and not inlined; they take values, because the fields of a [`Processor`] that was lent
//! to them would have to live in memory.

use super::{At, Instruction, Pointer, Processor, Registers, opcodes};
use crate::machine::Machine;

impl Machine {
    /// Writes back what the processor holds: a chain is at its end.
    #[inline(never)]
    pub(super) fn pause(&mut self, pointer: Pointer, at: At, a: u32, x_y: u32, zero_negative: u32) {
        let processor = Processor::resume(self, pointer, at, a, x_y, zero_negative);
        let registers = Registers {
            a: processor.a as u8,
            x: processor.x as u8,
            y: processor.y as u8,
            sp: processor.bus.held.sp as u8,
            p: processor.status() as u8,
            pc: processor.pc() as u16,
            cycle: processor.at.cycle(),
        };
        self.cpu = registers;
    }

    /// The program counter.
    #[inline(always)]
    pub(super) fn pc(&self, pointer: Pointer) -> u32 {
        self.banks.pc(self.program.position(pointer))
    }

    /// The byte at an address, and when the processor goes on.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        address: u32,
        lines: u32,
        pointer: Pointer,
        mut at: At,
    ) -> (u32, At) {
        // Most games wait for the end of the picture in `LDA INTIM` and a branch back to it; the turns of that loop
        // change nothing.
        if address & 0x1285 == 0x284 {
            at = self.skip_wait(pointer, at, address);
        }
        (self.byte(address, lines, at.cycle()).into(), at)
    }

    /// The byte at an address at a cycle.
    #[inline(always)]
    fn byte(&mut self, address: u32, lines: u32, cycle: i32) -> u8 {
        if address & 0x1000 != 0 {
            self.banks.read(&self.program.bytes, address, cycle)
        } else if address & 0x80 == 0 {
            self.tia.read(address, lines, cycle, &self.input)
        } else if address & 0x200 == 0 {
            self.riot.ram[(address & 0x7f) as usize]
        } else {
            self.riot.read(address, cycle, &self.input)
        }
    }

    /// Leaves out what passes after a load of `address`, which is INTIM, when a branch back to that load follows it.
    fn skip_wait(&mut self, pointer: Pointer, at: At, address: u32) -> At {
        let pc = self.pc(pointer);
        let byte = |ahead: u32| {
            let address = pc.wrapping_add(ahead).wrapping_sub(3);
            self.banks.plain(&self.program.bytes, address)
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
        at.later(turns * period).with_left(0)
    }

    /// A write anywhere, and when the processor goes on.
    #[inline(never)]
    pub(super) fn write(&mut self, address: u32, value: u8, at: At) -> At {
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

/// Goes on at the program counter where the instruction there is not one of the piece entered last.
#[cold]
#[inline(never)]
pub(super) fn fetch(
    bus: &mut Machine,
    pointer: Pointer,
    at: At,
    a: u32,
    x_y: u32,
    zero_negative: u32,
) {
    let pc = bus.pc(pointer);
    let (pointer, handler) = if let Some(position) = bus.banks.enter(pc) {
        let pointer = bus.program.at(position);
        (pointer, pointer.handler())
    } else {
        let mut byte = |address| bus.byte(address & 0xffff, 0, at.cycle());
        let mut bytes = [byte(pc), 0, 0];
        for index in 1..usize::from(opcodes::LENGTH[usize::from(bytes[0])]) {
            bytes[index] = byte(pc + index as u32);
        }
        let instruction = Instruction::anywhere(bytes);
        bus.held.operand = instruction.operand.into();
        let position = bus.banks.leave(pc);
        (bus.program.at(position), instruction.handler())
    };
    handler(bus, pointer, at, a, x_y, zero_negative);
}
