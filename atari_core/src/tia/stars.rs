//! The stars of Cosmic Ark and Journey Escape: a missile that an HMOVE without end keeps moving.
//!
//! HMM0 rewritten while HMOVE's counter runs can miss the count at which the extra clocks would end. The missile then
//! gets one every four clocks for ever, seventeen on a line; in the visible part they fall together with its own
//! clocks, so that it comes out misshapen on some lines. ale-py does so for one case, which these were measured on: HMM0
//! from 7 to 6, to the cycle 21 cycles after HMOVE. The next HMOVE ends it.

use super::{MISSILE, Tia, motion};

/// Colour clocks from an HMOVE to the write of HMM0 that it never ends after.
const CLOCKS: i32 = 63;
/// Pixels to the left, by the line of four that begins.
const STEPS: [i32; 4] = [18, 33, 0, 17];
/// The line on which the missile is at least two pixels wide, and eight for four; and the one without it.
pub(super) const WIDE: u8 = 1;
pub(super) const DARK: u8 = 2;

impl Tia {
    /// A write to HMM0; a `QUICK` one gives up where the stars begin.
    #[inline(always)]
    pub(super) fn move_missile<const QUICK: bool>(&mut self, motion: u8, clock: i32) -> Option<()> {
        let before = self.state.motion[MISSILE];
        if before == 7 && motion == 6 && clock.wrapping_sub(self.state.moved_at) == CLOCKS {
            if QUICK {
                return None;
            }
            self.catch_up(clock);
            self.state.stars = true;
            self.state.star_line = 0;
            self.state.star_restored = false;
            self.objects.changed(MISSILE);
        }
        self.state.motion[MISSILE] = motion;
        Some(())
    }

    /// So many lines began, the last one in [`Tia::row`]; none begins below the picture.
    #[inline(always)]
    pub(super) fn move_stars(&mut self, lines: i32) {
        if self.state.stars {
            self.move_stars_on(lines - i32::from(self.state.row >= self.television.height));
        }
    }

    #[inline(never)]
    fn move_stars_on(&mut self, lines: i32) {
        let state = &mut self.state;
        for _ in 0..lines {
            state.star_line = state.star_line.wrapping_add(1) & 3;
            let step = STEPS[usize::from(state.star_line)];
            let position = &mut state.position[MISSILE];
            *position = motion::moved_left(*position, step);
        }
        state.star_restored = false;
        self.objects.changed(MISSILE);
    }

    /// The picture is drawn up to a write of NUSIZ0, RESM0 or RESMP0: for the rest of the line the missile has its own
    /// shape.
    #[inline(always)]
    pub(super) fn restore_star(&mut self, missile: usize) {
        if self.state.stars && missile == MISSILE {
            self.state.star_restored = true;
            self.objects.changed(MISSILE);
        }
    }
}
