//! The 6532 RIOT: 128 bytes of RAM, the interval timer, and the ports of joysticks and switches.
//!
//! The timer is never ticked: its value is a function of the cycle at which it was set and the cycle at which it is
//! read. Cycles are those of the frame ([`crate::machine`] rebases them when a frame ends).

use crate::input::Input;
use crate::state::{BadState, Tape};

/// Cycles since the timer was set, some ten minutes, of which half are forgotten then: a multiple of 2^18, in which all that
/// can be read of a timer that has run out repeats.
const LONG_AGO: i32 = 1 << 30;

/// The chip, as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Riot {
    pub(crate) ram: [u8; 128],
    /// The value last written to the timer.
    timer: u8,
    /// log2 of the cycles between two counts.
    shift: u8,
    /// The cycle at which it was written.
    set_at: i32,
    /// Whether INTIM was read since the timer ran out, and the cycle of that read.
    pub(crate) read_after_end: bool,
    read_at: i32,
    /// SWACNT: which pins of the controllers' port are outputs.
    direction: u8,
}

impl Riot {
    pub(crate) fn new(ram: [u8; 128], timer: u8) -> Self {
        Self {
            ram,
            timer,
            shift: 6,
            set_at: 0,
            read_after_end: false,
            read_at: 0,
            direction: 0,
        }
    }

    /// Counts left at `cycle`; negative once it has run out.
    fn counts(&self, cycle: i32) -> i32 {
        i32::from(self.timer) - (cycle.wrapping_sub(1).wrapping_sub(self.set_at) >> self.shift) - 1
    }

    /// What the processor reads. Ports read as what is pressed: as in ale-py nothing comes back of what is written to them, or
    /// to the direction of the switches' port.
    pub(crate) fn read(&mut self, address: u32, cycle: i32, input: &Input) -> u8 {
        match address & 7 {
            0 => input.swcha,
            1 => self.direction,
            2 => input.swchb,
            3 => 0,
            4 | 6 => self.intim(cycle),
            _ => {
                if self.counts(cycle) >= 0 || self.read_after_end {
                    0
                } else {
                    0x80
                }
            }
        }
    }

    fn intim(&mut self, cycle: i32) -> u8 {
        let counts = self.counts(cycle);
        if counts >= 0 {
            return counts as u8;
        }
        // Past its end it counts once per cycle, until a read sets it back to its interval.
        let elapsed = cycle.wrapping_sub(1).wrapping_sub(self.set_at);
        let total = i32::from(self.timer) << self.shift;
        let left = total.wrapping_sub(elapsed).wrapping_sub(1);
        if left <= -2 && !self.read_after_end {
            self.read_after_end = true;
            self.read_at = cycle;
        }
        if self.read_after_end {
            let offset = self.read_at.wrapping_sub(self.set_at.wrapping_add(total));
            i32::from(self.timer)
                .wrapping_sub(elapsed >> self.shift)
                .wrapping_sub(offset) as u8
        } else {
            left as u8
        }
    }

    pub(crate) fn write(&mut self, address: u32, value: u8, cycle: i32) {
        if address & 0x14 == 0x14 {
            self.timer = value;
            self.shift = [0, 3, 6, 10][(address & 3) as usize];
            self.set_at = cycle;
            self.read_after_end = false;
        } else if address & 7 == 1 {
            self.direction = value;
        }
    }

    /// Turns to skip in a loop that does nothing but wait for the timer: `LDA INTIM` followed by a branch back to
    /// it. `cycle` is the one at which the load ends, `branch` the opcode that follows, `period` the cycles of one
    /// turn. Every skipped turn would have taken the branch.
    pub(crate) fn skippable(&self, cycle: i32, branch: u8, period: i32) -> i32 {
        let counts = self.counts(cycle);
        if counts <= 0 || counts > 255 {
            return 0;
        }
        // The elapsed cycles at which the branch is taken no more (or, for BPL, at which the timer has run out).
        let timer = i32::from(self.timer);
        let (until, keep) = match branch {
            0xd0 => ((timer - 1) << self.shift, 0),
            0x10 if counts < 0x80 => (timer << self.shift, 1),
            0x30 if counts >= 0x81 => ((timer - 0x80) << self.shift, 0),
            _ => return 0,
        };
        let elapsed = cycle - 1 - self.set_at;
        if until <= elapsed {
            return 0;
        }
        let turns = (until - elapsed + period - 1) / period - keep;
        turns.max(0)
    }

    pub(crate) fn rebase(&mut self, cycles: i32) {
        self.set_at = self.set_at.saturating_sub(cycles);
        // A read that counts was after that.
        self.read_at = self.read_at.saturating_sub(cycles).max(self.set_at);
        if self.set_at < -LONG_AGO {
            self.set_at += LONG_AGO / 2;
            self.read_at += LONG_AGO / 2;
        }
    }

    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>, cycle: i32) -> Result<(), BadState> {
        tape.number(&mut self.ram)?;
        tape.number(&mut self.timer)?;
        let shift = tape.number(&mut self.shift)?;
        tape.check([0, 3, 6, 10].contains(&shift), "an interval")?;
        tape.number(&mut self.read_after_end)?;
        tape.within(&mut self.set_at, -LONG_AGO..=cycle, "when a timer was set")?;
        // Where a timer was set long ago, both have moved: this one may lie ahead.
        tape.within(
            &mut self.read_at,
            -LONG_AGO..=LONG_AGO,
            "when a timer was read",
        )?;
        tape.number(&mut self.direction)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Riot;
    use crate::state;

    #[test]
    fn a_timer_that_nobody_sets_counts_on_for_hours() {
        let mut riot = Riot::new([0; 128], 0x4a);
        let unread = riot.clone();
        let now = 1000 + (0x4a << 6);
        let first = [riot.intim(now), riot.intim(now + 700)];
        // Three hours, each step of which is as many turns of eight bits at the slowest interval.
        for step in 0..50_000 {
            riot.rebase(1 << 18);
            assert!(riot.set_at <= 0, "step {step}");
            assert_eq!(riot.intim(now + 700), first[1], "step {step}");
        }
        let mut unread = unread;
        (0..50_000).for_each(|_| unread.rebase(1 << 18));
        assert_eq!([unread.intim(now), unread.intim(now + 700)], first);
    }

    #[test]
    fn every_state_of_a_timer_that_is_read_late_is_taken() {
        let mut riot = Riot::new([0; 128], 0x4a);
        // Eleven minutes, a read, and another eleven.
        (0..3_000).for_each(|_| riot.rebase(1 << 18));
        riot.intim(0);
        for step in 0..3_000 {
            riot.rebase(1 << 18);
            let mut other = riot.clone();
            let state = state::save("timer", |tape| other.walk(tape, 0));
            let taken = state::restore(&state, "timer", |tape| other.walk(tape, 0));
            assert!(taken.is_ok(), "step {step}: {taken:?}");
        }
    }
}
