//! The kinds of cartridges: how their banks are switched.

use std::ops::Range;

/// How a cartridge shows a ROM larger than the 4 KiB that the processor can address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapper {
    /// 2 or 4 KiB, nothing is switched.
    Flat,
    /// 8 KiB, two banks, switched by an access to $1FF8 and $1FF9.
    F8,
    /// `F8` with 128 bytes of RAM: written at $1000, read at $1080 (Atari's "Superchip").
    F8Ram,
    /// 16 KiB, four banks, $1FF6 to $1FF9.
    F6,
    /// `F6` with 128 bytes of RAM.
    F6Ram,
    /// Parker Brothers: 8 KiB in 1 KiB slices; three of four windows are chosen by $1FE0 to $1FF7.
    E0,
    /// Activision: 8 KiB, the bank is address line 13 of what a subroutine call or return puts on the bus.
    Fe,
    /// Pitfall II: 8 KiB of program as `F8`, and a chip of its own for graphics and music, whose 2 KiB of
    /// display data follow the program.
    Dpc,
}

impl Mapper {
    /// Whether a ROM can be so long.
    pub(crate) fn fits(self, length: usize) -> bool {
        match self {
            Mapper::Flat => length == 2048 || length == 4096,
            Mapper::F8 | Mapper::F8Ram | Mapper::E0 | Mapper::Fe => length == 8192,
            Mapper::F6 | Mapper::F6Ram => length == 16384,
            Mapper::Dpc => (10240..=10496).contains(&length),
        }
    }

    /// Below this offset in the 4 KiB an access may touch RAM, or the chip.
    pub(crate) fn ram_below(self) -> u32 {
        match self {
            Mapper::Dpc => 0x80,
            Mapper::F8Ram | Mapper::F6Ram => 0x100,
            _ => 0,
        }
    }

    /// From this offset in the 4 KiB an access may switch, or draw a random number of the chip's.
    pub(crate) fn switches(self) -> u32 {
        match self {
            Mapper::Flat => 0x1000,
            Mapper::Dpc => 0xfc0,
            _ => 0xfe0,
        }
    }

    /// Where around an offset in the 4 KiB an instruction may begin so that it and the byte after it lie in one window,
    /// clear of RAM and switches: what is run from there needs no look at the addresses of its bytes.
    pub(crate) fn piece(self, in_bank: u32) -> Range<u32> {
        let window = match self {
            Mapper::E0 | Mapper::Fe => in_bank & 0xc00..(in_bank & 0xc00) + 0x400,
            _ => 0..0x1000,
        };
        window.start.max(self.ram_below())..window.end.min(self.switches()) - 3
    }

    /// Where in the ROM each window begins at power on.
    pub(crate) fn first_windows(self) -> Windows {
        match self {
            Mapper::Flat | Mapper::F6 | Mapper::F6Ram => whole_bank(0),
            Mapper::F8 | Mapper::F8Ram | Mapper::E0 | Mapper::Dpc => whole_bank(1),
            Mapper::Fe => [0x1000, 0x1400, 0x1800, 0x1c00, 0, 0x400, 0x800, 0xc00],
        }
    }

    /// Whether the switches can put the windows there: pieces of program rely on that, and the numbers of a saved state
    /// may be any.
    pub(crate) fn can_show(self, windows: Windows) -> bool {
        let is_one_of = |count| (0..count).any(|bank| windows == whole_bank(bank));
        match self {
            Mapper::Flat => is_one_of(1),
            Mapper::F8 | Mapper::F8Ram | Mapper::Dpc => is_one_of(2),
            Mapper::F6 | Mapper::F6Ram => is_one_of(4),
            Mapper::E0 => {
                let (low, high) = windows.split_at(4);
                let is_slice = |window: &u16| window & 0x3ff == 0 && *window < 0x2000;
                low == high && low.iter().all(is_slice) && low[3] == 0x1c00
            }
            Mapper::Fe => windows == self.first_windows(),
        }
    }
}

/// Where in the ROM each window of 1 KiB begins: four for each state of address line 13, which only [`Mapper::Fe`] looks at.
pub(crate) type Windows = [u16; 8];

/// The windows onto a bank of 4 KiB, in its own order.
pub(crate) fn whole_bank(bank: u16) -> Windows {
    std::array::from_fn(|index| (bank << 12) | ((index as u16 & 3) << 10))
}
