//! What the instructions do with their operand, documented and undocumented ones.
//!
//! Readers take the operand, modifiers take it and give what is written back, stores give what is written.

use super::{Processor, decimal, flag};

/// Operations whose operand is read: the result goes to a register or to the flags.
impl Processor<'_> {
    #[inline(always)]
    pub(super) fn lda(&mut self, operand: u32) {
        self.a = operand;
        self.set_zero_negative(operand);
    }

    #[inline(always)]
    pub(super) fn ldx(&mut self, operand: u32) {
        self.x = operand;
        self.set_zero_negative(operand);
    }

    #[inline(always)]
    pub(super) fn ldy(&mut self, operand: u32) {
        self.y = operand;
        self.set_zero_negative(operand);
    }

    #[inline(always)]
    pub(super) fn ora(&mut self, operand: u32) {
        self.lda(self.a | operand);
    }

    #[inline(always)]
    pub(super) fn and(&mut self, operand: u32) {
        self.lda(self.a & operand);
    }

    #[inline(always)]
    pub(super) fn eor(&mut self, operand: u32) {
        self.lda(self.a ^ operand);
    }

    /// Z from A and the operand, N and V from the operand alone.
    #[inline(always)]
    pub(super) fn bit(&mut self, operand: u32) {
        self.bus.held.overflow = operand & flag::OVERFLOW;
        self.zero_negative = self.a & operand | (operand & flag::NEGATIVE) << 8;
    }

    #[inline(always)]
    fn add_binary(&mut self, operand: u32) {
        let sum = self.a + operand + self.bus.held.carry;
        self.bus.held.overflow = (!(self.a ^ operand) & (self.a ^ sum) & 0x80) >> 1;
        self.bus.held.carry = sum >> 8;
        self.lda(sum & 0xff);
    }

    #[inline(always)]
    pub(super) fn adc(&mut self, operand: u32) {
        if self.bus.held.decimal == 0 {
            self.add_binary(operand);
        } else {
            self.store_decimal(decimal::add(self.a, operand, self.bus.held.carry));
        }
    }

    #[inline(always)]
    pub(super) fn sbc(&mut self, operand: u32) {
        if self.bus.held.decimal == 0 {
            self.add_binary(operand ^ 0xff);
        } else {
            self.store_decimal(decimal::subtract(self.a, operand, self.bus.held.carry));
        }
    }

    #[inline(always)]
    fn store_decimal(&mut self, (result, overflow, carry): (u32, u32, u32)) {
        self.bus.held.overflow = overflow;
        self.bus.held.carry = carry;
        self.lda(result);
    }

    #[inline(always)]
    fn compare(&mut self, register: u32, operand: u32) {
        self.bus.held.carry = u32::from(register >= operand);
        self.set_zero_negative(register.wrapping_sub(operand) & 0xff);
    }

    #[inline(always)]
    pub(super) fn cmp(&mut self, operand: u32) {
        self.compare(self.a, operand);
    }

    #[inline(always)]
    pub(super) fn cpx(&mut self, operand: u32) {
        self.compare(self.x, operand);
    }

    #[inline(always)]
    pub(super) fn cpy(&mut self, operand: u32) {
        self.compare(self.y, operand);
    }

    /// Reads and does nothing.
    #[inline(always)]
    #[allow(clippy::unused_self)]
    pub(super) fn nop(&mut self, _operand: u32) {}

    #[inline(always)]
    pub(super) fn lax(&mut self, operand: u32) {
        self.x = operand;
        self.lda(operand);
    }

    /// AND, and C is N.
    #[inline(always)]
    pub(super) fn anc(&mut self, operand: u32) {
        self.and(operand);
        self.bus.held.carry = self.a >> 7;
    }

    /// AND, then LSR of A.
    #[inline(always)]
    pub(super) fn alr(&mut self, operand: u32) {
        let masked = self.a & operand;
        self.bus.held.carry = masked & 1;
        self.lda(masked >> 1);
    }

    /// AND, then ROR of A; C and V come from the adder, N and Z from the rotation.
    #[inline(always)]
    pub(super) fn arr(&mut self, operand: u32) {
        let masked = self.a & operand;
        let rotated = masked >> 1 | self.bus.held.carry << 7;
        if self.bus.held.decimal == 0 {
            self.bus.held.carry = (rotated >> 6) & 1;
            self.bus.held.overflow = (rotated ^ rotated << 1) & flag::OVERFLOW;
            self.a = rotated;
        } else {
            (self.a, self.bus.held.overflow, self.bus.held.carry) =
                decimal::rotate_right(masked, self.bus.held.carry);
        }
        self.set_zero_negative(rotated);
    }

    /// X is (A and X) less the operand, without borrow.
    #[inline(always)]
    pub(super) fn sbx(&mut self, operand: u32) {
        let masked = self.a & self.x;
        self.compare(masked, operand);
        self.x = masked.wrapping_sub(operand) & 0xff;
    }

    /// A is (A or a constant of the chip) and X and the operand.
    #[inline(always)]
    pub(super) fn ane(&mut self, operand: u32) {
        self.lda((self.a | 0xee) & self.x & operand);
    }

    /// A and X are (A or a constant of the chip) and the operand.
    #[inline(always)]
    pub(super) fn lxa(&mut self, operand: u32) {
        self.lax((self.a | 0xee) & operand);
    }

    /// A, X and S are the operand and S.
    #[inline(always)]
    pub(super) fn las(&mut self, operand: u32) {
        self.bus.held.sp &= operand;
        self.lax(self.bus.held.sp);
    }
}

/// Operations on a byte of memory that is written back (or on A).
impl Processor<'_> {
    #[inline(always)]
    pub(super) fn asl(&mut self, operand: u32) -> u32 {
        self.bus.held.carry = operand >> 7;
        self.result((operand << 1) & 0xff)
    }

    #[inline(always)]
    pub(super) fn lsr(&mut self, operand: u32) -> u32 {
        self.bus.held.carry = operand & 1;
        self.result(operand >> 1)
    }

    #[inline(always)]
    pub(super) fn rol(&mut self, operand: u32) -> u32 {
        let result = (operand << 1 | self.bus.held.carry) & 0xff;
        self.bus.held.carry = operand >> 7;
        self.result(result)
    }

    #[inline(always)]
    pub(super) fn ror(&mut self, operand: u32) -> u32 {
        let result = operand >> 1 | self.bus.held.carry << 7;
        self.bus.held.carry = operand & 1;
        self.result(result)
    }

    #[inline(always)]
    pub(super) fn inc(&mut self, operand: u32) -> u32 {
        self.result((operand + 1) & 0xff)
    }

    #[inline(always)]
    pub(super) fn dec(&mut self, operand: u32) -> u32 {
        self.result(operand.wrapping_sub(1) & 0xff)
    }

    #[inline(always)]
    fn result(&mut self, result: u32) -> u32 {
        self.set_zero_negative(result);
        result
    }

    #[inline(always)]
    pub(super) fn slo(&mut self, operand: u32) -> u32 {
        let result = self.asl(operand);
        self.ora(result);
        result
    }

    #[inline(always)]
    pub(super) fn rla(&mut self, operand: u32) -> u32 {
        let result = self.rol(operand);
        self.and(result);
        result
    }

    #[inline(always)]
    pub(super) fn sre(&mut self, operand: u32) -> u32 {
        let result = self.lsr(operand);
        self.eor(result);
        result
    }

    #[inline(always)]
    pub(super) fn rra(&mut self, operand: u32) -> u32 {
        let result = self.ror(operand);
        self.adc(result);
        result
    }

    #[inline(always)]
    pub(super) fn dcp(&mut self, operand: u32) -> u32 {
        let result = self.dec(operand);
        self.cmp(result);
        result
    }

    #[inline(always)]
    pub(super) fn isb(&mut self, operand: u32) -> u32 {
        let result = self.inc(operand);
        self.sbc(result);
        result
    }
}

/// What the store instructions write; `high` is the high byte of the address before indexing, plus one.
impl Processor<'_> {
    #[inline(always)]
    pub(super) fn sta(&mut self, _high: u32) -> u32 {
        self.a
    }

    #[inline(always)]
    pub(super) fn stx(&mut self, _high: u32) -> u32 {
        self.x
    }

    #[inline(always)]
    pub(super) fn sty(&mut self, _high: u32) -> u32 {
        self.y
    }

    #[inline(always)]
    pub(super) fn sax(&mut self, _high: u32) -> u32 {
        self.a & self.x
    }

    #[inline(always)]
    pub(super) fn sha(&mut self, high: u32) -> u32 {
        self.a & self.x & high
    }

    #[inline(always)]
    pub(super) fn shx(&mut self, high: u32) -> u32 {
        self.x & high
    }

    #[inline(always)]
    pub(super) fn shy(&mut self, high: u32) -> u32 {
        self.y & high
    }

    /// S becomes A and X; that and `high` is written.
    #[inline(always)]
    pub(super) fn shs(&mut self, high: u32) -> u32 {
        self.bus.held.sp = self.a & self.x;
        self.bus.held.sp & high
    }
}

/// Instructions without an operand, and those that steer the program.
impl Processor<'_> {
    #[inline(always)]
    pub(super) fn increment(&mut self, register: u32) -> u32 {
        self.result((register + 1) & 0xff)
    }

    #[inline(always)]
    pub(super) fn decrement(&mut self, register: u32) -> u32 {
        self.result(register.wrapping_sub(1) & 0xff)
    }

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
            self.at = self.at.moved(distance);
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
