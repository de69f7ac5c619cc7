//! Screens row by row: what a table has for their entries, in gray, say, and the maximum of a step's two frames, made anew
//! only where it is another picture than the step before showed. Most rows of most steps are the same, and what is made
//! of them need not be made again.

use super::Table;
use crate::{WIDTH, simd::Simd};

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_sub_epi8,
    _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_permutex2var_epi8, _mm512_srli_epi16,
    _mm512_storeu_si512,
};

/// A row of a screen or of what was looked up for one.
type Row = [u8; WIDTH];

/// A row of what was looked up for the older frame, of what is shown, and whether that is another one now.
type Pooled<'a> = ((&'a Row, &'a mut Row), &'a mut bool);

impl Simd {
    /// Writes, for each palette entry of a screen's rows, what a table has for it.
    pub fn look_up(self, table: &Table, screen: &[u8], out: &mut [u8]) {
        let rows = out.as_chunks_mut().0.iter_mut();
        self.each_row(table, screen, rows, put);
    }

    /// Takes into `pooled` the maximum of what `table` has for a screen's entries and of `older`, and sets the flag of
    /// each row of `pooled` that is another one then.
    pub fn take_maximum(
        self,
        table: &Table,
        screen: &[u8],
        older: &[u8],
        pooled: &mut [u8],
        changed: &mut [bool],
    ) {
        let (older, pooled) = (older.as_chunks().0, pooled.as_chunks_mut().0);
        let rows = older.iter().zip(pooled).zip(changed);
        self.each_row(table, screen, rows, take_row);
    }

    /// Calls `take` with what a table has for each row of a screen, and with what `rows` has beside it.
    fn each_row<T>(
        self,
        table: &Table,
        screen: &[u8],
        rows: impl Iterator<Item = T>,
        take: impl Fn(&Row, T),
    ) {
        let is_lost = table.has_lost(screen);
        let rows = screen.as_chunks().0.iter().zip(rows);
        if is_lost {
            return rows
                .for_each(|(screen, beside)| take(&screen.map(|entry| table.at(entry)), beside));
        }
        let table = &table.colours;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if self.is_available() => {
                #[expect(unsafe_code, reason = "needs AVX2")]
                // SAFETY: there is AVX2.
                unsafe {
                    each_row_avx2(table, rows, take);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if self.is_available() => {
                #[expect(unsafe_code, reason = "needs AVX-512")]
                // SAFETY: there are AVX-512F, BW and VBMI.
                unsafe {
                    each_row_avx512(table, rows, take);
                }
            }
            _ => rows.for_each(|(screen, beside)| {
                take(
                    &screen.map(|colour| table[usize::from(colour >> 1)]),
                    beside,
                );
            }),
        }
    }
}

#[inline(always)]
fn put(found: &Row, out: &mut Row) {
    *out = *found;
}

/// Inlined where vectors are wide, without a branch for each pixel.
#[inline(always)]
fn take_row(found: &Row, ((older, pooled), changed): Pooled<'_>) {
    let (mut new, mut differ) = (*found, 0);
    for ((new, older), old) in new.iter_mut().zip(older).zip(&*pooled) {
        *new = (*new).max(*older);
        differ |= *new ^ old;
    }
    if differ != 0 {
        *pooled = new;
        *changed = true;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn each_row_avx2<'a, T>(
    table: &[u8; 128],
    rows: impl Iterator<Item = (&'a Row, T)>,
    take: impl Fn(&Row, T),
) {
    // The eighths of the table, each twice.
    let mut parts = [_mm256_setzero_si256(); 8];
    for (part, entries) in parts.iter_mut().zip(table.as_chunks::<16>().0) {
        // SAFETY: 16 bytes.
        *part = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) });
    }
    for (screen, beside) in rows {
        let mut found: Row = [0; WIDTH];
        let vectors = screen.as_chunks::<32>().0.iter();
        for (colours, found) in vectors.zip(found.as_chunks_mut::<32>().0) {
            // SAFETY: 32 bytes each.
            unsafe {
                let colours = _mm256_loadu_si256(colours.as_ptr().cast());
                _mm256_storeu_si256(found.as_mut_ptr().cast(), found_avx2(&parts, colours));
            }
        }
        take(&found, beside);
    }
}

/// What a table has for 32 colours. A byte shuffle looks up 16 entries and gives 0 for indices with the top bit set: eight
/// of them, each with the indices moved so that its 16 are in range.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn found_avx2(parts: &[__m256i; 8], colours: __m256i) -> __m256i {
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

/// A row is two vectors and a half.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn each_row_avx512<'a, T>(
    table: &[u8; 128],
    rows: impl Iterator<Item = (&'a Row, T)>,
    take: impl Fn(&Row, T),
) {
    // SAFETY: the halves of the table, 64 bytes each.
    let [low, high] =
        [0, 64].map(|start| unsafe { _mm512_loadu_si512(table[start..].as_ptr().cast()) });
    for (screen, beside) in rows {
        let mut found = [0; 3 * 64];
        for (start, wanted) in [(0, u64::MAX), (64, u64::MAX), (128, u64::MAX >> 32)] {
            // SAFETY: 64, 64 and 32 of the row's 160 bytes, to 64 each. The permutation reads the low 7 bits of each byte; the shift
            // lets a neighbour's bit into the top one.
            unsafe {
                let colours = _mm512_maskz_loadu_epi8(wanted, screen[start..].as_ptr().cast());
                let index = _mm512_srli_epi16::<1>(colours);
                let colours = _mm512_permutex2var_epi8(low, index, high);
                _mm512_storeu_si512(found[start..].as_mut_ptr().cast(), colours);
            }
        }
        if let Some(found) = found.first_chunk() {
            take(found, beside);
        }
    }
}
