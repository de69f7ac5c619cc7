//! The maximum of a step's two frames, and in which rows it is another picture than the step before showed: most rows
//! of most steps are the same, and what is made of them need not be made again.

use super::{Table, look_up};
use crate::WIDTH;
use crate::simd::Simd;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_max_epu8, _mm256_movemask_epi8,
    _mm256_storeu_si256, _mm512_cmpneq_epu8_mask, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi8, _mm512_max_epu8, _mm512_storeu_si512,
};

/// A row of a screen or of what was looked up for one.
type Row = [u8; WIDTH];

impl Simd {
    /// Takes into `pooled` the maximum of what `table` has for a screen's entries and of `older`, and sets the flag of
    /// each row of `pooled` that is another one then.
    pub fn pool(
        self,
        table: &Table,
        screen: &[u8],
        older: &[u8],
        pooled: &mut [u8],
        changed: &mut [bool],
    ) {
        let is_lost = table.has_lost(screen);
        let (screen, older) = (screen.as_chunks().0, older.as_chunks().0);
        let (pooled, _) = pooled.as_chunks_mut();
        let rows = screen.iter().zip(older).zip(pooled).zip(changed);
        let rows =
            rows.map(|(((screen, older), pooled), changed)| (screen, older, pooled, changed));
        if is_lost {
            return pool(|entry| table.at(entry), rows);
        }
        let table = &table.colours;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if self.is_available() => {
                #[expect(unsafe_code, reason = "needs AVX2")]
                // SAFETY: there is AVX2.
                unsafe {
                    pool_avx2(table, rows);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if self.is_available() => {
                #[expect(unsafe_code, reason = "needs AVX-512")]
                // SAFETY: there are AVX-512F, BW and VBMI.
                unsafe {
                    pool_avx512(table, rows);
                }
            }
            _ => pool(|colour| table[usize::from(colour >> 1)], rows),
        }
    }
}

fn pool<'a>(
    found: impl Fn(u8) -> u8,
    rows: impl Iterator<Item = (&'a Row, &'a Row, &'a mut Row, &'a mut bool)>,
) {
    for (screen, older, pooled, changed) in rows {
        let mut new = *older;
        for (new, &entry) in new.iter_mut().zip(screen) {
            *new = found(entry).max(*new);
        }
        if *pooled != new {
            *pooled = new;
            *changed = true;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn pool_avx2<'a>(
    table: &[u8; 128],
    rows: impl Iterator<Item = (&'a Row, &'a Row, &'a mut Row, &'a mut bool)>,
) {
    let parts = look_up::parts_avx2(table);
    for (screen, older, pooled, changed) in rows {
        let screen = screen.as_chunks::<32>().0.iter();
        let older = older.as_chunks::<32>().0;
        let pooled = pooled.as_chunks_mut::<32>().0;
        for ((screen, older), pooled) in screen.zip(older).zip(pooled) {
            // SAFETY: 32 bytes each.
            unsafe {
                let found = look_up::found_avx2(&parts, _mm256_loadu_si256(screen.as_ptr().cast()));
                let new = _mm256_max_epu8(found, _mm256_loadu_si256(older.as_ptr().cast()));
                let same = _mm256_cmpeq_epi8(new, _mm256_loadu_si256(pooled.as_ptr().cast()));
                if _mm256_movemask_epi8(same) != -1 {
                    _mm256_storeu_si256(pooled.as_mut_ptr().cast(), new);
                    *changed = true;
                }
            }
        }
    }
}

/// A row is two vectors and a half.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn pool_avx512<'a>(
    table: &[u8; 128],
    rows: impl Iterator<Item = (&'a Row, &'a Row, &'a mut Row, &'a mut bool)>,
) {
    const HALF: u64 = u32::MAX as u64;
    let [low, high] = look_up::halves_avx512(table);
    let load = |row: &Row| -> [__m512i; 3] {
        let row: *const u8 = row.as_ptr();
        // SAFETY: 64, 64 and 32 of the row's 160 bytes.
        unsafe {
            [
                _mm512_loadu_si512(row.cast()),
                _mm512_loadu_si512(row.add(64).cast()),
                _mm512_maskz_loadu_epi8(HALF, row.add(128).cast()),
            ]
        }
    };
    for (screen, older, pooled, changed) in rows {
        let (colours, older, before) = (load(screen), load(older), load(pooled));
        let new = |part: usize| {
            _mm512_max_epu8(look_up::found_avx512(low, high, colours[part]), older[part])
        };
        let new = [new(0), new(1), new(2)];
        let differ = _mm512_cmpneq_epu8_mask(new[0], before[0])
            | _mm512_cmpneq_epu8_mask(new[1], before[1])
            | _mm512_cmpneq_epu8_mask(new[2], before[2]) & HALF;
        if differ != 0 {
            let pooled: *mut u8 = pooled.as_mut_ptr();
            // SAFETY: 64, 64 and 32 of the row's 160 bytes.
            unsafe {
                _mm512_storeu_si512(pooled.cast(), new[0]);
                _mm512_storeu_si512(pooled.add(64).cast(), new[1]);
                _mm512_mask_storeu_epi8(pooled.add(128).cast(), HALF, new[2]);
            }
            *changed = true;
        }
    }
}
