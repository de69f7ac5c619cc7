//! Which part of a ROM the processor sees, and the RAM that some cartridges carry.
//!
//! The 4 KiB of the cartridge are eight windows of 1 KiB (four for each state of address line 13, which only `FE`
//! looks at). An access that can neither switch nor touch cartridge RAM is one look-up; the others come here.

use super::{IMAGE, Image, Mapper};
use crate::cpu::Instruction;

/// What bank switching remembers.
#[derive(Clone)]
pub(crate) struct Banks {
    mapper: Mapper,
    /// Where each window begins in the image.
    pub(crate) windows: [u16; 8],
    /// Below this offset in the 4 KiB an access may touch RAM.
    pub(crate) ram_below: u32,
    pub(crate) ram: [u8; 128],
    /// From this offset in the 4 KiB an access may switch.
    switches: u32,
    /// `windows` by bits 10 to 13 of an address.
    slices: [u16; 16],
    code: Code,
}

/// A piece of the program in which every instruction lies whole, in one window, clear of RAM and switches.
#[derive(Clone, Default)]
struct Code {
    /// Its first address, as the program counter says it.
    first: u32,
    /// Addresses at which an instruction may begin.
    length: u32,
    /// Where it lies in the image.
    offset: u32,
}

/// From this offset in the 4 KiB an access may switch, in cartridges that have a switch.
const SWITCHES: u32 = 0xfe0;

impl Banks {
    /// As the console finds the cartridge at power-on.
    pub(crate) fn new(mapper: Mapper) -> Self {
        let mut banks = Self {
            mapper,
            windows: [0; 8],
            ram_below: match mapper {
                Mapper::F8Ram | Mapper::F6Ram => 0x100,
                _ => 0,
            },
            ram: [0; 128],
            switches: if mapper == Mapper::Flat {
                0x1000
            } else {
                SWITCHES
            },
            slices: [0; 16],
            code: Code::default(),
        };
        match mapper {
            Mapper::F8 | Mapper::F8Ram | Mapper::Dpc => banks.select(1),
            Mapper::E0 => {
                banks.windows = [
                    0x1000, 0x1400, 0x1800, 0x1c00, 0x1000, 0x1400, 0x1800, 0x1c00,
                ];
            }
            Mapper::Fe => banks.windows = [0x1000, 0x1400, 0x1800, 0x1c00, 0, 0x400, 0x800, 0xc00],
            Mapper::Flat | Mapper::F6 | Mapper::F6Ram => banks.select(0),
        }
        banks.refresh();
        banks
    }

    /// After a change of `windows`: everything that follows from them.
    pub(crate) fn refresh(&mut self) {
        self.slices = std::array::from_fn(|bits| self.windows[bits & 3 | bits >> 1 & 4]);
        self.code.length = 0;
    }

    fn select(&mut self, bank: u16) {
        for (index, window) in self.windows.iter_mut().enumerate() {
            *window = (bank << 12) | ((index as u16 & 3) << 10);
        }
        self.refresh();
    }

    /// Where an address of the cartridge lies in the image.
    #[inline(always)]
    pub(crate) fn offset(&self, address: u32) -> usize {
        let slice = self.slices[(address >> 10 & 15) as usize];
        (usize::from(slice) + (address & 0x3ff) as usize) & (IMAGE - 1)
    }

    /// The instruction at the program counter, if that is in the piece last entered.
    #[inline(always)]
    pub(crate) fn instruction(&self, image: &Image, pc: u32) -> Option<Instruction> {
        let into = pc.wrapping_sub(self.code.first);
        if into >= self.code.length {
            return None;
        }
        Some(image.instructions[(self.code.offset + into) as usize & (IMAGE - 1)])
    }

    /// Enters the piece of the program that an address lies in, if there is one.
    pub(crate) fn enter(&mut self, pc: u32) {
        let in_bank = pc & 0xfff;
        let window = match self.mapper {
            Mapper::E0 | Mapper::Fe => in_bank & 0xc00..(in_bank & 0xc00) + 0x400,
            _ => 0..0x1000,
        };
        let start = window.start.max(self.ram_below);
        let end = window.end.min(self.switches) - 2;
        self.code.length = 0;
        if pc & 0x1000 != 0 && (start..end).contains(&in_bank) {
            let first = pc & !0xfff | start;
            self.code = Code {
                first,
                length: end - start,
                offset: self.offset(first) as u32,
            };
        }
    }

    /// The byte at an address where an access neither switches nor touches RAM.
    #[inline(always)]
    pub(crate) fn plain(&self, image: &Image, address: u32) -> Option<u8> {
        let in_bank = address & 0xfff;
        let plain = address & 0x1000 != 0
            && in_bank.wrapping_sub(self.ram_below) < self.switches - self.ram_below;
        plain.then(|| image.bytes[self.offset(address)])
    }

    /// A read of the cartridge.
    #[inline(always)]
    pub(crate) fn read(&mut self, image: &Image, address: u32) -> u8 {
        match self.plain(image, address) {
            Some(byte) => byte,
            None => self.read_switching(image, address),
        }
    }

    #[inline(never)]
    fn read_switching(&mut self, image: &Image, address: u32) -> u8 {
        self.switch(address);
        let at = address & 0xfff;
        if at < self.ram_below {
            return if at < 0x80 {
                0
            } else {
                self.ram[(at & 0x7f) as usize]
            };
        }
        image.bytes[self.offset(address)]
    }

    /// A write: it switches as a read does, or goes to RAM.
    #[inline(never)]
    pub(crate) fn write(&mut self, address: u32, value: u8) {
        self.switch(address);
        let at = address & 0xfff;
        if at < 0x80 && at < self.ram_below {
            self.ram[at as usize] = value;
        }
    }

    fn switch(&mut self, address: u32) {
        let at = address & 0xfff;
        match (self.mapper, at) {
            (Mapper::F8 | Mapper::F8Ram | Mapper::Dpc, 0xff8..=0xff9) => {
                self.select((at - 0xff8) as u16);
            }
            (Mapper::F6 | Mapper::F6Ram, 0xff6..=0xff9) => self.select((at - 0xff6) as u16),
            (Mapper::E0, 0xfe0..=0xff7) => {
                let window = ((at - 0xfe0) >> 3) as usize;
                self.windows[window] = ((at & 7) << 10) as u16;
                self.windows[window | 4] = self.windows[window];
                self.refresh();
            }
            _ => {}
        }
    }
}
