//! The TIA, which draws the picture line by line and notes which objects touch.
//!
//! Nothing is done per colour clock. A write that changes the picture first brings it up to the clock at which the
//! write takes effect ([`Tia::catch_up`]); what lies between two such writes is drawn as whole words of pixels. Every
//! object of the line is a mask of 160 bits ([`objects`]); where two masks share a bit, the objects collide.
//!
//! Clocks are colour clocks since the line in which the frame began: 228 a line, the first 68 of them blank.

mod beam;
mod motion;
mod objects;
mod paint;
mod pictures;
mod read;
pub(crate) mod registers;
mod stars;
mod state;
mod strobes;
#[cfg(test)]
mod tests;

use crate::simd::Simd;
use objects::{Line, Objects};
use pictures::Pictures;
pub(crate) use pictures::black;
pub(crate) use state::State;

/// Pixels of a line.
pub const WIDTH: usize = 160;
/// Lines of the tallest picture that any game shows.
pub(crate) const MAX_HEIGHT: usize = 256;

pub(crate) const CYCLES_PER_LINE: i32 = 76;
const CLOCKS_PER_LINE: i32 = 228;
/// Colour clocks of a line before its first pixel.
const BLANK: i32 = 68;
/// No clock of a frame is this late: nothing more is drawn.
const NEVER: i32 = i32::MAX / 2;

/// The objects, in the order of their masks.
const PLAYER: usize = 0;
const MISSILE: usize = 2;
const BALL: usize = 4;
const PLAYFIELD: usize = 5;
/// No object anywhere.
const NOTHING: Line = [0; 3];

/// How a game's picture is shown: the same for good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Television {
    /// Line of the frame at which the picture begins.
    pub(crate) top: i32,
    /// Lines of the picture, [`MAX_HEIGHT`] at most.
    pub(crate) height: i32,
    /// The colours are those of PAL.
    pub(crate) is_pal: bool,
    /// HMOVE blackens no pixels (some cartridges are shown so).
    pub(crate) no_comb: bool,
}

impl Television {
    /// The clock at which the picture ends.
    fn bottom(&self) -> i32 {
        (self.top + self.height) * CLOCKS_PER_LINE
    }
}

/// The chip and the picture that it draws.
#[derive(Clone)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Tia {
    television: Television,
    bottom: i32,
    /// A write from this cycle on ends a frame that has seen no vertical sync.
    pub(crate) last_cycle: i32,
    simd: Simd,
    pub(crate) state: State,
    /// What follows from the state, kept until a register changes it.
    objects: Objects,
    /// No pixel is wanted and no collision can be found ([`Tia::is_idle`]): what was written since is not looked at
    /// before an object appears.
    is_unseen: bool,
    /// Whether pixels are wanted in this frame. Collisions are found in either case.
    draw: bool,
    /// The cycle of this frame at which the processor wrote or read a register last.
    pub(crate) accessed_at: i32,
    pub(crate) frame_ended: bool,
    pub(crate) pictures: Pictures,
}

impl Tia {
    pub(crate) fn new(television: Television) -> Self {
        let mut tia = Self {
            television,
            bottom: television.bottom(),
            last_cycle: registers::last_cycle(television.height),
            simd: Simd::detect(),
            state: State::default(),
            objects: Objects::default(),
            is_unseen: false,
            draw: true,
            accessed_at: 0,
            frame_ended: false,
            pictures: Pictures::new(),
        };
        tia.power_on();
        tia
    }

    /// How the game's picture is shown.
    pub(crate) fn television(&self) -> &Television {
        &self.television
    }

    /// As at first, but the picture, which stays.
    pub(crate) fn power_on(&mut self) {
        self.frame_ended = false;
        self.put(State::power_on(&self.television));
    }

    /// Goes on from a state.
    pub(crate) fn put(&mut self, state: State) {
        self.state = state;
        self.accessed_at = 0;
        self.objects.all_changed(&self.state);
        self.look_again();
    }

    /// Begins a frame, which is drawn or is not; a given-up picture goes on.
    pub(crate) fn start_frame(&mut self, draw: bool) {
        self.draw = draw;
        self.look_again();
    }

    /// How many pixels of the current picture, from its beginning on, are drawn or passed over.
    pub(crate) fn pixels_done(&self) -> usize {
        let clock = (self.state.clock - self.television.top * CLOCKS_PER_LINE).max(0);
        let (row, pixel) = (clock / CLOCKS_PER_LINE, clock % CLOCKS_PER_LINE - BLANK);
        row as usize * WIDTH + pixel.max(0) as usize
    }

    /// Whether the picture is done.
    pub(crate) fn is_whole(&self) -> bool {
        self.state.clock >= self.bottom
    }

    /// Ends the frame at this line, from which the clocks of the next one count: the cycles that went by. The picture
    /// was brought to its end ([`Tia::catch_up`]) before.
    ///
    /// A PAL television takes the colours' phase from the line before, which does not fit after an odd number of lines: the
    /// next frame is gray. Its palette entries are the odd ones.
    pub(crate) fn end_frame(&mut self, cycle: i32) -> i32 {
        let lines = cycle / CYCLES_PER_LINE;
        let (cycles, clocks) = (lines * CYCLES_PER_LINE, lines * CLOCKS_PER_LINE);
        let rebased = |at: i32, passed: i32| at.saturating_sub(passed).max(-NEVER);
        let state = &mut self.state;
        state.colour_lost = self.television.is_pal && lines & 1 == 1;
        state.released_at = rebased(state.released_at, cycles);
        state.moved_at = rebased(state.moved_at, clocks);
        if state.sync_end != NEVER {
            state.sync_end = rebased(state.sync_end, clocks);
        }
        state.picture_begins = true;
        state.start_picture(&self.television);
        self.accessed_at = 0;
        self.frame_ended = false;
        cycles
    }
}
