//! The processor's tiles. Stable Rust has no intrinsics for them, but its assembler knows them.
//!
//! A product is one piece of assembler, so that nothing is expected of registers from one piece to the next: to the
//! compiler tiles are something that is overwritten. What is expected is the configuration of the thread.

use std::{arch::asm, arch::x86_64, marker::PhantomData, sync::OnceLock};

use super::tiles::{Factors, Step, Sums, Tiles};

/// The tiles of one thread, which are configured as long as this is there. Nothing else that uses tiles, such as oneDNN,
/// is called meanwhile.
pub struct Hardware(PhantomData<*mut ()>);

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
#[derive(Default)]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_of_row: [u16; 16],
    rows: [u8; 16],
}

/// Whether processor and system let this process use tiles of bfloat16. Asks Linux for the permission, which holds for
/// all threads of the process.
pub fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| has_tiles() && is_permitted())
}

/// Whether the processor has tiles of bfloat16, and the vectors around them, and the system keeps their state.
fn has_tiles() -> bool {
    const BF16_AND_TILES: u32 = 1 << 22 | 1 << 24;
    /// Of `xgetbv`: the configuration and the tiles themselves.
    const STATE: u64 = 1 << 17 | 1 << 18;
    let has_vectors = is_x86_feature_detected!("avx512bf16")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl");
    #[allow(unused_unsafe, reason = "older compilers ask for it")]
    // SAFETY: all processors of this kind have the instruction.
    let said = unsafe { x86_64::__cpuid_count(7, 0) };
    // SAFETY: with AVX-512 there is xgetbv.
    has_vectors
        && said.edx & BF16_AND_TILES == BF16_AND_TILES
        && unsafe { x86_64::_xgetbv(0) & STATE == STATE }
}

#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_ulong = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_ulong = 18;
    // SAFETY: it changes nothing but what this process may use.
    let status = unsafe {
        libc::syscall(
            libc::SYS_arch_prctl,
            ARCH_REQ_XCOMP_PERM,
            XFEATURE_XTILEDATA,
        )
    };
    status == 0
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

impl Hardware {
    /// Tiles whose sums and `a` have so many rows, up to 16; none where there are none.
    pub fn new(rows: usize) -> Option<Self> {
        if !is_there() {
            return None;
        }
        let mut to = Configuration {
            palette: 1,
            ..Configuration::default()
        };
        to.bytes_of_row[..8].fill(64);
        to.rows[..6].fill(rows as u8);
        to.rows[6..8].fill(16);
        // SAFETY: they are there, and the configuration is one that they take.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const to, options(nostack, readonly)) };
        Some(Self(PhantomData))
    }
}

impl Drop for Hardware {
    fn drop(&mut self) {
        // SAFETY: they are there. The kernel has less to put away without them.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}

impl Tiles for Hardware {
    const HARDWARE: bool = true;

    #[inline]
    unsafe fn product(&mut self, from: Sums, to: Sums, factors: Factors, steps: &[Step]) {
        let steps = steps.as_ptr_range();
        // `a` is said not to be needed soon in the nearest cache, where `b` stays: with both from the second, products
        // wait.
        asm!(
            "test {from}, {from}; jz 3f",
            "tileloadd tmm0, [{from} + {from_stride}]; tileloadd tmm1, [{from} + {from_stride} + 64]",
            "tileloadd tmm2, [{from_second} + {from_stride}]; tileloadd tmm3, [{from_second} + {from_stride} + 64]",
            "jmp 2f; 3:",
            "tilezero tmm0; tilezero tmm1; tilezero tmm2; tilezero tmm3",
            "2:",
            "mov {at_a:e}, dword ptr [{step}]; add {at_a}, {a}",
            "mov {at_b:e}, dword ptr [{step} + 4]; add {at_b}, {b}",
            "tileloadd tmm6, [{at_b} + {row}]",
            "tileloaddt1 tmm4, [{at_a} + {row}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm7, [{at_b} + {row} + 1024]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "add {at_a}, {a_second}; tileloaddt1 tmm5, [{at_a} + {row}]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {step}, 8; cmp {step}, {end}; jb 2b",
            "tilestored [{to} + {to_stride}], tmm0; tilestored [{to} + {to_stride} + 64], tmm1",
            "tilestored [{to_second} + {to_stride}], tmm2; tilestored [{to_second} + {to_stride} + 64], tmm3",
            from = in(reg) from.start,
            from_second = in(reg) from.start.wrapping_add(16 * from.stride),
            from_stride = in(reg) 4 * from.stride,
            to = in(reg) to.start,
            to_second = in(reg) to.start.wrapping_add(16 * to.stride),
            to_stride = in(reg) 4 * to.stride,
            a = in(reg) factors.a,
            a_second = in(reg) factors.a_second,
            b = in(reg) factors.b,
            row = in(reg) 64_usize,
            step = inout(reg) steps.start => _,
            end = in(reg) steps.end,
            at_a = out(reg) _,
            at_b = out(reg) _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
