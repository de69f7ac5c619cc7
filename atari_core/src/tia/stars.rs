//! The stars of Cosmic Ark and Journey Escape: a missile that an HMOVE without end keeps moving.
//!
//! HMM0 rewritten while HMOVE's counter runs can miss the count at which the extra clocks would end. The missile then
//! gets one every four clocks for ever, seventeen on a line; in the visible part they fall together with its own
//! clocks, so that it comes out misshapen on some lines. ale-py does so for one case, which these were measured on: HMM0
//! from 7 to 6, to the cycle 21 cycles after HMOVE. The next HMOVE ends it.

use super::{MISSILE, Tia, WIDTH};

/// Colour clocks from an HMOVE to the write of HMM0 that it never ends after.
const CLOCKS: i32 = 63;
/// Pixels to the left, by the line of four that begins.
const STEPS: [u8; 4] = [18, 33, 0, 17];
/// The line on which the missile is at least two pixels wide, and eight for four; and the one without it.
pub(super) const WIDE: u8 = 1;
pub(super) const DARK: u8 = 2;

/// A pixel so many to the left, around the line.
fn moved_left(pixel: u8, step: u8) -> u8 {
    pixel
        .checked_sub(step)
        .unwrap_or_else(|| pixel + (WIDTH as u8 - step))
}

impl Tia {
    /// A write to HMM0; a `QUICK` one gives up where the stars begin.
    #[inline(always)]
    pub(super) fn move_missile<const QUICK: bool>(&mut self, motion: u8, clock: i32) -> Option<()> {
        let before = self.registers.motion[MISSILE];
        if before == 7 && motion == 6 && clock.wrapping_sub(self.registers.moved_at) == CLOCKS {
            if QUICK {
                return None;
            }
            self.catch_up(clock);
            self.registers.stars = true;
            self.registers.star_line = 0;
            self.registers.star_restored = false;
            self.objects.changed(MISSILE);
        }
        self.registers.motion[MISSILE] = motion;
        Some(())
    }

    /// So many lines began, the last one in [`Tia::row`]; none begins below the picture.
    #[inline(always)]
    pub(super) fn move_stars(&mut self, lines: i32) {
        if self.registers.stars {
            self.move_stars_on(lines - i32::from(self.row >= self.height));
        }
    }

    #[inline(never)]
    fn move_stars_on(&mut self, lines: i32) {
        let registers = &mut self.registers;
        for _ in 0..lines {
            registers.star_line = registers.star_line.wrapping_add(1) & 3;
            let step = STEPS[usize::from(registers.star_line)];
            let position = &mut registers.position[MISSILE];
            *position = moved_left(*position, step);
        }
        registers.star_restored = false;
        self.objects.changed(MISSILE);
    }

    /// The picture is drawn up to a write of NUSIZ0, RESM0 or RESMP0: for the rest of the line the missile has its own
    /// shape.
    #[inline(always)]
    pub(super) fn restore_star(&mut self, missile: usize) {
        if self.registers.stars && missile == MISSILE {
            self.registers.star_restored = true;
            self.objects.changed(MISSILE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STEPS, WIDTH, moved_left};

    /// In builds that check for overflow, too.
    #[test]
    fn stars_go_around_the_line() {
        for pixel in 0..WIDTH as u8 {
            for step in STEPS {
                let expected = (i32::from(pixel) - i32::from(step)).rem_euclid(WIDTH as i32);
                assert_eq!(i32::from(moved_left(pixel, step)), expected);
            }
        }
    }
}
