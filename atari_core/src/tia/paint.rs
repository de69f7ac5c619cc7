//! Colours: which of the objects on a pixel is seen.

use super::Registers;
use super::objects::{Objects, ball_shown, graphics, missile_shown, word_mask};

/// Pixels that one look-up paints.
const GROUP: usize = 8;
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

/// Paints pixels `from..until` of a row.
#[inline(never)]
pub(super) fn segment(
    row: &mut [u8],
    from: usize,
    until: usize,
    objects: &Objects,
    registers: &Registers,
) {
    let background = spread(registers.colour[3]);
    for word in from / 64..=(until - 1) / 64 {
        let layers = layers(word, objects, registers);
        let mask = word_mask(word, from, until);
        let comb = if registers.comb && word == 0 { 0xff } else { 0 };
        let objects = layers.iter().fold(comb, |all, (bits, _)| all | bits);
        let groups = from.saturating_sub(word * 64) / GROUP
            ..(until - word * 64).div_ceil(GROUP).min(64 / GROUP);
        for group in groups {
            let byte = |bits: u64| BYTES[usize::from((bits >> (group * GROUP)) as u8)];
            let mut colours = background;
            if (objects >> (group * GROUP)) as u8 != 0 {
                for (bits, colour) in layers {
                    let bytes = byte(bits);
                    colours = colours & !bytes | spread(colour) & bytes;
                }
                colours &= !byte(comb);
            }
            let at = word * 64 + group * GROUP;
            let Some(pixels) = row.get_mut(at..at + GROUP) else {
                break;
            };
            let wanted = byte(mask);
            if wanted != !0 {
                let mut old = [0; GROUP];
                old.copy_from_slice(pixels);
                colours = u64::from_le_bytes(old) & !wanted | colours & wanted;
            }
            pixels.copy_from_slice(&colours.to_le_bytes());
        }
    }
}

fn spread(colour: u8) -> u64 {
    u64::from(colour) * 0x0101_0101_0101_0101
}

/// What is painted over the background, one after the other: pixels and colour.
fn layers(word: usize, objects: &Objects, registers: &Registers) -> [(u64, u8); 3] {
    let [p0, p1, m0, m1, ball, field] =
        [0, 1, 2, 3, 4, 5].map(|object: usize| objects.lines[object][word]);
    let [colour0, colour1, field_colour, _] = registers.colour;
    let score = registers.ctrlpf & 2 != 0;
    let field_first = registers.ctrlpf & 4 != 0;
    if field_first && !(score && field_alone(registers)) {
        [
            (p1 | m1, colour1),
            (p0 | m0, colour0),
            (field | ball, field_colour),
        ]
    } else if score {
        // In score mode each half of the playfield takes its player's colour and place.
        let left = [!0, 0xffff, 0][word];
        [
            (ball, field_colour),
            (p1 | m1 | field & !left, colour1),
            (p0 | m0 | field & left, colour0),
        ]
    } else {
        [
            (field | ball, field_colour),
            (p1 | m1, colour1),
            (p0 | m0, colour0),
        ]
    }
}

fn field_alone(registers: &Registers) -> bool {
    (0..2).all(|side| graphics(registers, side) == 0 && !missile_shown(registers, side))
        && !ball_shown(registers)
}
