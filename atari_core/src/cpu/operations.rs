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

/// Instructions that count a register.
impl Processor<'_> {
    #[inline(always)]
    pub(super) fn increment(&mut self, register: u32) -> u32 {
        self.result((register + 1) & 0xff)
    }

    #[inline(always)]
    pub(super) fn decrement(&mut self, register: u32) -> u32 {
        self.result(register.wrapping_sub(1) & 0xff)
    }
}
