//! Colours: which of the objects on a pixel is seen.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi8, _mm256_shuffle_epi8,
    _mm256_storeu_si256, _mm512_mask_mov_epi8, _mm512_mask_storeu_epi8, _mm512_set1_epi8,
};

use super::objects::{Line, Objects, ball_shown, graphics, missile_shown, word_mask};
use super::{Registers, WIDTH};
use crate::rl::pixels::Simd;

/// What is painted over the background, one after the other: pixels and colour. The last one is the comb.
type Layers = [(Line, u8); 4];

/// Paints pixels `from..until` of a row.
#[inline(always)]
pub(super) fn segment(
    row: &mut [u8; WIDTH],
    from: usize,
    until: usize,
    objects: &Objects,
    registers: &Registers,
    simd: Simd,
) {
    let background = registers.colour[3];
    let layers = layers(objects, registers);
    match simd {
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => {
            #[expect(unsafe_code, reason = "needs AVX-512BW")]
            // SAFETY: `Simd::detect` found AVX-512F and BW.
            unsafe {
                paint_avx512(row, from, until, background, &layers);
            }
        }
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => {
            #[expect(unsafe_code, reason = "needs AVX2")]
            // SAFETY: `Simd::detect` found AVX2.
            unsafe {
                paint_avx2(row, from, until, background, &layers);
            }
        }
        _ => paint(row, from, until, background, &layers),
    }
}

/// 64 pixels at a time: a mask of bits is what these instructions take.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[expect(unsafe_code, reason = "a store of chosen bytes")]
fn paint_avx512(row: &mut [u8; WIDTH], from: usize, until: usize, background: u8, layers: &Layers) {
    debug_assert!(from < until && until <= WIDTH);
    let background = _mm512_set1_epi8(background as i8);
    let colours = layers.map(|(_, colour)| _mm512_set1_epi8(colour as i8));
    for word in from / 64..until.div_ceil(64) {
        let mut pixels = background;
        for ((bits, _), colour) in layers.iter().zip(colours) {
            pixels = _mm512_mask_mov_epi8(pixels, bits[word], colour);
        }
        let wanted = word_mask(word, from, until);
        // SAFETY: the bytes that are stored are `from..until` of the row.
        unsafe {
            let to = row.as_mut_ptr().add(64 * word).cast();
            _mm512_mask_storeu_epi8(to, wanted, pixels);
        }
    }
}

/// 32 pixels at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn paint_avx2(row: &mut [u8; WIDTH], from: usize, until: usize, background: u8, layers: &Layers) {
    const PIXELS: usize = 32;
    let background = _mm256_set1_epi8(background as i8);
    let colours = layers.map(|(_, colour)| _mm256_set1_epi8(colour as i8));
    let part = |word: u64, group: usize| bytes_avx2((word >> (PIXELS * (group % 2))) as u32);
    let groups = row.as_chunks_mut::<PIXELS>().0.iter_mut().enumerate();
    for (group, row) in groups.take(until.div_ceil(PIXELS)).skip(from / PIXELS) {
        let word = group / 2;
        let mut pixels = background;
        for ((bits, _), colour) in layers.iter().zip(colours) {
            pixels = _mm256_blendv_epi8(pixels, colour, part(bits[word], group));
        }
        let wanted = part(word_mask(word, from, until), group);
        let place = row.as_mut_ptr().cast();
        // SAFETY: 32 bytes.
        unsafe {
            let old = _mm256_loadu_si256(place);
            _mm256_storeu_si256(place, _mm256_blendv_epi8(old, pixels, wanted));
        }
    }
}

/// 0xff in each byte whose bit is set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn bytes_avx2(bits: u32) -> __m256i {
    let bit_of_each = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let byte_of_each = _mm256_setr_epi8(
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, //
        2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
    );
    let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), byte_of_each);
    _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit_of_each), bit_of_each)
}

/// Eight pixels at a time, on every processor.
fn paint(row: &mut [u8; WIDTH], from: usize, until: usize, background: u8, layers: &Layers) {
    const PIXELS: usize = 8;
    let part = |word: u64, group: usize| BYTES[usize::from((word >> (PIXELS * (group % 8))) as u8)];
    let groups = row.as_chunks_mut::<PIXELS>().0.iter_mut().enumerate();
    for (group, row) in groups.take(until.div_ceil(PIXELS)).skip(from / PIXELS) {
        let word = group / 8;
        let mut pixels = spread(background);
        for (bits, colour) in layers {
            let bytes = part(bits[word], group);
            pixels = pixels & !bytes | spread(*colour) & bytes;
        }
        let wanted = part(word_mask(word, from, until), group);
        *row = (u64::from_le_bytes(*row) & !wanted | pixels & wanted).to_le_bytes();
    }
}

/// 0xff in each byte whose bit is set.
static BYTES: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 != 0 {
                table[byte] |= 0xff << (8 * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

fn spread(colour: u8) -> u64 {
    u64::from(colour) * 0x0101_0101_0101_0101
}

#[inline(always)]
fn layers(objects: &Objects, registers: &Registers) -> Layers {
    let [p0, p1, m0, m1, ball, field] = objects.lines;
    let [colour0, colour1, field_colour, _] = registers.colour;
    let (sprite0, sprite1) = (either(p0, m0), either(p1, m1));
    let score = registers.ctrlpf & 2 != 0;
    let field_first = registers.ctrlpf & 4 != 0;
    let comb = ([u64::from(registers.comb) * 0xff, 0, 0], 0);
    if field_first && !(score && field_alone(registers)) {
        let field = either(field, ball);
        [
            (sprite1, colour1),
            (sprite0, colour0),
            (field, field_colour),
            comb,
        ]
    } else if score {
        // In score mode each half of the playfield takes its player's colour and place.
        let left = [field[0], field[1] & 0xffff, 0];
        let right = [0, field[1] & !0xffff, field[2]];
        let (sprite0, sprite1) = (either(sprite0, left), either(sprite1, right));
        [
            (ball, field_colour),
            (sprite1, colour1),
            (sprite0, colour0),
            comb,
        ]
    } else {
        let field = either(field, ball);
        [
            (field, field_colour),
            (sprite1, colour1),
            (sprite0, colour0),
            comb,
        ]
    }
}

#[inline(always)]
fn either(one: Line, other: Line) -> Line {
    [one[0] | other[0], one[1] | other[1], one[2] | other[2]]
}

fn field_alone(registers: &Registers) -> bool {
    (0..2).all(|side| graphics(registers, side) == 0 && !missile_shown(registers, side))
        && !ball_shown(registers)
}
