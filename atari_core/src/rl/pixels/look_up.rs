//! Tables of 128 bytes looked up for each pixel: a screen's colours in gray, say.

use super::palette::Table;
use crate::simd::Simd;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512i, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256,
    _mm256_sub_epi8, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8,
    _mm512_permutex2var_epi8, _mm512_srli_epi16,
};

impl Simd {
    /// Writes, for each palette entry of a screen, what a table has for it.
    pub fn look_up(self, table: &Table, screen: &[u8], out: &mut [u8]) {
        self.look_up_colours(&table.colours, screen, out);
        if table.has_lost(screen) {
            for (out, &entry) in out.iter_mut().zip(screen) {
                *out = table.at(entry);
            }
        }
    }

    /// By the halves of the entries: the odd ones as if they were even.
    fn look_up_colours(self, table: &[u8; 128], screen: &[u8], out: &mut [u8]) {
        let done = match self {
            Self::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => self.checked(|| {
                #[expect(unsafe_code, reason = "needs AVX2")]
                // SAFETY: `checked` calls this only where there is AVX2.
                unsafe {
                    look_up_avx2(table, screen, out)
                }
            }),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => self.checked(|| {
                #[expect(unsafe_code, reason = "needs AVX-512")]
                // SAFETY: `checked` calls this only where there are AVX-512F, BW and VBMI.
                unsafe {
                    look_up_avx512(table, screen, out)
                }
            }),
            #[cfg(not(target_arch = "x86_64"))]
            _ => 0,
        };
        for (out, colour) in out.iter_mut().zip(screen).skip(done) {
            *out = table[usize::from(colour >> 1)];
        }
    }

    /// Calls a kernel if this processor has its instructions.
    fn checked(self, kernel: impl FnOnce() -> usize) -> usize {
        if self.is_available() { kernel() } else { 0 }
    }
}

/// As many whole vectors as there are; returns how many bytes those were.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn look_up_avx2(table: &[u8; 128], screen: &[u8], out: &mut [u8]) -> usize {
    let parts = parts_avx2(table);
    let (screen, out) = (screen.as_chunks::<32>().0, out.as_chunks_mut::<32>().0);
    for (screen, out) in screen.iter().zip(out.iter_mut()) {
        // SAFETY: 32 bytes.
        let colours = unsafe { _mm256_loadu_si256(screen.as_ptr().cast()) };
        let found = found_avx2(&parts, colours);
        // SAFETY: 32 bytes.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), found) };
    }
    32 * screen.len().min(out.len())
}

/// The eighths of a table of 128 bytes, each twice.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads vectors")]
pub(super) fn parts_avx2(table: &[u8; 128]) -> [__m256i; 8] {
    let mut parts = [_mm256_setzero_si256(); 8];
    for (part, entries) in parts.iter_mut().zip(table.as_chunks::<16>().0) {
        // SAFETY: 16 bytes.
        *part = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) });
    }
    parts
}

/// What a table has for 32 colours. A byte shuffle looks up 16 entries and gives 0 for indices with the top bit set: eight
/// of them, each with the indices moved so that its 16 are in range.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn found_avx2(parts: &[__m256i; 8], colours: __m256i) -> __m256i {
    let index = _mm256_and_si256(_mm256_srli_epi16::<1>(colours), _mm256_set1_epi8(0x7f));
    let mut found = _mm256_setzero_si256();
    for (part, entries) in parts.iter().enumerate() {
        // Into 0..16 for this part's indices; below wraps to 0x80 and above, and above saturates there.
        let moved = _mm256_sub_epi8(index, _mm256_set1_epi8(16 * part as i8));
        let moved = _mm256_adds_epu8(moved, _mm256_set1_epi8(0x70));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(*entries, moved));
    }
    found
}

/// All bytes; returns how many those were.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn look_up_avx512(table: &[u8; 128], screen: &[u8], out: &mut [u8]) -> usize {
    let [low, high] = halves_avx512(table);
    let length = screen.len().min(out.len());
    for start in (0..length).step_by(64) {
        let (screen, out) = (&screen[start..length], &mut out[start..length]);
        let wanted = u64::MAX >> (64 - screen.len().min(64));
        // SAFETY: no byte is touched that is not wanted.
        unsafe {
            let colours = _mm512_maskz_loadu_epi8(wanted, screen.as_ptr().cast());
            let found = found_avx512(low, high, colours);
            _mm512_mask_storeu_epi8(out.as_mut_ptr().cast(), wanted, found);
        }
    }
    length
}

/// The halves of a table of 128 bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "loads vectors")]
pub(super) fn halves_avx512(table: &[u8; 128]) -> [__m512i; 2] {
    // SAFETY: 64 bytes each.
    unsafe {
        [
            _mm512_loadu_si512(table.as_ptr().cast()),
            _mm512_loadu_si512(table.as_ptr().add(64).cast()),
        ]
    }
}

/// What a table has for 64 colours.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn found_avx512(low: __m512i, high: __m512i, colours: __m512i) -> __m512i {
    // The permutation reads the low 7 bits of each byte; the shift lets a neighbour's bit into the top one.
    _mm512_permutex2var_epi8(low, _mm512_srli_epi16::<1>(colours), high)
}
