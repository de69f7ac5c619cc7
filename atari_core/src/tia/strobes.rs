//! What moves objects: strobes that put them where the beam is, and HMOVE.

use super::{BALL, BLANK, CLOCKS_PER_LINE, MISSILE, PLAYER, Tia, WIDTH, motion};

/// Where a strobe shortly after HMOVE puts an object that would be elsewhere without: object, cycle of the line at
/// which the strobe ends, cycles since HMOVE, pixel. All there are among HMOVEs at every cycle of a line and strobes up to
/// 24 cycles later, on the same line or on the next (`scripts/strobe_sweep`).
const AFTER_HMOVE: [(usize, i32, i32, u8); 7] = [
    (BALL, 6, 3, 3),
    (BALL, 9, 6, 5),
    (BALL, 10, 7, 6),
    (BALL, 20, 18, 10),
    (BALL, 23, 18, 10),
    (MISSILE, 23, 20, 8),
    (MISSILE + 1, 6, 3, 3),
];

impl Tia {
    /// A missile that is locked goes where the middle of its player is.
    pub(super) fn follow_player(&mut self, side: usize) {
        let middle = match self.state.nusiz[side] & 7 {
            5 => 8,
            7 => 16,
            _ => 4,
        };
        let position = u32::from(self.state.position[PLAYER + side]) + middle;
        self.state.position[MISSILE + side] = (position % WIDTH as u32) as u8;
    }

    /// RESP0 and RESP1: the player begins five pixels later. Its first copy is left out on this line, unless this line
    /// begins as the strobe ends, or the strobe falls in the first clocks of a copy of the old position; within a copy the
    /// old one is drawn to its end.
    pub(super) fn reset_player(&mut self, side: usize, clock: i32) {
        let pixel = clock.rem_euclid(CLOCKS_PER_LINE) - BLANK;
        let position = if pixel < 0 {
            3
        } else {
            (pixel + 5) % WIDTH as i32
        };
        let mode = self.state.nusiz[side] & 7;
        let copies: &[i32] = [
            &[0][..],
            &[0, 16],
            &[0, 32],
            &[0, 16, 32],
            &[0, 64],
            &[0],
            &[0, 32, 64],
            &[0],
        ][usize::from(mode)];
        let copy_end = match mode {
            5 => 20,
            7 => 36,
            _ => 12,
        };
        let (mut suppressed, mut shown_at) = (true, clock);
        for copy in copies {
            let into =
                (position - i32::from(self.state.position[side]) - copy).rem_euclid(WIDTH as i32);
            if into < 4 {
                suppressed = false;
                break;
            }
            if into < copy_end {
                shown_at = clock + 11;
                break;
            }
        }
        suppressed &= pixel > -BLANK;
        // Unseen players, too: the line from which their first copy is left out must be the one being drawn.
        self.catch_up(shown_at);
        self.objects.changed(PLAYER + side);
        self.state.position[side] = position as u8;
        self.state.suppressed[side] = suppressed;
    }

    /// RESM0, RESM1 and RESBL, with the positions of [`AFTER_HMOVE`].
    pub(super) fn reset_position(&mut self, object: usize, clock: i32) {
        let pixel = clock.rem_euclid(CLOCKS_PER_LINE) - BLANK;
        let position = if pixel < 0 {
            2
        } else {
            ((pixel + 4) % WIDTH as i32) as u8
        };
        let cycle = clock.rem_euclid(CLOCKS_PER_LINE) / 3;
        let since = clock.wrapping_sub(self.state.moved_at) / 3;
        let exception = AFTER_HMOVE
            .iter()
            .find(|case| (case.0, case.1, case.2) == (object, cycle, since));
        let position = exception.map_or(position, |case| case.3);
        let restores = object == MISSILE && self.state.stars;
        if self.state.position[object] != position || restores {
            let delay = if object == BALL { 0 } else { 8 };
            if self.objects.is_drawn(object) {
                self.catch_up(clock + delay);
                self.objects.changed(object);
            }
            self.state.position[object] = position;
            self.restore_star(object);
        }
    }

    pub(super) fn hmove(&mut self, clock: i32) {
        self.catch_up(clock);
        self.state.moved_at = clock;
        if self.state.stars {
            self.state.stars = false;
            self.objects.changed(MISSILE);
        }
        let cycle = clock as usize % CLOCKS_PER_LINE as usize / 3;
        if !self.television.no_comb {
            let (now, next) = motion::comb(cycle);
            self.state.comb |= now;
            self.state.comb_next |= next;
        }
        let distances = motion::distances(cycle);
        // Many games strobe HMOVE on every line and move nothing.
        if self.state.motion != [0; 5] || distances[0] != 0 {
            for object in PLAYER..=BALL {
                let left = distances[usize::from(self.state.motion[object] & 15)];
                if left != 0 {
                    let position = &mut self.state.position[object];
                    *position = motion::moved_left(*position, left.into());
                    self.objects.changed(object);
                }
            }
        }
        if self.state.suppressed != [false; 2] {
            self.state.suppressed = [false; 2];
            self.objects.changed(PLAYER);
            self.objects.changed(PLAYER + 1);
        }
    }
}
