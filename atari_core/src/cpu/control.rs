//! The instructions that steer the program: branches, jumps, subroutines and interrupts.

use super::{Processor, flag};

impl Processor<'_> {
    /// Two cycles, one more when taken, one more across a page. The operand of a `PLAIN` one, which stays in the piece of
    /// the program, has the crossing in bit 8.
    #[inline(always)]
    pub(super) fn branch<const PLAIN: bool>(&mut self, taken: bool) {
        self.advance(2, 2);
        if !taken {
            return;
        }
        let distance = self.operand as u8 as i8;
        if PLAIN {
            self.pointer = self.pointer.moved(distance);
            self.advance(0, 1 + (self.operand >> 8) as i32);
        } else {
            let next = self.pc();
            let target = next.wrapping_add_signed(distance.into()) & 0xffff;
            self.advance(0, 1 + (((next ^ target) >> 8) & 1) as i32);
            let _done = self.jump::<false>(target);
        }
    }

    #[inline(always)]
    pub(super) fn jump_indirect<const PLAIN: bool>(&mut self) -> Option<()> {
        let at = self.operand;
        self.advance(0, 5);
        // The high byte is fetched from the same page: the 6502's well-known fault.
        let low = self.load::<PLAIN>(at, at >> 8)?;
        let high = self.load::<PLAIN>(at & 0xff00 | (at + 1) & 0xff, at >> 8)?;
        self.jump::<PLAIN>(low | high << 8)
    }

    #[inline(always)]
    pub(super) fn jsr<const PLAIN: bool>(&mut self) -> Option<()> {
        let target = self.operand;
        self.has_room::<PLAIN>(2)?;
        self.advance(2, 6);
        let back = self.pc();
        if PLAIN {
            self.jump::<true>(target)?;
            self.push_word::<true>(back);
            return Some(());
        }
        self.push_word::<false>(back);
        self.jump::<false>(target)
    }

    /// Pushes an address, high byte first.
    #[inline(always)]
    fn push_word<const PLAIN: bool>(&mut self, word: u32) {
        self.push::<PLAIN>(word >> 8);
        self.push::<PLAIN>(word & 0xff);
    }

    #[inline(always)]
    pub(super) fn rts<const PLAIN: bool>(&mut self) -> Option<()> {
        self.holds::<PLAIN>(2)?;
        self.advance(0, 6);
        let before = self.bus.held.sp;
        let low = self.pull::<PLAIN>(0x60);
        let high = self.pull::<PLAIN>(0x60);
        let done = self.jump::<PLAIN>(((low | high << 8) + 1) & 0xffff);
        if done.is_none() {
            self.bus.held.sp = before;
        }
        done
    }

    /// Rare enough to have a general form only.
    #[inline(always)]
    pub(super) fn rti<const PLAIN: bool>(&mut self) -> Option<()> {
        if PLAIN {
            return None;
        }
        self.advance(0, 6);
        let status = self.pull::<PLAIN>(0x40);
        self.set_status(status);
        let low = self.pull::<PLAIN>(0x40);
        let high = self.pull::<PLAIN>(0x40);
        self.jump::<PLAIN>(low | high << 8)
    }

    /// Rare enough to have a general form only.
    #[inline(always)]
    pub(super) fn brk<const PLAIN: bool>(&mut self) -> Option<()> {
        if PLAIN {
            return None;
        }
        self.advance(2, 7);
        self.push_word::<false>(self.pc());
        self.push::<false>(self.status());
        self.bus.held.interrupt = flag::INTERRUPT;
        let low = self.load_anywhere(0xfffe, 0);
        let high = self.load_anywhere(0xffff, 0);
        self.jump::<false>(low | high << 8)
    }

    /// An undocumented instruction after which the processor does nothing more.
    #[inline(always)]
    pub(super) fn jam(&mut self) {
        self.advance(0, 2);
        self.stop();
    }
}
