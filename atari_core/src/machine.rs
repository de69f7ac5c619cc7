//! The chips on one bus. Time is counted in processor cycles since the line in which the frame began; three colour
//! clocks of the TIA are one cycle.

use std::sync::Arc;

use crate::cartridge::{Banks, Image, zeros};
use crate::cpu::{Held, Registers};
use crate::input::Input;
use crate::mapper::Mapper;
use crate::riot::Riot;
use crate::tia::{self, CYCLES_PER_LINE, Tia};

/// Processor instructions after which a frame is given up (a game that sends no vertical sync).
const INSTRUCTIONS_PER_FRAME: u32 = 25_000;
/// A frame that does not end is rebased here, so that its clocks cannot overflow.
pub(crate) const LONGEST_FRAME: i32 = 1 << 24;

/// Everything that changes while a game runs, except what the rules of the game remember.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) image: Arc<Image>,
    pub(crate) cpu: Registers,
    pub(crate) held: Held,
    pub(crate) tia: Tia,
    pub(crate) riot: Riot,
    pub(crate) banks: Banks,
    pub(crate) input: Input,
    /// Of this frame's picture and of the other one: where the frame began that left it undrawn.
    pub(crate) undrawn: [Option<Chips>; 2],
}

/// The chips without the pictures.
#[derive(Clone)]
pub(crate) struct Chips {
    pub(crate) cpu: Registers,
    pub(crate) riot: Riot,
    pub(crate) banks: Banks,
    pub(crate) input: Input,
    pub(crate) registers: tia::Registers,
    pub(crate) clock: i32,
    pub(crate) line_clock: i32,
    pub(crate) row: i32,
    pub(crate) sync_end: i32,
    pub(crate) picture_begins: bool,
}

impl Machine {
    pub(crate) fn new(
        image: Arc<Image>,
        mapper: Mapper,
        top: i32,
        height: i32,
        ram: [u8; 128],
    ) -> Self {
        Self {
            image,
            cpu: Registers::default(),
            held: Held::default(),
            tia: Tia::new(top, height),
            riot: Riot::new(ram, 0),
            banks: Banks::new(mapper),
            input: Input::new(),
            undrawn: [None, None],
        }
    }

    /// Power on: every chip as at first, but RAM and the picture, which stay. `timer` is what the interval timer
    /// happens to hold.
    pub(crate) fn power_on(&mut self, timer: u8) {
        self.tia.reset();
        self.riot = Riot::new(self.riot.ram, timer);
        self.banks.power_on();
        let low = self.image.bytes[self.banks.offset(0xfffc)];
        let high = self.image.bytes[self.banks.offset(0xfffd)];
        self.cpu = Registers::power_on(u16::from_le_bytes([low, high]));
    }

    /// Runs until the game ends its picture.
    ///
    /// A frame that is not drawn costs less, and is drawn later if it is missed: what the picture of a frame leaves
    /// out, because the game ended it early, shows from the frame before the last one.
    pub(crate) fn frame(&mut self, draw: bool) {
        let begins = self.tia.picture_begins;
        if begins {
            self.tia.pictures.turn();
            self.undrawn.swap(0, 1);
        }
        if draw {
            self.tia.pictures.show();
        }
        // Only a picture that is begun and ended in one frame can be left for later.
        if draw || !begins {
            let missing = self.play(true);
            self.complete(missing);
            return;
        }
        let start = self.chips();
        if self.play(false).is_some() {
            self.put(start);
            let missing = self.play(true);
            self.complete(missing);
        } else {
            self.undrawn[0] = Some(start);
        }
    }

    /// Runs until the game ends its picture, but for some lines at most; nobody sees it.
    pub(crate) fn lines(&mut self, lines: i32) {
        self.tia.start_frame(false);
        let end = self.cpu.cycle + lines * CYCLES_PER_LINE;
        while self.cpu.cycle < end {
            self.run(1);
            if self.tia.frame_ended {
                self.end_frame();
                break;
            }
        }
    }

    /// Ends the frame: the clocks of the next one count from here.
    fn end_frame(&mut self) {
        let lines = self.tia.end_frame(self.cpu.cycle);
        let cycles = lines * CYCLES_PER_LINE;
        self.cpu.cycle -= cycles;
        self.riot.rebase(cycles);
        self.banks.rebase(cycles);
    }

    /// One frame as it is; the first pixel that its picture leaves out, if it leaves out any.
    fn play(&mut self, draw: bool) -> Option<usize> {
        self.tia.start_frame(draw);
        self.tia.picture_begins = false;
        self.run(INSTRUCTIONS_PER_FRAME);
        let cycle = self.cpu.cycle;
        let ends = self.tia.frame_ended || cycle > LONGEST_FRAME;
        // A frame that is given up shows what was drawn when the TIA was accessed last, as in ale-py.
        let seen = if ends { cycle } else { self.tia.accessed_at };
        self.tia.catch_up(seen.saturating_mul(3));
        let missing = (!ends || !self.tia.is_whole()).then(|| self.tia.pixels_done());
        if ends {
            self.end_frame();
        }
        missing
    }

    /// After a frame was drawn: from the first pixel that it left out its picture shows the frame before the last one,
    /// which is drawn now if it was not.
    fn complete(&mut self, missing: Option<usize>) {
        let (Some(first), Some(start)) = (missing, self.undrawn[0].take()) else {
            self.undrawn[0] = None;
            return;
        };
        let now = self.chips();
        let drawn = self.tia.pictures.replace(zeros());
        self.put(start);
        self.play(true);
        let before = self.tia.pictures.replace(drawn);
        self.tia.pictures.current()[first..].copy_from_slice(&before[first..]);
        self.put(now);
    }

    /// Shows the last frame, drawn now if it was not: for whoever looks at it after all.
    pub(crate) fn draw_last(&mut self) {
        if let Some(start) = self.undrawn[0].take() {
            let now = self.chips();
            self.put(start);
            self.play(true);
            self.put(now);
        }
        self.tia.pictures.show();
    }

    /// As they are now.
    pub(crate) fn chips(&self) -> Chips {
        let tia = &self.tia;
        Chips {
            cpu: self.cpu,
            riot: self.riot.clone(),
            banks: self.banks.clone(),
            input: self.input.clone(),
            registers: tia.registers,
            clock: tia.clock,
            line_clock: tia.line_clock,
            row: tia.row,
            sync_end: tia.sync_end,
            picture_begins: tia.picture_begins,
        }
    }

    fn put(&mut self, chips: Chips) {
        self.cpu = chips.cpu;
        self.riot = chips.riot;
        self.banks = chips.banks;
        self.input = chips.input;
        let tia = &mut self.tia;
        tia.registers = chips.registers;
        tia.clock = chips.clock;
        tia.line_clock = chips.line_clock;
        tia.row = chips.row;
        tia.sync_end = chips.sync_end;
        tia.picture_begins = chips.picture_begins;
        tia.accessed_at = 0;
        tia.objects_changed();
    }

    /// Goes on from other chips, and frames that others have left undrawn.
    pub(crate) fn restore(&mut self, chips: Chips, undrawn: [Option<Chips>; 2]) {
        self.put(chips);
        self.undrawn = undrawn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cartridge::Cartridge;

    /// A game that ends some of its pictures early, of lines whose colours change from frame to frame.
    #[rustfmt::skip]
    const SHORT_FRAMES: &[u8] = &[
        0xa9, 0x02,             // f000 LDA #2
        0x85, 0x00,             //      STA VSYNC
        0x85, 0x02, 0x85, 0x02, //      STA WSYNC, twice
        0xa9, 0x00,             //      LDA #0
        0x85, 0x00,             //      STA VSYNC
        0xe6, 0x80,             //      INC $80
        0xa6, 0x80,             //      LDX $80
        0xbc, 0x40, 0xf0,       //      LDY $f040,X
        0x98,                   // f013 TYA
        0x45, 0x80,             //      EOR $80
        0x85, 0x09,             //      STA COLUBK
        0x85, 0x02,             //      STA WSYNC
        0x88,                   //      DEY
        0xd0, 0xf6,             //      BNE $f013
        0x4c, 0x00, 0xf0,       //      JMP $f000
    ];

    #[test]
    fn pictures_are_the_same_whichever_frames_are_drawn() {
        let mut rom = [0; 4096];
        rom[..SHORT_FRAMES.len()].copy_from_slice(SHORT_FRAMES);
        // Lines of each frame: most are whole pictures.
        for (frame, lines) in rom[0x40..].iter_mut().enumerate() {
            *lines = if frame % 7 % 3 == 2 {
                40 + (frame * 37 % 150) as u8
            } else {
                250
            };
        }
        rom[0xffc..0xffe].copy_from_slice(&[0x00, 0xf0]);
        let cartridge = Cartridge::with_mapper("short", &rom, Mapper::Flat).expect("4 KiB");
        let image = cartridge.image().clone();
        let mut always = Machine::new(image, Mapper::Flat, 34, 210, [0; 128]);
        always.power_on(0);
        let mut sometimes = always.clone();
        for frame in 0..200 {
            always.frame(true);
            let draw = frame * frame % 11 < 4;
            sometimes.frame(draw);
            assert_eq!(always.cpu, sometimes.cpu, "frame {frame}");
            let looks = frame % 3 == 0;
            if looks {
                sometimes.draw_last();
            }
            if draw || looks {
                let pictures = [&always, &sometimes].map(|one| one.tia.pictures.shown());
                assert!(pictures[0] == pictures[1], "the picture of frame {frame}");
            }
        }
    }
}
