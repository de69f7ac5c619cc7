//! The chips on one bus. Time is counted in processor cycles since the line in which the frame began; three colour
//! clocks of the TIA are one cycle.

use std::sync::Arc;

use crate::cartridge::{Banks, Image, Mapper};
use crate::cpu::{Held, Registers};
use crate::input::Input;
use crate::riot::Riot;
use crate::tia::{CYCLES_PER_LINE, Tia};

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
        }
    }

    /// Power on: every chip as at first, but RAM and the picture, which stay. `timer` is what the interval timer
    /// happens to hold.
    pub(crate) fn power_on(&mut self, mapper: Mapper, timer: u8) {
        self.tia.reset();
        self.riot = Riot::new(self.riot.ram, timer);
        self.banks = Banks::new(mapper);
        let low = self.image[self.banks.offset(0xfffc)];
        let high = self.image[self.banks.offset(0xfffd)];
        self.cpu = Registers::power_on(u16::from_le_bytes([low, high]));
    }

    /// Runs until the game ends its picture.
    pub(crate) fn frame(&mut self, draw: bool) {
        self.tia.draw = draw;
        if draw && self.tia.picture_begins {
            self.tia.swap_pictures();
        }
        self.tia.picture_begins = false;
        self.run(INSTRUCTIONS_PER_FRAME);
        let cycle = self.cpu.cycle;
        if self.tia.frame_ended || cycle > LONGEST_FRAME {
            let lines = self.tia.end_frame(cycle);
            let cycles = lines * CYCLES_PER_LINE;
            self.cpu.cycle -= cycles;
            self.riot.rebase(cycles);
        }
    }
}
