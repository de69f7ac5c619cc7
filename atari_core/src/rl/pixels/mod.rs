//! Pixels: colours of the console as gray or RGB, their maximum, and pictures made small, equal in every pixel to what
//! ALE and OpenCV make of them.
//!
//! Each kernel has a portable path and faster ones, among which [`crate::Simd::detect`] chooses when the program runs.

mod linear;
mod palette;
mod resize;
mod rows;

pub use palette::{Palette, Table};
pub use resize::Resizer;

/// Takes the pixel-wise maximum of two pictures into the first one.
pub fn maximum(picture: &mut [u8], other: &[u8]) {
    for (pixel, other) in picture.iter_mut().zip(other) {
        *pixel = (*pixel).max(*other);
    }
}

/// Gray of colours as OpenCV's `RGB2GRAY` has it for bytes: weights 0.299, 0.587 and 0.114 in 15 bits, rounded.
pub fn gray_of_rgb(red: &[u8], green: &[u8], blue: &[u8], out: &mut [u8]) {
    for (((out, red), green), blue) in out.iter_mut().zip(red).zip(green).zip(blue) {
        let sum = 9798 * u32::from(*red) + 19235 * u32::from(*green) + 3735 * u32::from(*blue);
        *out = ((sum + (1 << 14)) >> 15) as u8;
    }
}

#[cfg(test)]
mod tests {
    use vec_env::env::Random;

    use std::iter;

    use super::{Palette, Resizer, maximum};
    use crate::{WIDTH, rl::recipe::Interpolation, simd::Simd};

    /// OpenCV is asked where Python is; here memory is looked after, by Miri too: pictures of just their bytes.
    #[test]
    fn every_path_gives_the_same_and_stays_within_its_pictures() {
        let (mut random, table) = (Random::new(1), Palette::pal().gray);
        let mut noise = |length| -> Vec<u8> {
            let bytes = (0..length).map(|_| random.next_u64() as u8);
            bytes.collect()
        };
        for num_rows in [0, 1, 3] {
            let screen = noise(num_rows * WIDTH);
            let look_up = |simd: Simd| {
                let mut out = vec![0; screen.len()];
                simd.look_up(&table, &screen, &mut out);
                out
            };
            let expected = look_up(Simd::Portable);
            assert!(
                Simd::available()
                    .iter()
                    .all(|simd| look_up(*simd) == expected)
            );
        }
        for (from, to) in [((13, 160), (5, 84)), ((9, 40), (4, 21)), ((9, 17), (4, 16))] {
            let picture = noise(from.0 * from.1);
            let resize = |simd: Simd| {
                let mut out = vec![0; to.0 * to.1];
                Resizer::new(from, to, Interpolation::Area, simd).resize(&picture, &mut out);
                out
            };
            let expected = resize(Simd::Portable);
            assert!(
                Simd::available()
                    .iter()
                    .all(|simd| resize(*simd) == expected)
            );
        }
    }

    /// The frames of a step, most of whose rows are as the step before left them, against all of them made anew.
    #[test]
    fn what_is_made_of_changed_rows_alone_is_what_is_made_of_all() {
        const ROWS: usize = 13;
        let (mut random, table) = (Random::new(2), Palette::pal().gray);
        for &simd in Simd::available() {
            let mut resizer = Resizer::new((ROWS, WIDTH), (5, 84), Interpolation::Area, simd);
            let mut screens = [vec![0; ROWS * WIDTH], vec![0; ROWS * WIDTH]];
            let (mut pooled, mut small) = (vec![0; ROWS * WIDTH], vec![0; 5 * 84]);
            resizer.resize(&pooled, &mut small);
            for round in 0..200 {
                let pixel = random.below(ROWS * WIDTH);
                // Odd entries in the second half of the rounds.
                let entry = random.next_u64() as u8 & (0xfe | u8::from(round >= 100));
                screens[random.below(2)][pixel] = entry;
                let grays = screens.each_ref().map(|screen| {
                    let pixels = screen.iter();
                    let grays = pixels.map(|&entry| table.at(entry));
                    grays.collect::<Vec<_>>()
                });
                let mut expected = grays[0].clone();
                maximum(&mut expected, &grays[1]);
                let rows = |picture: &[u8]| picture.as_chunks::<WIDTH>().0.to_vec();
                let differs: Vec<_> = iter::zip(rows(&expected), rows(&pooled))
                    .map(|(new, before)| new != before)
                    .collect();
                let mut changed = vec![false; ROWS];
                simd.take_maximum(&table, &screens[1], &grays[0], &mut pooled, &mut changed);
                assert!(pooled == expected && changed == differs, "{simd:?}");
                resizer.resize_changed(&pooled, &changed, &mut small);
                let mut expected = vec![0; small.len()];
                resizer.resize(&pooled, &mut expected);
                assert!(small == expected, "{simd:?}");
            }
        }
    }
}
