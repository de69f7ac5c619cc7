//! The TIA, which draws the picture line by line and notes which objects touch.
//!
//! Nothing is done per colour clock. A write that changes the picture first brings it up to the clock at which the
//! write takes effect ([`Tia::catch_up`]); what lies between two such writes is drawn as whole words of pixels. Every
//! object of the line is a mask of 160 bits ([`objects`]); where two masks share a bit, the objects collide.
//!
//! Clocks are colour clocks since the line in which the frame began: 228 a line, the first 68 of them blank.

mod motion;
mod objects;
mod paint;
mod pictures;
mod read;
pub(crate) mod registers;
mod stars;
mod strobes;
#[cfg(test)]
mod tests;

use objects::{Line, Objects};
use pictures::Pictures;
pub(crate) use pictures::PicturesState;

use crate::simd::Simd;

/// Pixels of a line.
pub const WIDTH: usize = 160;
/// Lines of the tallest picture that any game shows.
pub(crate) const MAX_HEIGHT: usize = 256;

pub(crate) const CYCLES_PER_LINE: i32 = 76;
pub(crate) const CLOCKS_PER_LINE: i32 = 228;
/// Colour clocks of a line before its first pixel.
const BLANK: i32 = 68;
/// No clock of a frame is this late: nothing more is drawn.
pub(crate) const NEVER: i32 = i32::MAX / 2;

/// The objects, in the order of their masks.
const PLAYER: usize = 0;
const MISSILE: usize = 2;
const BALL: usize = 4;
const PLAYFIELD: usize = 5;

/// The registers that games write, as far as they are state.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Registers {
    pub(crate) vsync: u8,
    pub(crate) vblank: u8,
    /// Number, size and width of players and missiles.
    pub(crate) nusiz: [u8; 2],
    /// Colours of player 0, player 1, playfield and background.
    pub(crate) colour: [u8; 4],
    /// This frame shows them as gray ([`Tia::end_frame`]).
    pub(crate) colour_lost: bool,
    pub(crate) ctrlpf: u8,
    /// CTRLPF bit 0 as it holds for the line being drawn.
    pub(crate) reflect: bool,
    /// PF0, PF1, PF2 in the order in which they are drawn, 20 bits.
    pub(crate) playfield: u32,
    pub(crate) reflected: [bool; 2],
    pub(crate) graphics: [u8; 2],
    /// The graphics that a vertical delay shows.
    pub(crate) delayed: [u8; 2],
    pub(crate) delay: [bool; 2],
    pub(crate) missile: [bool; 2],
    pub(crate) ball: bool,
    pub(crate) delayed_ball: bool,
    pub(crate) delay_ball: bool,
    /// Missiles that are locked to their players.
    pub(crate) locked: [bool; 2],
    /// Horizontal motion, 4 bits each.
    pub(crate) motion: [u8; 5],
    /// The pixel at which each object's first copy begins.
    pub(crate) position: [u8; 5],
    /// Players whose first copy is left out on the line being drawn (`RESPx` moved them).
    pub(crate) suppressed: [bool; 2],
    /// Collisions: two bits for each of the eight registers.
    pub(crate) collisions: u16,
    /// The first eight pixels are black on this line, on the next.
    pub(crate) comb: bool,
    pub(crate) comb_next: bool,
    /// Missile 0 is a field of stars ([`stars`]), and which of its four lines this is.
    pub(crate) stars: bool,
    pub(crate) star_line: u8,
    /// What was written on this line gave the missile its own shape again.
    pub(crate) star_restored: bool,
    /// The colour clock of the last HMOVE.
    pub(crate) moved_at: i32,
    /// The paddles' capacitors are held empty; the cycle at which they were let go.
    pub(crate) grounded: bool,
    pub(crate) released_at: i32,
}

/// The chip and the picture that it draws.
#[derive(Clone)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Tia {
    pub(crate) registers: Registers,
    /// Colour clock up to which the picture is drawn, and the one at which that line begins.
    pub(crate) clock: i32,
    pub(crate) line_clock: i32,
    /// The row of the picture that is being drawn.
    pub(crate) row: i32,
    /// First clock at which clearing VSYNC ends the frame.
    pub(crate) sync_end: i32,
    pub(crate) frame_ended: bool,
    /// The frame before this one was ended, not given up.
    pub(crate) picture_begins: bool,
    /// Whether pixels are wanted. Collisions are found in either case.
    pub(crate) draw: bool,
    /// HMOVE blackens no pixels (some cartridges are shown so).
    pub(crate) no_comb: bool,
    /// The television is one for PAL.
    pub(crate) is_pal: bool,
    /// Line of the frame at which the picture begins, and how many lines it has.
    pub(crate) top: i32,
    pub(crate) height: i32,
    /// The clock at which the picture ends.
    bottom: i32,
    /// A write from this cycle on ends a frame that has seen no vertical sync.
    pub(crate) last_cycle: i32,
    /// The cycle of this frame at which the processor wrote or read a register last.
    pub(crate) accessed_at: i32,
    simd: Simd,
    objects: Objects,
    /// No pixel is wanted and no collision can be found ([`Tia::is_idle`]): what was written since is not looked at
    /// before an object appears.
    is_unseen: bool,
    pub(crate) pictures: Pictures,
}

impl Tia {
    /// A chip whose picture begins at a line and has `height` of them, [`MAX_HEIGHT`] at most.
    pub(crate) fn new(top: i32, height: i32) -> Self {
        let mut tia = Self {
            registers: Registers::default(),
            clock: 0,
            line_clock: 0,
            row: 0,
            sync_end: NEVER,
            frame_ended: false,
            picture_begins: true,
            draw: true,
            no_comb: false,
            is_pal: false,
            top,
            height,
            bottom: (top + height) * CLOCKS_PER_LINE,
            last_cycle: registers::last_cycle(height),
            accessed_at: 0,
            simd: Simd::detect(),
            objects: Objects::default(),
            is_unseen: false,
            pictures: Pictures::new(),
        };
        tia.reset();
        tia
    }

    /// As at power on; the picture stays.
    pub(crate) fn reset(&mut self) {
        self.registers = Registers {
            moved_at: -NEVER,
            ..Registers::default()
        };
        self.sync_end = NEVER;
        self.frame_ended = false;
        self.picture_begins = true;
        self.objects_changed();
        self.start_picture();
    }

    /// Begins a frame, which is drawn or is not; a given-up picture goes on.
    pub(crate) fn start_frame(&mut self, draw: bool) {
        self.draw = draw;
        self.look_again();
    }

    /// How many pixels of the current picture, from its beginning on, are drawn or passed over.
    pub(crate) fn pixels_done(&self) -> usize {
        let clock = (self.clock - self.top * CLOCKS_PER_LINE).max(0);
        let (row, pixel) = (clock / CLOCKS_PER_LINE, clock % CLOCKS_PER_LINE - BLANK);
        row as usize * WIDTH + pixel.max(0) as usize
    }

    /// Whether the picture is done.
    pub(crate) fn is_whole(&self) -> bool {
        self.clock >= self.bottom
    }

    fn start_picture(&mut self) {
        self.accessed_at = 0;
        self.clock = self.top * CLOCKS_PER_LINE;
        self.line_clock = self.clock;
        self.row = 0;
    }

    /// Ends the frame at this line, from which the clocks of the next one count: the lines that went by. The picture
    /// was brought to its end ([`Tia::catch_up`]) before.
    ///
    /// A PAL television takes the colours' phase from the line before, which does not fit after an odd number of lines: the
    /// next frame is gray. Its palette entries are the odd ones.
    pub(crate) fn end_frame(&mut self, cycle: i32) -> i32 {
        let lines = cycle / CYCLES_PER_LINE;
        let cycles = lines * CYCLES_PER_LINE;
        self.registers.colour_lost = self.is_pal && lines & 1 == 1;
        self.registers.released_at = self
            .registers
            .released_at
            .saturating_sub(cycles)
            .max(-NEVER);
        self.registers.moved_at = self
            .registers
            .moved_at
            .saturating_sub(cycles.saturating_mul(3))
            .max(-NEVER);
        if self.sync_end != NEVER {
            self.sync_end = self
                .sync_end
                .saturating_sub(cycles.saturating_mul(3))
                .max(-NEVER);
        }
        self.start_picture();
        self.frame_ended = false;
        self.picture_begins = true;
        lines
    }

    /// Draws, and finds collisions, up to colour clock `to`.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, to: i32) {
        if self.is_behind(to) {
            self.follow(to);
        }
    }

    /// Goes on to clock `to`, which is behind.
    #[inline(never)]
    fn follow(&mut self, to: i32) {
        if !self.is_unseen || self.pass_quickly(to).is_none() {
            self.draw_lines(to);
        }
    }

    /// Whether there are pixels before clock `to` that are not drawn yet.
    #[inline(always)]
    fn is_behind(&self, to: i32) -> bool {
        to > self.line_clock + BLANK
    }

    #[inline(never)]
    fn draw_lines(&mut self, to: i32) {
        let bottom = self.bottom;
        let to = to.min(bottom);
        while self.clock < to {
            if self.is_unseen {
                self.pass(to);
                break;
            }
            self.objects.update(&self.registers);
            if !self.draw && self.objects.apart() && self.is_steady() {
                self.pass(to);
                break;
            }
            let from = (self.clock - self.line_clock - BLANK).max(0);
            let lines = (to - self.line_clock) / CLOCKS_PER_LINE;
            let lines = if from == 0 && lines > 1 && self.is_steady() && !self.is_combed() {
                lines
            } else {
                1
            };
            let next_line = self.line_clock + lines * CLOCKS_PER_LINE;
            let end = to.min(next_line);
            let until = end - (next_line - CLOCKS_PER_LINE) - BLANK;
            self.clock = end;
            if until > from {
                self.draw_segment(lines as usize, from as usize, until as usize);
            }
            if end == next_line {
                self.line_clock = next_line;
                self.row += lines;
                self.move_stars(lines);
                self.begin_line();
            }
        }
        if to == bottom && self.clock >= bottom {
            self.line_clock = NEVER;
        }
    }

    /// Whether no collision can be found that is not latched already, whatever the objects' places.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        let registers = &self.registers;
        self.objects.possible_collisions() & !registers.collisions == 0 || registers.vblank & 2 != 0
    }

    /// After a change of what [`Tia::is_unseen`] follows from.
    #[inline(always)]
    fn look_again(&mut self) {
        self.is_unseen = !self.draw && self.is_idle();
    }

    /// Goes on to clock `to` of the picture where nothing is seen and nothing but the comb ends with a line.
    #[inline(always)]
    fn pass_quickly(&mut self, to: i32) -> Option<()> {
        if to >= self.bottom || !self.is_steady() {
            return None;
        }
        let lines = (to - self.line_clock) / CLOCKS_PER_LINE;
        self.clock = to;
        if lines > 0 {
            self.line_clock += lines * CLOCKS_PER_LINE;
            self.row += lines;
            self.registers.comb = self.registers.comb_next && lines == 1;
            self.registers.comb_next = false;
        }
        Some(())
    }

    /// Whether all objects stay in their places from line to line.
    #[inline(always)]
    fn is_steady(&self) -> bool {
        let registers = &self.registers;
        registers.suppressed == [false; 2]
            && registers.reflect == (registers.ctrlpf & 1 != 0)
            && !registers.stars
    }

    /// Whether the first pixels of this line are black, or of the next.
    #[inline(always)]
    fn is_combed(&self) -> bool {
        self.registers.comb || self.registers.comb_next
    }

    /// Goes on to clock `to` where there is nothing to be drawn and nothing can touch.
    #[inline(always)]
    fn pass(&mut self, to: i32) {
        let lines = (to - self.line_clock) / CLOCKS_PER_LINE;
        self.clock = to;
        self.line_clock += lines * CLOCKS_PER_LINE;
        self.row += lines;
        self.move_stars(lines);
        // What waits for the next line is settled after two.
        (0..lines.min(2)).for_each(|_| self.begin_line());
    }

    fn begin_line(&mut self) {
        let registers = &mut self.registers;
        let reflect = registers.ctrlpf & 1 != 0;
        if registers.reflect != reflect {
            registers.reflect = reflect;
            self.objects.changed(PLAYFIELD);
        }
        registers.comb = registers.comb_next;
        registers.comb_next = false;
        for player in 0..2 {
            if registers.suppressed[player] {
                registers.suppressed[player] = false;
                self.objects.changed(player);
            }
        }
    }

    /// Pixels `from..until` of the current line, and of as many as are the same.
    fn draw_segment(&mut self, lines: usize, from: usize, until: usize) {
        if !self.is_idle() && !self.objects.apart() {
            self.registers.collisions |= self.objects.collisions(from, until);
            self.look_again();
        }
        if self.draw {
            let rows = self.pictures.current().as_chunks_mut::<WIDTH>().0;
            let first = (self.row as usize).min(MAX_HEIGHT - lines);
            let rows = &mut rows[first..first + lines];
            if self.registers.vblank & 2 == 0 {
                let (objects, registers) = (&self.objects, &self.registers);
                paint::segment(rows, from, until, objects, registers, self.simd);
            } else {
                for row in rows {
                    row[from..until].fill(0);
                }
            }
        }
    }

    pub(crate) fn objects_changed(&mut self) {
        self.objects.all_changed(&self.registers);
        self.look_again();
    }
}

/// No object anywhere.
const NOTHING: Line = [0; 3];
