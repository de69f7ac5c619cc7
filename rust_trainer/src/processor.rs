//! What this processor computes with: chosen once, from what it has, what the system permits, and what the environment
//! allows. Nothing is measured for it, since the choice decides the last bits of results; `doctor` measures whether it is
//! the fastest.

use std::{
    env,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use learner_kernels::{Instructions, Kernels, TileUnit, bf16};
use tch::Kind;

static LEFT_TO_LIBTORCH: AtomicBool = AtomicBool::new(false);

/// The widest set of instructions that the processor has and that the variables allow by which libtorch and oneDNN are
/// held to narrower ones: `ATEN_CPU_CAPABILITY` and `ONEDNN_MAX_CPU_ISA`.
pub(crate) fn instructions() -> Instructions {
    static INSTRUCTIONS: OnceLock<Instructions> = OnceLock::new();
    *INSTRUCTIONS.get_or_init(|| Instructions::widest().min(allowed()))
}

fn allowed() -> Instructions {
    let value = |name: &str| env::var(name).unwrap_or_default().to_lowercase();
    let by_libtorch = by_libtorch(&value("ATEN_CPU_CAPABILITY"));
    by_libtorch.min(by_onednn(&value("ONEDNN_MAX_CPU_ISA")))
}

fn by_libtorch(capability: &str) -> Instructions {
    match capability {
        "default" => Instructions::Plain,
        "avx2" => Instructions::Avx2,
        _ => Instructions::Amx,
    }
}

/// The names of oneDNN's documentation; it takes what it does not know for all.
fn by_onednn(isa: &str) -> Instructions {
    match isa {
        "sse41" | "avx" => Instructions::Plain,
        "avx2" | "avx2_vnni" | "avx2_vnni_2" => Instructions::Avx2,
        "avx512_core" | "avx512_core_vnni" => Instructions::Avx512,
        "avx512_core_bf16" | "avx512_core_fp16" | "avx10_1_512" => Instructions::Avx512Bf16,
        _ => Instructions::Amx,
    }
}

/// Has libtorch compute what our kernels would, or no longer, for a measurement of both.
pub fn leave_to_libtorch(is_left: bool) {
    LEFT_TO_LIBTORCH.store(is_left, Ordering::Relaxed);
}

pub(crate) fn is_left_to_libtorch() -> bool {
    LEFT_TO_LIBTORCH.load(Ordering::Relaxed)
}

/// The set for our kernels, where libtorch's are not the faster ones, as they are without wide vectors.
fn for_kernels() -> Option<Instructions> {
    Some(instructions()).filter(|set| !is_left_to_libtorch() && *set != Instructions::Plain)
}

/// Our kernels of float32 layers, where they compute them.
pub(crate) fn float32() -> Option<&'static Kernels<f32>> {
    for_kernels().and_then(Kernels::float32)
}

/// Our kernels of bfloat16 layers, where they compute them. By AVX-512 they are slower than those of float32 on Intel's
/// processors (44 and 79 ms of a minibatch forward and backward, where float32 takes 28 and 53), whose way is AMX.
pub(crate) fn bfloat16() -> Option<&'static Kernels<bf16>> {
    for_kernels()
        .and_then(Kernels::bfloat16)
        .filter(|_| is_amd())
}

/// What multiplies tiles, for trunks of bfloat16, where they compute them.
#[must_use]
pub fn tiles() -> Option<TileUnit> {
    #[cfg(test)]
    if tests::EMULATES_TILES.get() {
        return Some(TileUnit::emulated());
    }
    for_kernels()
        .filter(|set| *set == Instructions::Amx)
        .and_then(|_| TileUnit::processor())
}

/// Whether our kernels compute the layers that fit them in `kind` on this processor, and not libtorch.
#[must_use]
pub fn has_kernels(kind: Kind) -> bool {
    match kind {
        Kind::Float => float32().is_some(),
        Kind::BFloat16 => bfloat16().is_some() || tiles().is_some(),
        _ => false,
    }
}

/// Whether learning is faster in bfloat16 than in float32. Without instructions for it oneDNN emulates products of
/// bfloat16, at half the speed of float32.
pub(crate) fn is_faster_in_bf16() -> bool {
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("bf16");
    #[cfg(not(target_arch = "aarch64"))]
    return has_kernels(Kind::BFloat16);
}

/// What convolves images in `kind`, for people.
pub(crate) fn name(kind: Kind) -> &'static str {
    match instructions() {
        _ if !has_kernels(kind) => "libtorch",
        Instructions::Amx if kind == Kind::BFloat16 => "AMX",
        Instructions::Avx2 => "AVX2",
        _ => "AVX-512",
    }
}

#[cfg(target_arch = "x86_64")]
fn is_amd() -> bool {
    let [_, first, third, second] = cpuid(0);
    let name = [first, second, third].map(u32::to_le_bytes);
    name.as_flattened() == b"AuthenticAMD"
}

/// What the processor says of itself: `eax`, `ebx`, `ecx`, `edx`.
#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32) -> [u32; 4] {
    #[allow(unused_unsafe, reason = "older compilers ask for it")]
    #[allow(unsafe_code, reason = "asks the processor")]
    // SAFETY: all processors of this kind have the instruction.
    let said = unsafe { std::arch::x86_64::__cpuid_count(leaf, 0) };
    [said.eax, said.ebx, said.ecx, said.edx]
}

#[cfg(not(target_arch = "x86_64"))]
fn is_amd() -> bool {
    false
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Networks that are made in this thread multiply emulated tiles.
        pub(crate) static EMULATES_TILES: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn what_holds_libtorch_or_onednn_back_holds_us_back() {
        assert_eq!(by_libtorch("avx2"), Instructions::Avx2);
        assert_eq!(by_libtorch("default"), Instructions::Plain);
        assert_eq!(by_libtorch("avx512"), Instructions::Amx);
        for (isa, allowed) in [
            ("", Instructions::Amx),
            ("sse41", Instructions::Plain),
            ("avx2_vnni", Instructions::Avx2),
            ("avx512_core", Instructions::Avx512),
            ("avx512_core_bf16", Instructions::Avx512Bf16),
            ("avx512_core_amx", Instructions::Amx),
        ] {
            assert_eq!(by_onednn(isa), allowed, "{isa}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_processor_is_the_one_that_linux_names() {
        let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let has = |word| facts.split_whitespace().any(|fact| fact == word);
        assert_eq!(is_amd(), has("AuthenticAMD"));
        let has_tiles = has("amx_bf16") && has("amx_tile");
        if allowed() == Instructions::Amx {
            assert_eq!(instructions() == Instructions::Amx, has_tiles);
            assert_eq!(
                bfloat16().is_some(),
                has("avx512_bf16") && has("AuthenticAMD")
            );
        }
    }
}
