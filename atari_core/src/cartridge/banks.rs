//! Which part of a ROM the processor sees, and the RAM or the chip that some cartridges carry.
//!
//! The 4 KiB of the cartridge are eight windows of 1 KiB (four for each state of address line 13, which only `FE`
//! looks at). An access that can neither switch nor touch RAM or chip is one look-up; the others come here.

use super::dpc::Dpc;
use super::{IMAGE, Image};
use crate::mapper::{Mapper, Windows, whole_bank};
use crate::state::{BadState, Tape};

/// What bank switching remembers.
#[derive(Clone)]
pub(crate) struct Banks {
    mapper: Mapper,
    /// Where each window begins in the image.
    windows: Windows,
    /// Below this offset in the 4 KiB an access may touch RAM, or the chip.
    ram_below: u32,
    pub(crate) ram: [u8; 128],
    dpc: Option<Dpc>,
    /// How many bytes from there on neither switch nor are RAM.
    plain_length: u32,
    /// By bits 10 to 14 of an address: what is added to it for its place in the image.
    slices: [u16; 32],
    piece: Piece,
}

/// The piece of the program that the processor is in ([`Mapper::piece`]).
#[derive(Clone, Default)]
struct Piece {
    /// The program counter less the position in the image.
    base: u32,
    /// Where in the image it begins.
    start: u32,
    /// At how many bytes of it an instruction may begin; 0: the processor is in none.
    length: u32,
}

impl Banks {
    /// As the console finds the cartridge at power-on.
    pub(crate) fn new(mapper: Mapper) -> Self {
        let mut banks = Self {
            mapper,
            windows: mapper.first_windows(),
            ram_below: mapper.ram_below(),
            ram: [0; 128],
            dpc: (mapper == Mapper::Dpc).then(Dpc::new),
            plain_length: mapper.switches() - mapper.ram_below(),
            slices: [0; 32],
            piece: Piece::default(),
        };
        banks.refresh();
        banks
    }

    /// Whether the cartridge carries RAM.
    pub(crate) fn has_ram(&self) -> bool {
        matches!(self.mapper, Mapper::F8Ram | Mapper::F6Ram)
    }

    /// Power on again: everything as at first, but what a chip holds.
    pub(crate) fn power_on(&mut self) {
        let mut dpc = self.dpc.take();
        if let Some(dpc) = &mut dpc {
            dpc.power_on();
        }
        *self = Self {
            dpc,
            ..Self::new(self.mapper)
        };
    }

    /// The cycles of the frame count from another one.
    pub(crate) fn rebase(&mut self, cycles: i32) {
        if let Some(dpc) = &mut self.dpc {
            dpc.rebase(cycles);
        }
    }

    /// After a change of `windows`: everything that follows from them.
    pub(crate) fn refresh(&mut self) {
        self.slices = std::array::from_fn(|bits| {
            let window = self.windows[bits & 3 | bits >> 1 & 4];
            window.wrapping_sub((bits as u16) << 10)
        });
        self.piece.length = 0;
    }

    fn select(&mut self, bank: u16) {
        self.windows = whole_bank(bank);
        self.refresh();
    }

    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>, cycle: i32) -> Result<(), BadState> {
        let windows = tape.number(&mut self.windows)?;
        tape.check(self.mapper.can_show(windows), "the cartridge")?;
        tape.number(&mut self.ram)?;
        match &mut self.dpc {
            Some(dpc) => dpc.walk(tape, cycle),
            None => Ok(()),
        }
    }

    /// Where an address of the cartridge lies in the image.
    #[inline(always)]
    pub(crate) fn offset(&self, address: u32) -> usize {
        let slice = self.slices[(address >> 10 & 31) as usize];
        (u32::from(slice).wrapping_add(address)) as usize & (IMAGE - 1)
    }

    /// The program counter at a position in the image, in the piece of program entered last.
    #[inline(always)]
    pub(crate) fn pc(&self, position: u32) -> u32 {
        (position + self.piece.base) & 0xffff
    }

    /// Where in the image an instruction at `pc` lies, if that is in the piece entered last.
    #[inline(always)]
    pub(crate) fn position(&self, pc: u32) -> Option<u32> {
        let position = pc.wrapping_sub(self.piece.base) & 0xffff;
        (position.wrapping_sub(self.piece.start) < self.piece.length).then_some(position)
    }

    /// Whether the windows were changed, or the processor left, since a piece was entered.
    #[inline(always)]
    pub(crate) fn is_outside(&self) -> bool {
        self.piece.length == 0
    }

    /// Enters the piece of the program that an address lies in, if there is one: where in the image it lies.
    pub(crate) fn enter(&mut self, pc: u32) -> Option<u32> {
        let in_bank = pc & 0xfff;
        let piece = self.mapper.piece(in_bank);
        let position = self.offset(pc) as u32;
        // A slice that lies in another window than its own may be barred from either.
        let is_barred = |at: u32| !self.mapper.piece(at).contains(&at);
        if pc & 0x1000 == 0 || is_barred(in_bank) || is_barred(position & 0xfff) {
            return None;
        }
        self.piece = Piece {
            base: pc.wrapping_sub(position) & 0xffff,
            start: position - (in_bank - piece.start),
            length: piece.end - piece.start,
        };
        Some(position)
    }

    /// Leaves the pieces of program for an address anywhere: the position that stands for it.
    pub(crate) fn leave(&mut self, pc: u32) -> u32 {
        self.piece = Piece {
            base: pc & 0x8000,
            ..Piece::default()
        };
        pc & 0x7fff
    }

    /// The byte at an address where an access neither switches nor touches RAM.
    #[inline(always)]
    pub(crate) fn plain(&self, image: &Image, address: u32) -> Option<u8> {
        let in_bank = address & 0xfff;
        let plain =
            address & 0x1000 != 0 && in_bank.wrapping_sub(self.ram_below) < self.plain_length;
        plain.then(|| image[self.offset(address)])
    }

    /// A read of the cartridge at a cycle of the frame.
    #[inline(always)]
    pub(crate) fn read(&mut self, image: &Image, address: u32, cycle: i32) -> u8 {
        match self.plain(image, address) {
            Some(byte) => byte,
            None => self.read_switching(image, address, cycle),
        }
    }

    #[inline(never)]
    fn read_switching(&mut self, image: &Image, address: u32, cycle: i32) -> u8 {
        self.switch(address);
        let at = address & 0xfff;
        if let Some(dpc) = &mut self.dpc {
            if at < self.ram_below {
                return dpc.read(image, at, cycle);
            }
            dpc.clock();
        } else if at < self.ram_below {
            return if at < 0x80 {
                0
            } else {
                self.ram[(at & 0x7f) as usize]
            };
        }
        image[self.offset(address)]
    }

    /// A write: it switches as a read does, or goes to RAM or to the chip.
    #[inline(never)]
    pub(crate) fn write(&mut self, address: u32, value: u8) {
        self.switch(address);
        let at = address & 0xfff;
        if let Some(dpc) = &mut self.dpc {
            dpc.clock();
            if (0x40..0x80).contains(&at) {
                dpc.write(at, value);
            }
        } else if at < 0x80 && at < self.ram_below {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_possible_where_a_switch_puts_them_and_nowhere_else() {
        for mapper in [
            Mapper::Flat,
            Mapper::F8,
            Mapper::F8Ram,
            Mapper::F6,
            Mapper::F6Ram,
            Mapper::E0,
            Mapper::Fe,
            Mapper::Dpc,
        ] {
            let mut banks = Banks::new(mapper);
            for step in 0..20_000_u32 {
                banks.switch(0x1fe0 + step * step % 31);
                let mut windows = banks.windows;
                assert!(mapper.can_show(windows), "{mapper:?}: {windows:?}");
                windows[(step & 7) as usize] ^= 1 << (step % 13 + 3);
                assert!(!mapper.can_show(windows), "{mapper:?}: {windows:?}");
            }
        }
    }
}
