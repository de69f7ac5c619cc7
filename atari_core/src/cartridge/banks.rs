//! Which part of a ROM the processor sees, and the RAM that some cartridges carry.
//!
//! The 4 KiB of the cartridge are eight windows of 1 KiB (four for each state of address line 13, which only `FE`
//! looks at). An access that can neither switch nor touch cartridge RAM is one look-up; the others come here.

use super::{IMAGE, Image, Mapper};

/// What bank switching remembers.
#[derive(Clone)]
pub(crate) struct Banks {
    mapper: Mapper,
    /// Where each window begins in the image.
    pub(crate) windows: [u16; 8],
    /// Below this offset in the 4 KiB an access may touch RAM.
    pub(crate) ram_below: u32,
    pub(crate) ram: [u8; 128],
}

/// From this offset in the 4 KiB an access may switch.
pub(crate) const SWITCHES: u32 = 0xfe0;

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
        banks
    }

    /// Whether nothing is ever switched: then an address is an offset in the image.
    pub(crate) fn flat(&self) -> bool {
        self.mapper == Mapper::Flat
    }

    fn select(&mut self, bank: u16) {
        for (index, window) in self.windows.iter_mut().enumerate() {
            *window = (bank << 12) | ((index as u16 & 3) << 10);
        }
    }

    /// Where an address of the cartridge lies in the image.
    #[inline(always)]
    pub(crate) fn offset(&self, address: u32) -> usize {
        let window = self.windows[((address >> 10) & 3 | (address >> 11) & 4) as usize];
        (usize::from(window) + (address & 0x3ff) as usize) & (IMAGE - 1)
    }

    /// A read that may switch or touch RAM.
    #[inline(never)]
    pub(crate) fn read(&mut self, image: &Image, address: u32) -> u8 {
        self.switch(address);
        let at = address & 0xfff;
        if at < self.ram_below {
            return if at < 0x80 {
                0
            } else {
                self.ram[(at & 0x7f) as usize]
            };
        }
        image[self.offset(address)]
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
            }
            _ => {}
        }
    }
}
