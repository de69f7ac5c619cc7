//! [`State`]: all that decides how the chip goes on.

use super::{CLOCKS_PER_LINE, NEVER, Television, WIDTH};
use crate::state::{BadState, Tape};

/// The registers that games write, as far as they decide anything, and where the beam is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct State {
    pub(super) vblank: u8,
    pub(super) ctrlpf: u8,
    /// CTRLPF bit 0 as it holds for the line being drawn.
    pub(super) reflect: bool,
    /// Number, size and width of players and missiles.
    pub(super) nusiz: [u8; 2],
    /// Colours of player 0, player 1, playfield and background.
    pub(super) colour: [u8; 4],
    /// This frame shows them as gray ([`super::Tia::end_frame`]).
    pub(super) colour_lost: bool,
    /// PF0, PF1, PF2 in the order in which they are drawn, 20 bits.
    pub(super) playfield: u32,
    pub(super) reflected: [bool; 2],
    pub(super) graphics: [u8; 2],
    /// The graphics that a vertical delay shows.
    pub(super) delayed: [u8; 2],
    pub(super) delay: [bool; 2],
    pub(super) missile: [bool; 2],
    pub(super) ball: bool,
    pub(super) delayed_ball: bool,
    pub(super) delay_ball: bool,
    /// Missiles that are locked to their players.
    pub(super) locked: [bool; 2],
    /// Horizontal motion, 4 bits each.
    pub(super) motion: [u8; 5],
    /// The pixel at which each object's first copy begins.
    pub(super) position: [u8; 5],
    /// Players whose first copy is left out on the line being drawn (`RESPx` moved them).
    pub(super) suppressed: [bool; 2],
    /// Collisions: two bits for each of the eight registers.
    pub(super) collisions: u16,
    /// The first eight pixels are black on this line, on the next.
    pub(super) comb: bool,
    pub(super) comb_next: bool,
    /// Missile 0 is a field of stars ([`super::stars`]), and which of its four lines this is.
    pub(super) stars: bool,
    pub(super) star_line: u8,
    /// What was written on this line gave the missile its own shape again.
    pub(super) star_restored: bool,
    /// The colour clock of the last HMOVE.
    pub(super) moved_at: i32,
    /// The paddles' capacitors are held empty; the cycle at which they were let go.
    pub(super) grounded: bool,
    pub(super) released_at: i32,
    /// First clock at which clearing VSYNC ends the frame.
    pub(super) sync_end: i32,
    /// The row of the picture that is being drawn.
    pub(super) row: i32,
    /// Colour clock up to which the picture is drawn, and the one at which that line begins.
    pub(super) clock: i32,
    pub(super) line_clock: i32,
    /// The frame before this one was ended, not given up.
    pub(crate) picture_begins: bool,
}

impl State {
    /// At power on; a picture begins then.
    pub(super) fn power_on(television: &Television) -> Self {
        let mut state = Self {
            moved_at: -NEVER,
            sync_end: NEVER,
            picture_begins: true,
            ..Self::default()
        };
        state.start_picture(television);
        state
    }

    /// Before the first line of a picture.
    pub(super) fn start_picture(&mut self, television: &Television) {
        self.clock = television.top * CLOCKS_PER_LINE;
        self.line_clock = self.clock;
        self.row = 0;
    }

    /// Goes over a state at `cycle`: every clock is one that a frame can come to, and every table is looked up within its
    /// bounds.
    pub(crate) fn walk(
        &mut self,
        tape: &mut Tape<'_>,
        television: &Television,
        cycle: i32,
    ) -> Result<(), BadState> {
        tape.number(&mut self.vblank)?;
        tape.number(&mut self.ctrlpf)?;
        tape.number(&mut self.reflect)?;
        tape.number(&mut self.nusiz)?;
        tape.number(&mut self.colour)?;
        tape.number(&mut self.colour_lost)?;
        tape.within(&mut self.playfield, ..1 << 20, "the playfield")?;
        tape.number(&mut self.reflected)?;
        tape.number(&mut self.graphics)?;
        tape.number(&mut self.delayed)?;
        tape.number(&mut self.delay)?;
        tape.number(&mut self.missile)?;
        tape.number(&mut self.ball)?;
        tape.number(&mut self.delayed_ball)?;
        tape.number(&mut self.delay_ball)?;
        tape.number(&mut self.locked)?;
        for motion in &mut self.motion {
            tape.within(motion, ..16, "a motion")?;
        }
        for position in &mut self.position {
            tape.within(position, ..WIDTH as u8, "a position")?;
        }
        tape.number(&mut self.suppressed)?;
        tape.number(&mut self.collisions)?;
        tape.number(&mut self.comb)?;
        tape.number(&mut self.comb_next)?;
        tape.number(&mut self.stars)?;
        tape.within(&mut self.star_line, ..4, "a line of stars")?;
        tape.number(&mut self.star_restored)?;
        tape.within(&mut self.moved_at, -NEVER..=NEVER, "a clock")?;
        tape.number(&mut self.grounded)?;
        let released = &mut self.released_at;
        tape.within(released, -NEVER..=cycle, "when the paddles were let go")?;
        tape.within(&mut self.sync_end, -NEVER..=NEVER, "a clock")?;
        let row = tape.within(&mut self.row, 0..=television.height, "the row")?;
        let begins = (television.top + row) * CLOCKS_PER_LINE;
        let end = (begins + CLOCKS_PER_LINE).min(television.bottom());
        tape.within(&mut self.clock, begins - CLOCKS_PER_LINE..=end, "the clock")?;
        let line_clock = tape.number(&mut self.line_clock)?;
        tape.check([begins, NEVER].contains(&line_clock), "the clock of a line")?;
        tape.number(&mut self.picture_begins)?;
        Ok(())
    }
}
