//! What the processor writes to the TIA, and the colour clock at which it shows.
//!
//! A write takes effect some clocks after the cycle in which it ends; the delays were measured on ale-py with every
//! register written at every cycle of a line. The picture is drawn up to that clock before the register changes,
//! unless the object is not to be seen before nor after.

use super::objects::{ball_shown, graphics, missile_shown};
use super::{
    BALL, BLANK, CLOCKS_PER_LINE, CYCLES_PER_LINE, MISSILE, NEVER, PLAYER, PLAYFIELD, Tia,
};

/// The register whose strobe holds the processor.
pub(crate) const WSYNC: u32 = 0x02;
/// Clocks until a playfield register shows, by the cycle of the line modulo four.
const PLAYFIELD_DELAY: [i32; 4] = [4, 5, 2, 3];
/// Clocks until a player's graphics, its reflection or VBLANK show.
const GRAPHICS_DELAY: i32 = 1;
/// Clocks until NUSIZ shows.
const NUSIZ_DELAY: i32 = 8;
/// A write in this line ends a frame that has seen no vertical sync; which of the two holds depends on the number of
/// lines that the game's frames have (pictures of 250 lines are those of European games). Measured with loops of
/// WSYNC and of other writes. Reads do not end a frame, and a game that writes nothing is stopped by the number of
/// its instructions.
const LAST_LINE: i32 = 291;
const LAST_LINE_EUROPE: i32 = 343;
const EUROPE_HEIGHT: i32 = 250;
/// The pixel from which on a change of the reflection waits for the next line.
const REFLECTION_FIXED: i32 = 79;

/// The cycles for which WSYNC, strobed at `cycle`, holds the processor: until the line ends.
#[inline(always)]
pub(crate) fn until_wsync_ends(cycle: i32) -> i32 {
    let last = CYCLES_PER_LINE - 1;
    last - ((cycle + last) as u32 % CYCLES_PER_LINE as u32) as i32
}

/// The first cycle at which a write ends a frame, for a picture of so many lines.
pub(super) fn last_cycle(height: i32) -> i32 {
    let last_line = if height >= EUROPE_HEIGHT {
        LAST_LINE_EUROPE
    } else {
        LAST_LINE
    };
    last_line * CYCLES_PER_LINE
}

impl Tia {
    /// A write that ends at `cycle`; the cycle at which the processor goes on (WSYNC holds it to the line's end).
    pub(crate) fn write(&mut self, address: u32, value: u8, cycle: i32) -> i32 {
        if cycle >= self.last_cycle {
            self.frame_ended = true;
        }
        self.accessed_at = cycle;
        let register = address & 0x3f;
        if register == WSYNC {
            return cycle + until_wsync_ends(cycle);
        }
        let done = self.write_register::<false>(register, value, cycle);
        debug_assert!(done.is_some(), "the picture can always be drawn first");
        cycle
    }

    /// A write to a register but WSYNC. A `QUICK` one gives up, and has changed nothing, where the picture must be
    /// drawn first or the frame may end.
    #[inline(always)]
    pub(crate) fn write_register<const QUICK: bool>(
        &mut self,
        register: u32,
        value: u8,
        cycle: i32,
    ) -> Option<()> {
        let clock = cycle.wrapping_mul(3);
        let bit = |bit: u8| value >> bit & 1 != 0;
        match register {
            0x00..=0x01 | 0x10..=0x14 | 0x2a if QUICK => return None,
            0x00 => self.vsync(value, clock),
            0x01 => self.vblank(value, cycle),
            0x04..=0x05 => self.nusiz::<QUICK>((register - 0x04) as usize, value, clock)?,
            0x06..=0x09 => self.colour::<QUICK>((register - 0x06) as usize, value & 0xfe, clock)?,
            0x0a => self.ctrlpf::<QUICK>(value, clock)?,
            0x0b..=0x0c => self.reflect::<QUICK>((register - 0x0b) as usize, bit(3), clock)?,
            0x0d => self.playfield::<QUICK>(0x0000f, u32::from(value) >> 4, clock)?,
            0x0e => {
                self.playfield::<QUICK>(0x00ff0, u32::from(value.reverse_bits()) << 4, clock)?;
            }
            0x0f => self.playfield::<QUICK>(0xff000, u32::from(value) << 12, clock)?,
            0x10..=0x11 => self.reset_player((register - 0x10) as usize, clock),
            0x12..=0x14 => self.reset_position((register - 0x10) as usize, clock),
            0x1b => self.graphics::<QUICK>(0, value, clock)?,
            0x1c => self.graphics::<QUICK>(1, value, clock)?,
            0x1d..=0x1e => {
                self.enable_missile::<QUICK>((register - 0x1d) as usize, bit(1), clock)?;
            }
            0x1f => self.enable_ball::<QUICK>(bit(1), clock)?,
            0x22 => self.move_missile::<QUICK>(value >> 4, clock)?,
            0x20..=0x24 => self.state.motion[(register - 0x20) as usize] = value >> 4,
            0x25..=0x26 => self.delay::<QUICK>((register - 0x25) as usize, bit(0), clock)?,
            0x27 => self.delay_ball::<QUICK>(bit(0), clock)?,
            0x28..=0x29 => self.lock_missile::<QUICK>((register - 0x28) as usize, bit(1), clock)?,
            0x2a => self.hmove(clock),
            0x2b => self.state.motion = [0; 5],
            0x2c => self.clear_collisions::<QUICK>(clock)?,
            _ => {}
        }
        Some(())
    }

    /// Draws up to a clock before something changes that is to be seen; `appears` says whether an object is there then
    /// that was not.
    #[inline(always)]
    fn show<const QUICK: bool>(&mut self, to: i32, appears: bool) -> Option<()> {
        let is_behind = (appears || !self.is_unseen) && self.is_behind(to);
        if QUICK && is_behind {
            return if self.is_unseen {
                self.pass_quickly(to)
            } else {
                None
            };
        }
        if is_behind {
            self.follow(to);
        }
        Some(())
    }

    #[inline(always)]
    fn clear_collisions<const QUICK: bool>(&mut self, clock: i32) -> Option<()> {
        if !self.is_unseen || self.state.collisions != 0 {
            // More can be found afterwards than before.
            self.show::<QUICK>(clock, true)?;
            self.state.collisions = 0;
            self.look_again();
        }
        Some(())
    }

    /// From the clock on to which the picture is drawn, an object is there or is not.
    #[inline(always)]
    fn set_drawn(&mut self, object: usize, drawn: bool) {
        if self.objects.is_drawn(object) != drawn {
            self.objects.set_drawn(object, drawn);
            self.look_again();
        }
    }

    /// A frame ends when VSYNC is cleared a line or more after it was set.
    fn vsync(&mut self, value: u8, clock: i32) {
        if value & 2 != 0 {
            self.state.sync_end = clock.wrapping_add(CLOCKS_PER_LINE);
        } else if clock >= self.state.sync_end {
            self.state.sync_end = NEVER;
            self.frame_ended = true;
        }
    }

    /// Bit 1 blanks the picture, bit 7 empties the paddles' capacitors.
    fn vblank(&mut self, value: u8, cycle: i32) {
        if (value ^ self.state.vblank) & 2 != 0 {
            self.catch_up(cycle.wrapping_mul(3) + GRAPHICS_DELAY);
        }
        let state = &mut self.state;
        if value & !state.vblank & 0x80 != 0 {
            state.grounded = true;
        } else if !value & state.vblank & 0x80 != 0 {
            state.grounded = false;
            state.released_at = cycle;
        }
        state.vblank = value;
        self.look_again();
    }

    #[inline(always)]
    fn nusiz<const QUICK: bool>(&mut self, side: usize, value: u8, clock: i32) -> Option<()> {
        let suppressed = self.state.suppressed[side];
        let restores = side == 0 && self.state.stars;
        if self.state.nusiz[side] == value && !suppressed && !restores {
            return Some(());
        }
        if self.objects.is_drawn(PLAYER + side) || self.objects.is_drawn(MISSILE + side) {
            self.show::<QUICK>(clock + NUSIZ_DELAY, false)?;
            self.objects.changed(PLAYER + side);
            self.objects.changed(MISSILE + side);
            self.restore_star(MISSILE + side);
        }
        self.state.suppressed[side] = false;
        self.state.nusiz[side] = value;
        Some(())
    }

    #[inline(always)]
    fn colour<const QUICK: bool>(&mut self, object: usize, value: u8, clock: i32) -> Option<()> {
        if self.state.colour[object] != value {
            if self.draw {
                self.show::<QUICK>(clock, false)?;
            }
            self.state.colour[object] = value;
        }
        Some(())
    }

    #[inline(always)]
    fn ctrlpf<const QUICK: bool>(&mut self, value: u8, clock: i32) -> Option<()> {
        // A reflection written late in a line above the picture still waits when the same value is written again.
        if self.state.ctrlpf == value && self.state.reflect == (value & 1 != 0) {
            return Some(());
        }
        self.show::<QUICK>(clock, true)?;
        self.state.ctrlpf = value;
        self.objects.changed(PLAYFIELD);
        self.objects.changed(BALL);
        // Once the right half is being drawn, its reflection stays for the line.
        if clock.rem_euclid(CLOCKS_PER_LINE) - BLANK < REFLECTION_FIXED {
            self.state.reflect = value & 1 != 0;
        }
        Some(())
    }

    #[inline(always)]
    fn reflect<const QUICK: bool>(&mut self, side: usize, value: bool, clock: i32) -> Option<()> {
        if self.state.reflected[side] != value {
            self.player_changes::<QUICK>(side, clock + GRAPHICS_DELAY)?;
            self.state.reflected[side] = value;
        }
        Some(())
    }

    /// Before a register of a player changes that does not decide whether it is seen.
    #[inline(always)]
    fn player_changes<const QUICK: bool>(&mut self, side: usize, clock: i32) -> Option<()> {
        if self.objects.is_drawn(PLAYER + side) {
            self.show::<QUICK>(clock, false)?;
            self.objects.changed(PLAYER + side);
        }
        Some(())
    }

    #[inline(always)]
    fn playfield<const QUICK: bool>(&mut self, bits: u32, value: u32, clock: i32) -> Option<()> {
        let changed = self.state.playfield & !bits | value;
        if self.state.playfield != changed {
            let phase = clock.rem_euclid(12) / 3;
            let appears = self.state.playfield == 0;
            self.show::<QUICK>(clock + PLAYFIELD_DELAY[phase as usize], appears)?;
            self.state.playfield = changed;
            self.set_drawn(PLAYFIELD, changed != 0);
            self.objects.changed(PLAYFIELD);
        }
        Some(())
    }

    /// GRP0 and GRP1: each also hands on what the other player's (and GRP1 the ball's) delay shows.
    #[inline(always)]
    fn graphics<const QUICK: bool>(&mut self, side: usize, value: u8, clock: i32) -> Option<()> {
        let other = 1 - side;
        let state = &self.state;
        let own = !state.delay[side] && state.graphics[side] != value;
        let others = state.delay[other] && state.delayed[other] != state.graphics[other];
        let ball = side == 1 && state.delay_ball && state.delayed_ball != state.ball;
        let (new_ball, new_others) = (state.ball, state.graphics[other]);
        if own || others || ball {
            let appears = own && value != 0 && !self.objects.is_drawn(PLAYER + side)
                || others && new_others != 0 && !self.objects.is_drawn(PLAYER + other)
                || ball && new_ball;
            self.show::<QUICK>(clock + GRAPHICS_DELAY, appears)?;
            if own {
                self.objects.changed(PLAYER + side);
                self.set_drawn(PLAYER + side, value != 0);
            }
            if others {
                self.objects.changed(PLAYER + other);
                self.set_drawn(PLAYER + other, new_others != 0);
            }
            if ball {
                self.objects.changed(BALL);
                self.set_drawn(BALL, new_ball);
            }
        }
        let state = &mut self.state;
        state.graphics[side] = value;
        state.delayed[other] = new_others;
        if side == 1 {
            state.delayed_ball = new_ball;
        }
        Some(())
    }

    #[inline(always)]
    fn missile_drawn(&mut self, side: usize) {
        self.set_drawn(MISSILE + side, missile_shown(&self.state, side));
    }

    #[inline(always)]
    fn enable_missile<const QUICK: bool>(
        &mut self,
        side: usize,
        value: bool,
        clock: i32,
    ) -> Option<()> {
        if self.state.missile[side] != value {
            if !self.state.locked[side] {
                self.show::<QUICK>(clock, value)?;
                self.objects.changed(MISSILE + side);
            }
            self.state.missile[side] = value;
            self.missile_drawn(side);
        }
        Some(())
    }

    #[inline(always)]
    fn enable_ball<const QUICK: bool>(&mut self, value: bool, clock: i32) -> Option<()> {
        if self.state.ball != value {
            if !self.state.delay_ball {
                self.show::<QUICK>(clock, value)?;
                self.objects.changed(BALL);
            }
            self.state.ball = value;
            self.set_drawn(BALL, ball_shown(&self.state));
        }
        Some(())
    }

    #[inline(always)]
    fn delay<const QUICK: bool>(&mut self, side: usize, value: bool, clock: i32) -> Option<()> {
        if self.state.delay[side] != value {
            if self.state.delayed[side] != self.state.graphics[side] {
                self.show::<QUICK>(clock, true)?;
                self.objects.changed(PLAYER + side);
            }
            self.state.delay[side] = value;
            self.set_drawn(PLAYER + side, graphics(&self.state, side) != 0);
        }
        Some(())
    }

    #[inline(always)]
    fn delay_ball<const QUICK: bool>(&mut self, value: bool, clock: i32) -> Option<()> {
        if self.state.delay_ball != value {
            if self.state.delayed_ball != self.state.ball {
                self.show::<QUICK>(clock, true)?;
                self.objects.changed(BALL);
            }
            self.state.delay_ball = value;
            self.set_drawn(BALL, ball_shown(&self.state));
        }
        Some(())
    }

    /// `RESMPx`: a locked missile is not seen and goes where the middle of its player is.
    #[inline(always)]
    fn lock_missile<const QUICK: bool>(
        &mut self,
        side: usize,
        value: bool,
        clock: i32,
    ) -> Option<()> {
        if self.state.locked[side] == value {
            return Some(());
        }
        if self.state.missile[side] {
            self.show::<QUICK>(clock, true)?;
            self.objects.changed(MISSILE + side);
        }
        if self.state.locked[side] {
            self.follow_player(side);
            self.restore_star(MISSILE + side);
        }
        self.state.locked[side] = value;
        self.missile_drawn(side);
        Some(())
    }
}
