//! Which instructions the processor has.

use crate::amx::TileUnit;

/// A set of instructions, narrowest first. Who has one has those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// Those of every processor: vectors only as far as the compiler finds them.
    Plain,
    /// AVX2 and FMA, which processors have together.
    Avx2,
    /// AVX-512 with its instructions for bytes.
    Avx512,
    /// The same with products of bfloat16.
    Avx512Bf16,
    /// The same with tiles of bfloat16, and the system's permission to use them.
    Amx,
}

impl Instructions {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Plain,
        Self::Avx2,
        Self::Avx512,
        Self::Avx512Bf16,
        Self::Amx,
    ];

    /// Whether this processor has it.
    #[must_use]
    pub fn is_there(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Self::Plain => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
            Self::Avx512Bf16 => Self::Avx512.is_there() && is_x86_feature_detected!("avx512bf16"),
            Self::Amx => Self::Avx512Bf16.is_there() && TileUnit::processor().is_some(),
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self == Self::Plain;
    }

    /// The widest that this processor has.
    #[must_use]
    pub fn widest() -> Self {
        let there = Self::ALL.into_iter().filter(|set| set.is_there());
        there.max().unwrap_or(Self::Plain)
    }
}
