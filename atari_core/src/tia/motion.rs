//! HMOVE: how far an object moves, by the cycle at which the write ends.
//!
//! HMOVE starts a counter that sends an object up to fifteen extra clocks, four colour clocks apart; an object whose
//! motion is m (-8 to 7, positive to the left) takes m + 8 of them. A clock moves the object only in the blank part
//! of a line, where its own clock stands still. When the write comes at the start of a line the blank is eight
//! clocks longer (the comb of black pixels at the left), which moves everything eight pixels right: m is left.
//! The numbers below were measured on ale-py with one write of HMOVE at each cycle of a line.

use super::{BLANK, CLOCKS_PER_LINE, WIDTH};

/// Colour clocks from the end of the write to the first extra clock, less four.
const LATENCY: i32 = 5;
/// Writes that end up to this cycle lengthen the blank of their own line; the last cycle that of the next.
const COMB_UNTIL: i32 = 20;
const COMB_NEXT: i32 = 75;

/// Pixels to the left, by cycle and motion register.
static TABLE: [[i8; 16]; 76] = table();

const fn table() -> [[i8; 16]; 76] {
    let mut table = [[0; 16]; 76];
    let mut cycle = 0;
    while cycle < 76 {
        let mut register = 0;
        while register < 16 {
            table[cycle as usize][register as usize] = pixels(cycle, register);
            register += 1;
        }
        cycle += 1;
    }
    table
}

const fn pixels(cycle: i32, register: i32) -> i8 {
    let motion = if register < 8 {
        register
    } else {
        register - 16
    };
    let mut moved = 0;
    let mut extra = 1;
    while extra <= motion + 8 {
        let clock = cycle * 3 + 4 * extra + LATENCY;
        let in_blank = if cycle <= COMB_UNTIL {
            clock < BLANK + 8
        } else {
            clock >= CLOCKS_PER_LINE
        };
        if in_blank || cycle == COMB_NEXT {
            moved += 1;
        }
        extra += 1;
    }
    (if cycle <= COMB_UNTIL || cycle == COMB_NEXT {
        moved - 8
    } else {
        moved
    }) as i8
}

/// Pixels to the left for a write of HMOVE that ends at `cycle` of its line, by motion register.
pub(super) fn distances(cycle: usize) -> &'static [i8; 16] {
    &TABLE[cycle % 76]
}

/// Whether the first eight pixels of this line, or of the next, are black.
pub(super) fn comb(cycle: usize) -> (bool, bool) {
    (cycle as i32 <= COMB_UNTIL, cycle as i32 == COMB_NEXT)
}

/// A position so many pixels to the left, around the end of the line.
pub(super) fn moved_left(position: u8, pixels: i32) -> u8 {
    let moved = i32::from(position) - pixels;
    let width = WIDTH as i32;
    (if moved < 0 {
        moved + width
    } else if moved >= width {
        moved - width
    } else {
        moved
    }) as u8
}
