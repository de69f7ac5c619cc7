//! How the beam goes on: over lines and parts of lines that are drawn, and over those where nobody would see it.

use super::{BLANK, CLOCKS_PER_LINE, MAX_HEIGHT, NEVER, PLAYFIELD, Tia, WIDTH, paint};

impl Tia {
    /// Draws, and finds collisions, up to colour clock `to`.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, to: i32) {
        if self.is_behind(to) {
            self.follow(to);
        }
    }

    /// Goes on to clock `to`, which is behind.
    #[inline(never)]
    pub(super) fn follow(&mut self, to: i32) {
        if !self.is_unseen || self.pass_quickly(to).is_none() {
            self.draw_lines(to);
        }
    }

    /// Whether there are pixels before clock `to` that are not drawn yet.
    #[inline(always)]
    pub(super) fn is_behind(&self, to: i32) -> bool {
        to > self.state.line_clock + BLANK
    }

    #[inline(never)]
    fn draw_lines(&mut self, to: i32) {
        let bottom = self.bottom;
        let to = to.min(bottom);
        while self.state.clock < to {
            if self.is_unseen {
                self.pass(to);
                break;
            }
            self.objects.update(&self.state);
            if !self.draw && self.objects.apart() && self.is_steady() {
                self.pass(to);
                break;
            }
            let from = (self.state.clock - self.state.line_clock - BLANK).max(0);
            let lines = (to - self.state.line_clock) / CLOCKS_PER_LINE;
            let lines = if from == 0 && lines > 1 && self.is_steady() && !self.is_combed() {
                lines
            } else {
                1
            };
            let next_line = self.state.line_clock + lines * CLOCKS_PER_LINE;
            let end = to.min(next_line);
            let until = end - (next_line - CLOCKS_PER_LINE) - BLANK;
            self.state.clock = end;
            if until > from {
                self.draw_segment(lines as usize, from as usize, until as usize);
            }
            if end == next_line {
                self.state.line_clock = next_line;
                self.state.row += lines;
                self.move_stars(lines);
                self.begin_line();
            }
        }
        if to == bottom && self.state.clock >= bottom {
            self.state.line_clock = NEVER;
        }
    }

    /// Whether no collision can be found that is not latched already, whatever the objects' places.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        let state = &self.state;
        self.objects.possible_collisions() & !state.collisions == 0 || state.vblank & 2 != 0
    }

    /// After a change of what [`Tia::is_unseen`] follows from.
    #[inline(always)]
    pub(super) fn look_again(&mut self) {
        self.is_unseen = !self.draw && self.is_idle();
    }

    /// Goes on to clock `to` of the picture where nothing is seen and nothing but the comb ends with a line.
    #[inline(always)]
    pub(super) fn pass_quickly(&mut self, to: i32) -> Option<()> {
        if to >= self.bottom || !self.is_steady() {
            return None;
        }
        let lines = (to - self.state.line_clock) / CLOCKS_PER_LINE;
        self.state.clock = to;
        if lines > 0 {
            self.state.line_clock += lines * CLOCKS_PER_LINE;
            self.state.row += lines;
            self.state.comb = self.state.comb_next && lines == 1;
            self.state.comb_next = false;
        }
        Some(())
    }

    /// Whether all objects stay in their places from line to line.
    #[inline(always)]
    fn is_steady(&self) -> bool {
        let state = &self.state;
        state.suppressed == [false; 2] && state.reflect == (state.ctrlpf & 1 != 0) && !state.stars
    }

    /// Whether the first pixels of this line are black, or of the next.
    #[inline(always)]
    fn is_combed(&self) -> bool {
        self.state.comb || self.state.comb_next
    }

    /// Goes on to clock `to` where there is nothing to be drawn and nothing can touch.
    #[inline(always)]
    fn pass(&mut self, to: i32) {
        let lines = (to - self.state.line_clock) / CLOCKS_PER_LINE;
        self.state.clock = to;
        self.state.line_clock += lines * CLOCKS_PER_LINE;
        self.state.row += lines;
        self.move_stars(lines);
        // What waits for the next line is settled after two.
        (0..lines.min(2)).for_each(|_| self.begin_line());
    }

    fn begin_line(&mut self) {
        let state = &mut self.state;
        let reflect = state.ctrlpf & 1 != 0;
        if state.reflect != reflect {
            state.reflect = reflect;
            self.objects.changed(PLAYFIELD);
        }
        state.comb = state.comb_next;
        state.comb_next = false;
        for player in 0..2 {
            if state.suppressed[player] {
                state.suppressed[player] = false;
                self.objects.changed(player);
            }
        }
    }

    /// Pixels `from..until` of the current line, and of as many as are the same.
    fn draw_segment(&mut self, lines: usize, from: usize, until: usize) {
        if !self.is_idle() && !self.objects.apart() {
            self.state.collisions |= self.objects.collisions(from, until);
            self.look_again();
        }
        if self.draw {
            let rows = self.pictures.current().as_chunks_mut::<WIDTH>().0;
            let first = (self.state.row as usize).min(MAX_HEIGHT - lines);
            let rows = &mut rows[first..first + lines];
            if self.state.vblank & 2 == 0 {
                let (objects, state) = (&self.objects, &self.state);
                paint::segment(rows, from, until, objects, state, self.simd);
            } else {
                for row in rows {
                    row[from..until].fill(0);
                }
            }
        }
    }
}
