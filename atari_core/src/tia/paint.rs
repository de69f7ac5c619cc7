//! Colours: which of the objects on a pixel is seen.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi8, _mm256_shuffle_epi8,
    _mm256_storeu_si256, _mm512_castsi256_si512, _mm512_castsi512_si256, _mm512_cmpge_epu8_mask,
    _mm512_loadu_si512, _mm512_mask_cmplt_epu8_mask, _mm512_mask_mov_epi8, _mm512_set1_epi8,
    _mm512_storeu_si512,
};

use super::objects::{Line, Objects, ball_shown, graphics, missile_shown, widened, word_mask};
use super::{BALL, MISSILE, PLAYER, PLAYFIELD, State, WIDTH};
use crate::simd::Simd;

/// Pixels of a mask's word.
const WORD: usize = 64;

/// The left half of a row.
const LEFT_HALF: Line = [!0, 0xffff, 0];

/// What is painted over the background, one after the other.
struct Layers<'a> {
    objects: &'a Objects,
    order: Order,
    background: u8,
    colours: [u8; 3],
    /// The first eight pixels are black.
    comb: bool,
}

/// Which of the three layers is what, the lowest first.
#[derive(Clone, Copy)]
enum Order {
    /// Playfield and ball, player 1, player 0, each with its missile.
    FieldFirst,
    /// Player 1, player 0, playfield and ball.
    FieldLast,
    /// Ball, player 1, player 0: each half of the playfield goes with a player.
    Score,
}

impl<'a> Layers<'a> {
    #[inline(always)]
    fn new(objects: &'a Objects, state: &State) -> Self {
        let lost = u8::from(state.colour_lost);
        let [player0, player1, field, background] = state.colour.map(|colour| colour | lost);
        let score = state.ctrlpf & 2 != 0;
        let field_last = state.ctrlpf & 4 != 0;
        let (order, colours) = if field_last && !(score && field_alone(state)) {
            (Order::FieldLast, [player1, player0, field])
        } else if score {
            (Order::Score, [field, player1, player0])
        } else {
            (Order::FieldFirst, [field, player1, player0])
        };
        Self {
            objects,
            order,
            background,
            colours,
            comb: state.comb,
        }
    }

    /// The pixels of each layer in a word.
    #[inline(always)]
    fn masks(&self, word: usize) -> [u64; 3] {
        let line = |object: usize| self.objects.lines[object][word];
        let sprite0 = line(PLAYER) | line(MISSILE);
        let sprite1 = line(PLAYER + 1) | line(MISSILE + 1);
        let (field, ball) = (line(PLAYFIELD), line(BALL));
        match self.order {
            Order::FieldFirst => [field | ball, sprite1, sprite0],
            Order::FieldLast => [sprite1, sprite0, field | ball],
            Order::Score => {
                let left = LEFT_HALF[word] & field;
                [ball, sprite1 | field & !left, sprite0 | left]
            }
        }
    }

    /// The pixels in a word that are black whatever is there.
    #[inline(always)]
    fn black(&self, word: usize) -> u64 {
        u64::from(self.comb && word == 0) * 0xff
    }
}

/// Rows of a picture that are the same in the pixels to be painted.
type Rows<'a> = &'a mut [[u8; WIDTH]];

/// Paints pixels `from..until` of rows.
#[inline(always)]
pub(super) fn segment(
    rows: Rows<'_>,
    from: usize,
    until: usize,
    objects: &Objects,
    state: &State,
    simd: Simd,
) {
    match simd {
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => {
            #[expect(unsafe_code, reason = "needs AVX-512BW")]
            // SAFETY: `Simd::detect` found AVX-512F and BW.
            unsafe {
                paint_avx512(rows, from, until, objects, state);
            }
        }
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => {
            #[expect(unsafe_code, reason = "needs AVX2")]
            // SAFETY: `Simd::detect` found AVX2.
            unsafe {
                paint_avx2(rows, from, until, objects, state);
            }
        }
        _ => paint(rows, from, until, objects, state),
    }
}

/// The places of a row's pixels.
static PLACES: [u8; 3 * WORD] = {
    let mut places = [0; 3 * WORD];
    let mut place = 0;
    while place < places.len() {
        places[place] = place as u8;
        place += 1;
    }
    places
};

/// 64 pixels at a time: a mask of bits is what these instructions take. All three words of a row, whichever are wanted: that
/// is less work than a loop of which nobody can guess the end. Whole vectors are stored, because what a masked store has
/// written cannot be loaded again at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn paint_avx512(rows: Rows<'_>, from: usize, until: usize, objects: &Objects, state: &State) {
    let layers = Layers::new(objects, state);
    let background = _mm512_set1_epi8(layers.background as i8);
    let [lowest, middle, highest] = layers.colours;
    let lowest = _mm512_set1_epi8(lowest as i8);
    let middle = _mm512_set1_epi8(middle as i8);
    let highest = _mm512_set1_epi8(highest as i8);
    let (first, end) = (_mm512_set1_epi8(from as i8), _mm512_set1_epi8(until as i8));
    let pixels = |word: usize| {
        let masks = layers.masks(word);
        let pixels = _mm512_mask_mov_epi8(background, masks[0], lowest);
        let pixels = _mm512_mask_mov_epi8(pixels, masks[1], middle);
        _mm512_mask_mov_epi8(pixels, masks[2], highest)
    };
    let wanted = |word: usize| {
        // SAFETY: 64 bytes.
        let places = unsafe { _mm512_loadu_si512(PLACES[word * WORD..][..WORD].as_ptr().cast()) };
        let begun = _mm512_cmpge_epu8_mask(places, first);
        _mm512_mask_cmplt_epu8_mask(begun, places, end)
    };
    let black = _mm512_set1_epi8(0);
    let new = [
        _mm512_mask_mov_epi8(pixels(0), layers.black(0), black),
        pixels(1),
        pixels(2),
    ];
    let wanted = [wanted(0), wanted(1), wanted(2)];
    for row in rows {
        let place: *mut u8 = row.as_mut_ptr();
        // SAFETY: 64, 64 and 32 bytes of the row's 160.
        unsafe {
            for word in 0..2 {
                let place = place.add(word * WORD);
                let old = _mm512_loadu_si512(place.cast());
                let pixels = _mm512_mask_mov_epi8(old, wanted[word], new[word]);
                _mm512_storeu_si512(place.cast(), pixels);
            }
            let place = place.add(2 * WORD);
            let old = _mm512_castsi256_si512(_mm256_loadu_si256(place.cast()));
            let pixels = _mm512_mask_mov_epi8(old, wanted[2], new[2]);
            _mm256_storeu_si256(place.cast(), _mm512_castsi512_si256(pixels));
        }
    }
}

/// 32 pixels at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of vectors")]
fn paint_avx2(rows: Rows<'_>, from: usize, until: usize, objects: &Objects, state: &State) {
    const PIXELS: usize = 32;
    let layers = Layers::new(objects, state);
    let background = _mm256_set1_epi8(layers.background as i8);
    let colours = layers.colours.map(|colour| _mm256_set1_epi8(colour as i8));
    let black = _mm256_set1_epi8(0);
    for group in from / PIXELS..until.div_ceil(PIXELS) {
        let word = group / 2;
        let part = |word: u64| bytes_avx2((word >> (PIXELS * (group % 2))) as u32);
        let mut pixels = background;
        for (mask, colour) in layers.masks(word).into_iter().zip(colours) {
            pixels = _mm256_blendv_epi8(pixels, colour, part(mask));
        }
        pixels = _mm256_blendv_epi8(pixels, black, part(layers.black(word)));
        let wanted = part(word_mask(word, from, until));
        for row in &mut *rows {
            let place = row.as_chunks_mut::<PIXELS>().0[group].as_mut_ptr().cast();
            // SAFETY: 32 bytes.
            unsafe {
                let old = _mm256_loadu_si256(place);
                _mm256_storeu_si256(place, _mm256_blendv_epi8(old, pixels, wanted));
            }
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
fn paint(rows: Rows<'_>, from: usize, until: usize, objects: &Objects, state: &State) {
    const PIXELS: usize = 8;
    let layers = Layers::new(objects, state);
    for group in from / PIXELS..until.div_ceil(PIXELS) {
        let word = group / 8;
        let part = |word: u64| BYTES[usize::from((word >> (PIXELS * (group % 8))) as u8)];
        let mut pixels = spread(layers.background);
        for (mask, colour) in layers.masks(word).into_iter().zip(layers.colours) {
            let bytes = part(mask);
            pixels = pixels & !bytes | spread(colour) & bytes;
        }
        pixels &= !part(layers.black(word));
        let wanted = part(word_mask(word, from, until));
        for row in &mut *rows {
            let place = &mut row.as_chunks_mut::<PIXELS>().0[group];
            *place = (u64::from_le_bytes(*place) & !wanted | pixels & wanted).to_le_bytes();
        }
    }
}

/// 0xff in each byte whose bit is set.
static BYTES: [u64; 256] = widened(8);

fn spread(colour: u8) -> u64 {
    u64::from(colour) * 0x0101_0101_0101_0101
}

fn field_alone(state: &State) -> bool {
    (0..2).all(|side| graphics(state, side) == 0 && !missile_shown(state, side))
        && !ball_shown(state)
}
