//! The DPC of Pitfall II: eight data fetchers, three of which can play music, and random numbers.
//!
//! David Crane's chip (US patent 4,644,495) has its registers where RAM cartridges have RAM: 64 that are read, from
//! $1000, and 64 that are written, from $1040. A fetcher counts down through 2 KiB of display data, which lie
//! backwards, a byte for each read; its flag says whether its count is between its top and its bottom. In music mode
//! an oscillator counts instead, and the flag is a square wave. The chip is as ale-py has it, measured with ROMs that
//! read and write its registers at random; the patent has more (a fetcher that draws lines, bits turned around on the
//! way), which no game uses and which reads as 0 there.

use super::Image;
use crate::state::{BadState, Tape};

/// Where the display data begin in the ROM, and how many there are.
const DISPLAY: usize = 0x2000;
const DISPLAY_LENGTH: usize = 0x800;
/// The fetchers that can play.
const FIRST_MUSIC: usize = 5;
/// How loud the music is, by which of its square waves are high.
const AMPLITUDES: [u8; 8] = [0, 4, 5, 9, 6, 10, 11, 15];
/// The oscillator is not followed over more cycles than these.
const LONG_AGO: i32 = i32::MAX / 2;
/// Hertz of the oscillator and of the processor, as ale-py has them.
const OSCILLATOR: f64 = 15_750.0;
const PROCESSOR: f64 = 1_193_191.666_67;

/// The registers of the chip. Power on leaves them alone.
#[derive(Clone)]
pub(super) struct Dpc {
    tops: [u8; 8],
    bottoms: [u8; 8],
    /// 11 bits each.
    counters: [u16; 8],
    /// $ff or 0.
    flags: [u8; 8],
    random: u8,
    /// Which of the last three fetchers are in music mode.
    plays: [bool; 3],
    /// The cycle up to which the oscillator was followed, and the part of the next swing that was done by then.
    followed_to: i32,
    phase: f64,
}

impl Dpc {
    pub(super) fn new() -> Self {
        Self {
            tops: [0; 8],
            bottoms: [0; 8],
            counters: [0; 8],
            flags: [0; 8],
            random: 1,
            plays: [false; 3],
            followed_to: 0,
            phase: 0.0,
        }
    }

    /// Power on: the oscillator begins anew, at cycle 0, and the processor reads the two bytes that say where it begins.
    pub(super) fn power_on(&mut self) {
        self.followed_to = 0;
        self.phase = 0.0;
        (0..2).for_each(|_| self.clock());
    }

    /// The cycles of the frame count from another one.
    pub(super) fn rebase(&mut self, cycles: i32) {
        self.followed_to = self.followed_to.saturating_sub(cycles).max(-LONG_AGO);
    }

    pub(super) fn walk(&mut self, tape: &mut Tape<'_>, cycle: i32) -> Result<(), BadState> {
        tape.number(&mut self.tops)?;
        tape.number(&mut self.bottoms)?;
        tape.number(&mut self.flags)?;
        for counter in &mut self.counters {
            tape.within(counter, ..DISPLAY_LENGTH as u16, "a counter")?;
        }
        tape.number(&mut self.random)?;
        tape.number(&mut self.plays)?;
        let followed_to = &mut self.followed_to;
        tape.within(followed_to, -LONG_AGO..=cycle, "the oscillator")?;
        tape.within(&mut self.phase, 0.0..1.0, "the oscillator")?;
        Ok(())
    }

    /// An access draws the next random number: a shift register takes in the inverted parity of four of its bits.
    pub(super) fn clock(&mut self) {
        let parity = (self.random & 0b1011_1000).count_ones() as u8 & 1;
        self.random = self.random << 1 | (parity ^ 1);
    }

    /// What a register holds at `cycle`.
    pub(super) fn read(&mut self, image: &Image, register: u32, cycle: i32) -> u8 {
        self.clock();
        let fetcher = (register & 7) as usize;
        let count = self.counters[fetcher];
        if count as u8 == self.tops[fetcher] {
            self.flags[fetcher] = 0xff;
        } else if count as u8 == self.bottoms[fetcher] {
            self.flags[fetcher] = 0;
        }
        if !self.is_music(fetcher) {
            self.counters[fetcher] = count.wrapping_sub(1) & 0x7ff;
        }
        let data = || image[DISPLAY + DISPLAY_LENGTH - 1 - usize::from(count)];
        match register >> 3 & 7 {
            0 if fetcher < 4 => self.random,
            0 => {
                self.follow_oscillator(cycle);
                self.amplitude()
            }
            1 => data(),
            2 => data() & self.flags[fetcher],
            7 => self.flags[fetcher],
            _ => 0,
        }
    }

    /// A write to a register.
    pub(super) fn write(&mut self, register: u32, value: u8) {
        let fetcher = (register & 7) as usize;
        let counter = &mut self.counters[fetcher];
        match register >> 3 & 7 {
            0 => {
                self.tops[fetcher] = value;
                self.flags[fetcher] = 0;
            }
            1 => self.bottoms[fetcher] = value,
            2 => {
                // Music begins at the top whatever is written.
                let low = if fetcher >= FIRST_MUSIC && self.plays[fetcher - FIRST_MUSIC] {
                    self.tops[fetcher]
                } else {
                    value
                };
                *counter = *counter & 0x700 | u16::from(low);
            }
            3 => {
                *counter = *counter & 0xff | u16::from(value & 7) << 8;
                if fetcher >= FIRST_MUSIC {
                    self.plays[fetcher - FIRST_MUSIC] = value & 0x10 != 0;
                }
            }
            6 => self.random = 1,
            _ => {}
        }
    }

    fn is_music(&self, fetcher: usize) -> bool {
        fetcher >= FIRST_MUSIC && self.plays[fetcher - FIRST_MUSIC]
    }

    /// Lets the fetchers that play count as often as the oscillator has swung since it was followed last.
    fn follow_oscillator(&mut self, cycle: i32) {
        let elapsed = f64::from(cycle) - f64::from(self.followed_to);
        self.followed_to = cycle;
        let swung = OSCILLATOR * elapsed / PROCESSOR + self.phase;
        let swings = swung as i64;
        self.phase = swung.fract();
        if swings == 0 {
            return;
        }
        for fetcher in (FIRST_MUSIC..8).filter(|&fetcher| self.plays[fetcher - FIRST_MUSIC]) {
            let (top, counter) = (self.tops[fetcher], &mut self.counters[fetcher]);
            // From its bottom at 0 it goes back to its top.
            let period = i64::from(top) + 1;
            let mut low = i64::from(*counter & 0xff) - swings % period;
            if top == 0 {
                low = 0;
            } else if low < 0 {
                low += period;
            }
            if low <= self.bottoms[fetcher].into() {
                self.flags[fetcher] = 0;
            } else if low <= top.into() {
                self.flags[fetcher] = 0xff;
            }
            *counter = *counter & 0x700 | low as u16;
        }
    }

    fn amplitude(&self) -> u8 {
        let wave = |voice: usize| {
            let is_high = self.plays[voice] && self.flags[FIRST_MUSIC + voice] != 0;
            usize::from(is_high) << voice
        };
        AMPLITUDES[wave(0) | wave(1) | wave(2)]
    }
}
