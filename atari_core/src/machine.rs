//! The chips on one bus. Time is counted in processor cycles since the line in which the frame began; three colour
//! clocks of the TIA are one cycle.

use std::sync::Arc;

use crate::cartridge::Banks;
use crate::cpu::{Held, Program, Registers};
use crate::input::Input;
use crate::riot::Riot;
use crate::state::{BadState, Tape};
use crate::tia::{self, CYCLES_PER_LINE, Television, Tia};

/// Processor instructions after which a frame is given up (a game that sends no vertical sync).
const INSTRUCTIONS_PER_FRAME: u32 = 25_000;
/// A frame that does not end is rebased here, so that its clocks cannot overflow.
pub(crate) const LONGEST_FRAME: i32 = 1 << 24;

/// Everything that changes while a game runs, except what the rules of the game remember.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) program: Arc<Program>,
    pub(crate) cpu: Registers,
    pub(crate) held: Held,
    pub(crate) tia: Tia,
    pub(crate) riot: Riot,
    pub(crate) banks: Banks,
    pub(crate) input: Input,
    /// Of this frame's picture and of the other one: where the frame began that left it undrawn.
    undrawn: [Option<Chips>; 2],
}

/// The states of the chips, from which a frame is emulated again.
#[derive(Clone)]
struct Chips {
    cpu: Registers,
    riot: Riot,
    banks: Banks,
    input: Input,
    tia: tia::State,
}

impl Chips {
    fn walk(&mut self, tape: &mut Tape<'_>, television: &Television) -> Result<(), BadState> {
        let cycle = self.cpu.walk(tape)?;
        self.riot.walk(tape, cycle)?;
        self.banks.walk(tape, cycle)?;
        self.input.walk(tape)?;
        self.tia.walk(tape, television, cycle)
    }
}

impl Machine {
    pub(crate) fn new(program: Arc<Program>, television: Television, ram: [u8; 128]) -> Self {
        Self {
            cpu: Registers::default(),
            held: Held::default(),
            tia: Tia::new(television),
            riot: Riot::new(ram, 0),
            banks: Banks::new(program.mapper),
            input: Input::new(),
            undrawn: [None, None],
            program,
        }
    }

    /// Power on: every chip as at first, but RAM and the picture, which stay. `timer` is what the interval timer
    /// happens to hold.
    pub(crate) fn power_on(&mut self, timer: u8) {
        self.tia.power_on();
        self.riot = Riot::new(self.riot.ram, timer);
        self.banks.power_on();
        let low = self.program.bytes[self.banks.offset(0xfffc)];
        let high = self.program.bytes[self.banks.offset(0xfffd)];
        self.cpu = Registers::power_on(u16::from_le_bytes([low, high]));
    }

    /// Runs until the game ends its picture.
    ///
    /// A frame that is not drawn costs less, and is drawn later if it is missed: what the picture of a frame leaves
    /// out, because the game ended it early, shows from the frame before the last one.
    pub(crate) fn frame(&mut self, draw: bool) {
        let begins = self.tia.state.picture_begins;
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
        let cycles = self.tia.end_frame(self.cpu.cycle);
        self.cpu.cycle -= cycles;
        self.riot.rebase(cycles);
        self.banks.rebase(cycles);
    }

    /// One frame as it is; the first pixel that its picture leaves out, if it leaves out any.
    fn play(&mut self, draw: bool) -> Option<usize> {
        self.tia.start_frame(draw);
        self.tia.state.picture_begins = false;
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
        let drawn = self.tia.pictures.replace(tia::black());
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
    fn chips(&self) -> Chips {
        Chips {
            cpu: self.cpu,
            riot: self.riot.clone(),
            banks: self.banks.clone(),
            input: self.input.clone(),
            tia: self.tia.state,
        }
    }

    fn put(&mut self, chips: Chips) {
        self.cpu = chips.cpu;
        self.riot = chips.riot;
        self.banks = chips.banks;
        self.input = chips.input;
        self.tia.put(chips.tia);
    }

    /// Goes over the chips and where undrawn frames began; the pictures are others' to go over.
    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        let mut now = self.chips();
        now.walk(tape, self.tia.television())?;
        for undrawn in &mut self.undrawn {
            let is_undrawn = tape.number(&mut undrawn.is_some())?;
            let mut start = undrawn.clone().unwrap_or_else(|| now.clone());
            if is_undrawn {
                start.walk(tape, self.tia.television())?;
            }
            if tape.reads() {
                *undrawn = is_undrawn.then_some(start);
            }
        }
        if tape.reads() {
            self.put(now);
        }
        Ok(())
    }
}
