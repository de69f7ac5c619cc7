//! Random writes against a painter of single pixels ([`painter`]).

mod painter;

use super::{State, Television, Tia, WIDTH, motion};
use crate::input::Input;
use crate::simd::Simd;
use crate::state;
use painter::Painter;

const TOP: i32 = 34;
const HEIGHT: i32 = 210;
const TELEVISION: Television = Television {
    top: TOP,
    height: HEIGHT,
    is_pal: false,
    no_comb: false,
};

/// Marsaglia's xorshift.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A write and the cycles before it. Some games write many times a line and some leave lines alone: `busy` of 8
/// writes come in the same line as the one before.
fn random_write(seed: &mut u64, busy: u64) -> (u32, u8, i32) {
    let [kind, value, gap, choice, rarely, ..] = random(seed).to_le_bytes();
    let register = match kind {
        0..16 => 0x02,
        // Blanked lines hide everything, cleared collisions what was not noticed: both are rare.
        16..24 if rarely < 64 => 0x01,
        24..32 if rarely < 64 => 0x2c,
        _ => {
            [0x04, 0x0a, 0x1b, 0x20][usize::from(kind & 3)]
                + u32::from(kind >> 2) % [6, 11, 5, 12][usize::from(kind & 3)]
        }
    };
    let value = match choice & 7 {
        0..3 => 0,
        3 => 0xff,
        4 => 0x18,
        _ => value,
    };
    let value = if register == 0x01 {
        2 * u8::from(rarely < 16)
    } else {
        value
    };
    let gap = if u64::from(choice >> 3 & 7) < busy {
        3 + i32::from(gap % 24)
    } else {
        3 + i32::from(gap) * 9
    };
    (register, value, gap)
}

#[test]
fn random_writes_draw_what_a_painter_of_single_pixels_draws() {
    let mut seed = 0x1979;
    let input = Input::new();
    for game in 0..60u64 {
        let mut tias = [true, false].map(|draw| {
            let mut tia = Tia::new(TELEVISION);
            let paths = Simd::available();
            tia.simd = paths[game as usize % paths.len()];
            tia.start_frame(draw);
            tia
        });
        let mut painter = Painter::new();
        let mut cycle = 0;
        for frame in 0..4 {
            while cycle < 262 * 76 {
                let (register, value, gap) = random_write(&mut seed, game % 9);
                cycle += gap;
                let ended = tias.each_mut().map(|tia| tia.write(register, value, cycle));
                assert_eq!(ended[0], ended[1]);
                painter.write(register, value, cycle);
                cycle = ended[0];
                if random(&mut seed) & 7 == 0 {
                    cycle += 3;
                    painter.paint_to(3 * cycle);
                    for (tia, how) in tias.iter_mut().zip(["drawn", "not drawn"]) {
                        let read = std::array::from_fn(|at| tia.read(at as u32, 0, cycle, &input));
                        assert_eq!(
                            read,
                            painter.collisions(),
                            "game {game}, frame {frame}, cycle {cycle}, {how}"
                        );
                    }
                }
            }
            painter.end_frame(cycle);
            for tia in &mut tias {
                tia.catch_up(3 * cycle);
                restore(tia, cycle);
                assert_eq!(tia.end_frame(cycle), cycle / 76 * 76);
            }
            cycle %= 76;
            let unequal = (0..WIDTH * HEIGHT as usize)
                .find(|&at| tias[0].pictures.current()[at] != painter.picture[at]);
            if let Some(at) = unequal {
                let (row, pixel) = (at / WIDTH, at % WIDTH);
                let (ours, theirs) = (tias[0].pictures.current()[at], painter.picture[at]);
                panic!(
                    "game {game}, frame {frame}, row {row}, pixel {pixel}: {ours}, painter {theirs}"
                );
            }
        }
    }
}

/// Saves the chip's state, forgets it, and restores it.
fn restore(tia: &mut Tia, cycle: i32) {
    let (before, mut state) = (tia.state, tia.state);
    let saved = state::save("", |tape| state.walk(tape, &TELEVISION, cycle));
    let mut state = State::power_on(&TELEVISION);
    let restored = state::restore(&saved, "", |tape| state.walk(tape, &TELEVISION, cycle));
    assert_eq!(restored, Ok(()));
    assert_eq!(state, before, "a register is no part of its states");
    tia.put(state);
}

/// In builds that check for overflow, too.
#[test]
fn objects_go_around_the_line() {
    for position in 0..WIDTH as u8 {
        for pixels in -15..=33 {
            let expected = (i32::from(position) - pixels).rem_euclid(WIDTH as i32);
            assert_eq!(i32::from(motion::moved_left(position, pixels)), expected);
        }
    }
}
