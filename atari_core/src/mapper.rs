//! The kinds of cartridges: how their banks are switched.

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
}
