//! What multiplies tiles: the processor, or its emulator.

#[cfg(target_arch = "x86_64")]
use super::hardware;

/// What multiplies tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileUnit(pub(super) Unit);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    #[cfg(target_arch = "x86_64")]
    Processor,
    Emulated,
}

impl TileUnit {
    /// The processor's own tiles, where it has them and the system permits them to this process.
    #[must_use]
    pub fn processor() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return hardware::is_there().then_some(Self(Unit::Processor));
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }

    /// Plain Rust that computes the same bits, a thousand times slower.
    #[must_use]
    pub fn emulated() -> Self {
        Self(Unit::Emulated)
    }
}

/// Runs `$work` with `$tiles` of so many rows.
macro_rules! with_tiles {
    ($unit:expr, $rows:expr, $tiles:ident => $work:expr) => {
        match $unit.0 {
            #[cfg(target_arch = "x86_64")]
            $crate::amx::unit::Unit::Processor => {
                let $tiles = &mut $crate::amx::hardware::Hardware::new($rows)
                    .expect("a unit was made only where they are");
                $work
            }
            $crate::amx::unit::Unit::Emulated => {
                let $tiles = &mut $crate::amx::tiles::Emulated($rows);
                $work
            }
        }
    };
}
pub(super) use with_tiles;
