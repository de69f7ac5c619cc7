//! The 6507 processor: registers ([`Registers`]), operations ([`operations`]), addressing modes ([`modes`]), and
//! the table that puts them together ([`opcodes`]).
//!
//! Timing: an instruction is one step. Its bus accesses count at the cycle at which it ends, which is where
//! the last access of a 6502 instruction falls.

mod decimal;
mod modes;
mod opcodes;
mod operations;
#[cfg(test)]
mod tests;

use crate::cartridge::{Image, SWITCHES};
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

/// The processor while it runs. Registers are wide so that nothing is masked before it is used; `FLAT` cartridges
/// are never switched.
pub(crate) struct Processor<'a, const FLAT: bool> {
    a: u32,
    x: u32,
    y: u32,
    sp: u32,
    pc: u32,
    /// Z is set when the low byte is 0, N when bit 7 or bit 15 is 1: most operations store their result and are done.
    zero_negative: u32,
    /// 0 or 1.
    carry: u32,
    /// 0 or [`flag::OVERFLOW`].
    overflow: u32,
    /// 0 or [`flag::DECIMAL`].
    decimal: u32,
    /// 0 or [`flag::INTERRUPT`].
    interrupt: u32,
    cycle: i32,
    /// Instructions that the frame may still take.
    budget: i32,
    /// The operand bytes of the instruction.
    operand: u32,
    /// The instruction is one after which the processor stands still.
    jammed: bool,
    bus: &'a mut Machine,
    image: &'a Image,
}

impl Machine {
    /// Runs until the TIA ends the frame or `budget` instructions are done.
    pub(crate) fn run<const FLAT: bool>(&mut self, image: &Image, budget: i32) {
        self.tia.frame_ended = false;
        let registers = self.cpu;
        let mut processor = Processor::<FLAT> {
            a: registers.a.into(),
            x: registers.x.into(),
            y: registers.y.into(),
            sp: registers.sp.into(),
            pc: registers.pc.into(),
            zero_negative: 0,
            carry: 0,
            overflow: 0,
            decimal: 0,
            interrupt: 0,
            cycle: registers.cycle,
            budget,
            operand: 0,
            jammed: false,
            bus: self,
            image,
        };
        processor.set_status(registers.p.into());
        while processor.budget > 0 {
            processor.budget -= 1;
            let opcode = processor.fetch();
            processor.execute(opcode);
            if processor.bus.tia.frame_ended | processor.jammed {
                break;
            }
        }
        let registers = Registers {
            a: processor.a as u8,
            x: processor.x as u8,
            y: processor.y as u8,
            sp: processor.sp as u8,
            p: processor.status() as u8,
            pc: processor.pc as u16,
            cycle: processor.cycle,
        };
        self.cpu = registers;
    }
}

impl<const FLAT: bool> Processor<'_, FLAT> {
    /// The opcode at the program counter; its operand bytes go to `operand`.
    #[inline(always)]
    fn fetch(&mut self) -> u8 {
        let at = if FLAT {
            if self.pc & 0x1000 == 0 {
                return self.fetch_bytes();
            }
            (self.pc & 0xfff) as usize
        } else {
            let in_bank = self.pc & 0xfff;
            // An instruction that may reach another window, a switch or cartridge RAM is read byte by byte.
            if self.pc & 0x1000 == 0
                || in_bank >= SWITCHES - 2
                || in_bank < self.bus.banks.ram_below
                || in_bank & 0x3ff > 0x3fd
            {
                return self.fetch_bytes();
            }
            self.bus.banks.offset(self.pc)
        };
        let image = self.image;
        self.operand = u32::from(image[at + 1]) | u32::from(image[at + 2]) << 8;
        image[at]
    }

    #[cold]
    #[inline(never)]
    fn fetch_bytes(&mut self) -> u8 {
        let opcode = self.read(self.pc & 0xffff, 0) as u8;
        self.operand = 0;
        for index in 1..opcodes::LENGTH[usize::from(opcode)] {
            let byte = self.read((self.pc + u32::from(index)) & 0xffff, 0);
            self.operand |= byte << (8 * (index - 1));
        }
        opcode
    }

    /// The byte at an address; `lines` is what the bus last carried, which floats into unconnected TIA bits.
    #[inline(always)]
    fn read(&mut self, address: u32, lines: u32) -> u32 {
        if address & 0x1000 != 0 {
            self.read_cartridge(address)
        } else if address & 0x80 == 0 {
            self.read_tia(address, lines)
        } else if address & 0x200 == 0 {
            self.bus.riot.ram[(address & 0x7f) as usize].into()
        } else {
            self.read_riot(address)
        }
    }

    #[inline(always)]
    fn read_cartridge(&mut self, address: u32) -> u32 {
        if FLAT {
            return self.image[(address & 0xfff) as usize].into();
        }
        let in_bank = address & 0xfff;
        if in_bank >= SWITCHES || in_bank < self.bus.banks.ram_below {
            self.bus.banks.read(self.image, address).into()
        } else {
            self.image[self.bus.banks.offset(address)].into()
        }
    }

    #[inline(always)]
    fn read_tia(&mut self, address: u32, lines: u32) -> u32 {
        let bus = &mut *self.bus;
        bus.tia.read(address, lines, self.cycle, &bus.input).into()
    }

    #[inline(never)]
    fn read_riot(&mut self, address: u32) -> u32 {
        if address & 0x1285 == 0x284 {
            self.skip_wait();
        }
        let bus = &mut *self.bus;
        bus.riot.read(address, self.cycle, &bus.input).into()
    }

    /// Most games wait for the end of the picture in `LDA INTIM` and a branch back to it. The cycles of the turns
    /// that change nothing are added at once.
    fn skip_wait(&mut self) {
        let in_bank = self.pc & 0xfff;
        let first = if FLAT {
            3
        } else {
            self.bus.banks.ram_below.max(3)
        };
        if self.pc & 0x1000 == 0 || in_bank < first || in_bank > SWITCHES - 3 {
            return;
        }
        let byte = |address: u32| {
            let at = if FLAT {
                (address & 0xfff) as usize
            } else {
                self.bus.banks.offset(address)
            };
            self.image[at]
        };
        // LDA, LDX, LDY, BIT; the branch goes back over its own two bytes and these three.
        if !matches!(byte(self.pc - 3), 0xad | 0xae | 0xac | 0x2c) || byte(self.pc + 1) != 0xfb {
            return;
        }
        let crosses_page = ((self.pc + 2) ^ (self.pc - 3)) & 0x100 != 0;
        let period = 4 + 3 + i32::from(crosses_page);
        let turns = self
            .bus
            .riot
            .skippable(self.cycle, byte(self.pc), period)
            .min(self.budget / 2);
        self.cycle += turns * period;
        self.budget -= turns * 2;
    }

    #[inline(always)]
    fn write(&mut self, address: u32, value: u32) {
        let value = value as u8;
        if address & 0x1000 != 0 {
            if !FLAT {
                self.bus.banks.write(address, value);
            }
        } else if address & 0x80 == 0 {
            self.cycle = self.bus.tia.write(address, value, self.cycle);
        } else if address & 0x200 == 0 {
            self.bus.riot.ram[(address & 0x7f) as usize] = value;
        } else {
            self.bus.riot.write(address, value, self.cycle);
        }
    }

    /// A read of page zero: RAM or TIA.
    #[inline(always)]
    fn read_zero_page(&mut self, address: u32, lines: u32) -> u32 {
        if address & 0x80 != 0 {
            self.bus.riot.ram[(address & 0x7f) as usize].into()
        } else {
            self.read_tia(address, lines)
        }
    }

    /// A write to page zero: RAM or TIA.
    #[inline(always)]
    fn write_zero_page(&mut self, address: u32, value: u32) {
        if address & 0x80 != 0 {
            self.bus.riot.ram[(address & 0x7f) as usize] = value as u8;
        } else {
            self.cycle = self.bus.tia.write(address, value as u8, self.cycle);
        }
    }

    /// The stack is page one, which is RAM and TIA once more.
    #[inline(always)]
    fn push(&mut self, value: u32) {
        self.write_zero_page(self.sp, value);
        self.sp = self.sp.wrapping_sub(1) & 0xff;
    }

    /// The stack pointer's old place is read first; what it held floats into the bits that the TIA leaves open.
    #[inline(always)]
    fn pull(&mut self, opcode: u32) -> u32 {
        let before = self.sp;
        self.sp = (before + 1) & 0xff;
        if self.sp & 0x80 != 0 {
            self.bus.riot.ram[(self.sp & 0x7f) as usize].into()
        } else {
            let lines = self.read_zero_page(before, opcode);
            self.read_tia(self.sp, lines)
        }
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
        negative | self.overflow | flag::ALWAYS | self.decimal | self.interrupt | zero | self.carry
    }

    #[inline(always)]
    fn set_status(&mut self, status: u32) {
        self.carry = status & flag::CARRY;
        self.interrupt = status & flag::INTERRUPT;
        self.decimal = status & flag::DECIMAL;
        self.overflow = status & flag::OVERFLOW;
        let negative = status & flag::NEGATIVE;
        self.zero_negative = if status & flag::ZERO != 0 {
            negative << 8
        } else {
            negative | 1
        };
    }
}
