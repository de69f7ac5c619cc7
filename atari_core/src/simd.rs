//! [`Simd`]: which vector instructions this processor has.

use std::{env, fmt, sync::OnceLock};

/// The instructions that kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// Those that every processor has.
    Portable,
    /// AVX2.
    Avx2,
    /// AVX-512 with its byte permutations (VBMI), beside AVX2.
    Avx512,
}

impl Simd {
    /// The best that this processor has, and that the environment variable `ATARI_CORE_SIMD` allows: `portable` or
    /// `avx2` hold a process to them, as on another processor. It is read once.
    #[must_use]
    pub fn detect() -> Self {
        static BEST: OnceLock<Simd> = OnceLock::new();
        *BEST.get_or_init(|| {
            let allowed = match env::var("ATARI_CORE_SIMD").as_deref() {
                Ok("portable") => Self::Portable,
                Ok("avx2") => Self::Avx2,
                _ => Self::Avx512,
            };
            Self::of_processor().min(allowed)
        })
    }

    fn of_processor() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                let has_512 = is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi");
                return if has_512 { Self::Avx512 } else { Self::Avx2 };
            }
        }
        Self::Portable
    }

    /// All that this processor has, the portable one first.
    #[must_use]
    pub fn available() -> &'static [Self] {
        match Self::detect() {
            Self::Portable => &[Self::Portable],
            Self::Avx2 => &[Self::Portable, Self::Avx2],
            Self::Avx512 => &[Self::Portable, Self::Avx2, Self::Avx512],
        }
    }

    /// Whether this processor has them: whoever names them by hand may be wrong.
    pub(crate) fn is_available(self) -> bool {
        Self::available().contains(&self)
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        })
    }
}
