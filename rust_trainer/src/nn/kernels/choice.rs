//! The kernels as they are compiled, and which of them this processor and the user let run.

use std::{env, sync::OnceLock};

use super::{
    Conv, Gradients,
    avx2::Avx2,
    avx512::Avx512,
    backward, forward,
    numbers::{BFloat16, Float32},
};

/// The functions that C++ calls: `csrc/convolution.cpp` says with what.
#[derive(Debug)]
#[repr(C)]
pub struct Kernels {
    forward: unsafe extern "C" fn(*const Conv, *const u8, *const f32, *const f32, *mut u8),
    backward: unsafe extern "C" fn(
        *const Conv,
        *const u8,
        *const f32,
        *const u8,
        *const u8,
        *const Gradients,
    ),
}

/// The kernels for one type of numbers, compiled for processors with `$features`.
macro_rules! compiled {
    ($features:literal, $numbers:ty) => {{
        #[target_feature(enable = $features)]
        unsafe extern "C" fn forward(
            conv: *const Conv,
            x: *const u8,
            weight: *const f32,
            bias: *const f32,
            y: *mut u8,
        ) {
            // SAFETY: `conv` is there and fits, and so does the processor; the tensors are what it says.
            unsafe { forward::forward::<$numbers>(&*conv, x, weight, bias, y.cast()) }
        }
        #[target_feature(enable = $features)]
        unsafe extern "C" fn backward(
            conv: *const Conv,
            x: *const u8,
            weight: *const f32,
            y: *const u8,
            of_y: *const u8,
            of: *const Gradients,
        ) {
            // SAFETY: as in `forward`.
            unsafe {
                backward::backward::<$numbers>(&*conv, x, weight, y.cast(), of_y.cast(), &*of);
            }
        }
        Kernels { forward, backward }
    }};
}

static AVX2: Kernels = compiled!("avx2,fma", Float32<Avx2>);
static AVX512: Kernels = compiled!("avx512f,avx512bw", Float32<Avx512>);
static AVX512_BF16: Kernels = compiled!("avx512f,avx512bw,avx512bf16", BFloat16);

/// An instruction set that there are kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX2 and FMA, float32 alone.
    Avx2,
    /// AVX-512, and bfloat16 with `avx512_bf16`.
    Avx512,
}

static WIDEST: OnceLock<Option<Instructions>> = OnceLock::new();

impl Instructions {
    /// The widest that the processor has and that `ATEN_CPU_CAPABILITY`, by which libtorch is held to
    /// narrower ones, allows: with `avx2` no wider than that, with `default` none.
    pub fn widest() -> Option<Self> {
        *WIDEST.get_or_init(|| {
            let allowed: &[Self] = match env::var("ATEN_CPU_CAPABILITY").as_deref() {
                Ok("default") => &[],
                Ok("avx2") => &[Self::Avx2],
                _ => &[Self::Avx512, Self::Avx2],
            };
            allowed.iter().copied().find(|set| set.is_there())
        })
    }

    /// Has there be none. Whether nobody has asked for the [widest](Self::widest) before.
    pub fn use_none() -> bool {
        WIDEST.set(None).is_ok()
    }

    /// Whether the processor has it.
    pub fn is_there(self) -> bool {
        match self {
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
        }
    }

    /// The kernels in this set for a convolution that [fits](Conv::fits), on a processor that has it.
    pub fn kernels(self, bfloat16: bool) -> Option<&'static Kernels> {
        match (self, bfloat16) {
            (Self::Avx2, false) => Some(&AVX2),
            (Self::Avx2, true) => None,
            (Self::Avx512, false) => Some(&AVX512),
            (Self::Avx512, true) => is_x86_feature_detected!("avx512bf16").then_some(&AVX512_BF16),
        }
    }
}
