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

use learner_kernels::{Instructions, Kernels, bf16};
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
        _ => Instructions::Avx512Bf16,
    }
}

/// The names of oneDNN's documentation; it takes what it does not know for all.
fn by_onednn(isa: &str) -> Instructions {
    match isa {
        "sse41" | "avx" => Instructions::Plain,
        "avx2" | "avx2_vnni" | "avx2_vnni_2" => Instructions::Avx2,
        "avx512_core" | "avx512_core_vnni" => Instructions::Avx512,
        _ => Instructions::Avx512Bf16,
    }
}

/// Has libtorch compute what our kernels would, or no longer, for a measurement of both.
pub fn leave_to_libtorch(is_left: bool) {
    LEFT_TO_LIBTORCH.store(is_left, Ordering::Relaxed);
}

/// The set for our kernels, where libtorch's are not the faster ones, as they are without wide vectors.
fn for_kernels() -> Option<Instructions> {
    let is_ours = !LEFT_TO_LIBTORCH.load(Ordering::Relaxed);
    Some(instructions()).filter(|set| is_ours && *set != Instructions::Plain)
}

/// Our kernels of float32 layers, where they compute them.
pub(crate) fn float32() -> Option<&'static Kernels<f32>> {
    for_kernels().and_then(Kernels::float32)
}

/// Our kernels of bfloat16 layers, where they compute them. By AVX-512 they are slower than those of float32 on Intel's
/// processors (44 and 79 ms of a minibatch forward and backward, where float32 takes 28 and 53), whose way is AMX, by
/// which oneDNN takes 11 and 28.
pub(crate) fn bfloat16() -> Option<&'static Kernels<bf16>> {
    for_kernels()
        .and_then(Kernels::bfloat16)
        .filter(|_| is_amd())
}

/// Whether our kernels compute the layers that fit them in `kind` on this processor, and not libtorch.
#[must_use]
pub fn has_kernels(kind: Kind) -> bool {
    match kind {
        Kind::Float => float32().is_some(),
        Kind::BFloat16 => bfloat16().is_some(),
        _ => false,
    }
}

/// Whether learning is faster in bfloat16 than in float32. Without instructions for it oneDNN emulates products of
/// bfloat16, at half the speed of float32.
pub(crate) fn is_faster_in_bf16() -> bool {
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("bf16");
    #[cfg(not(target_arch = "aarch64"))]
    return has_kernels(Kind::BFloat16) || has_amx();
}

/// What convolves images in `kind`, for people.
pub(crate) fn name(kind: Kind) -> &'static str {
    match instructions() {
        _ if kind == Kind::BFloat16 && !has_kernels(kind) && has_amx() => "AMX (oneDNN)",
        _ if !has_kernels(kind) => "libtorch",
        Instructions::Avx2 => "AVX2",
        _ => "AVX-512",
    }
}

/// Whether oneDNN may use AMX: the processor has it, the variables allow it, and the system grants it when it is asked.
#[cfg(target_arch = "x86_64")]
fn has_amx() -> bool {
    /// `ARCH_REQ_XCOMP_PERM` of Linux, and the number of the tiles' state.
    const REQUEST: [libc::c_long; 2] = [0x1023, 18];
    const AMX_BF16: u32 = 1 << 22;
    static HAS_AMX: OnceLock<bool> = OnceLock::new();
    *HAS_AMX.get_or_init(|| {
        let isa = env::var("ONEDNN_MAX_CPU_ISA").unwrap_or_default();
        let is_allowed = isa.is_empty() || isa.to_lowercase().contains("amx");
        is_allowed && instructions() == Instructions::Avx512Bf16 && cpuid(7)[3] & AMX_BF16 != 0 && {
            #[expect(unsafe_code, reason = "a request to the system")]
            // SAFETY: it changes nothing but what this process may use.
            let status = unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST[0], REQUEST[1]) };
            status == 0
        }
    })
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
fn has_amx() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn is_amd() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_libtorch_or_onednn_back_holds_us_back() {
        assert_eq!(by_libtorch("avx2"), Instructions::Avx2);
        assert_eq!(by_libtorch("default"), Instructions::Plain);
        assert_eq!(by_libtorch("avx512"), Instructions::Avx512Bf16);
        for (isa, allowed) in [
            ("", Instructions::Avx512Bf16),
            ("sse41", Instructions::Plain),
            ("avx2_vnni", Instructions::Avx2),
            ("avx512_core", Instructions::Avx512),
            ("avx512_core_bf16", Instructions::Avx512Bf16),
            ("avx512_core_amx", Instructions::Avx512Bf16),
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
        assert!(!has_amx() || has("amx_bf16"));
        if has("avx512_bf16") && allowed() == Instructions::Avx512Bf16 {
            assert_eq!(has_kernels(Kind::BFloat16), has("AuthenticAMD"));
        }
    }
}
