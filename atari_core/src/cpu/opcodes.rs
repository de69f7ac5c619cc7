//! Which instruction an opcode is: every one of the 256, by operation, with addressing mode and cycles.

use super::bus::fetch;
use super::modes::{
    Absolute, AbsoluteX, AbsoluteY, Immediate, IndirectX, IndirectY, Mode, Needs, ZeroPage,
    ZeroPageX, ZeroPageY,
};
use super::{At, Handler, Pointer, Processor, flag, loops, stores};
use crate::machine::Machine;

/// Numbers of handlers: those of the 256 opcodes where the instruction and what it works on are in a piece of the
/// program, in RAM and in ROM; those of the opcodes anywhere; [`stores`]; what looks for an instruction; [`loops`].
pub(super) const ANYWHERE: u16 = 256;
pub(super) const STORES: u16 = 512;
pub(super) const FETCH: u16 = 704;
pub(super) const LOOPS: u16 = FETCH + 1;
const COUNT: usize = LOOPS as usize + loops::HANDLERS.len();

/// Whether it is one of the eight conditional branches.
pub(super) fn is_branch(opcode: u8) -> bool {
    opcode & 0x1f == 0x10
}

/// The functions of an instruction, which go on to the next: one for `PLAIN` ones, and, where that one gives up with `None`
/// (it must not have changed anything by then), one for what is anywhere.
macro_rules! handler {
    (|$cpu:ident, $plain:ident| $do:block) => {{
        #[inline(always)]
        fn attempt<const $plain: bool>($cpu: &mut Processor<'_>) -> Option<()> {
            $do
            Some(())
        }

        fn anywhere(bus: &mut Machine, pointer: Pointer, at: At, a: u32, x_y: u32, result: u32) {
            let mut processor = Processor::resume(bus, pointer, at, a, x_y, result);
            if processor.bus.banks.is_outside() {
                processor.operand = processor.bus.held.operand;
            }
            let done = attempt::<false>(&mut processor);
            debug_assert!(done.is_some(), "every byte is somewhere");
            processor.next_anywhere();
        }

        fn handler(bus: &mut Machine, pointer: Pointer, at: At, a: u32, x_y: u32, result: u32) {
            let mut processor = Processor::resume(bus, pointer, at, a, x_y, result);
            if attempt::<true>(&mut processor).is_none() {
                return anywhere(processor.bus, pointer, at, a, x_y, result);
            }
            processor.next();
        }
        (handler, anywhere)
    }};
}

/// Writes the table out as a function for each opcode, and as the length of each instruction. In `other` stands what has no
/// operand in memory: opcode, bytes, cycles (0 where the operation counts them itself) and what is done.
macro_rules! instructions {
    (
        read { $($read:ident: $($r:literal $r_mode:ident $r_cycles:literal),+;)+ }
        store { $($store:ident: $($s:literal $s_mode:ident $s_cycles:literal),+;)+ }
        modify { $($modify:ident: $($m:literal $m_mode:ident $m_cycles:literal),+;)+ }
        other |$cpu:ident, $plain:ident| { $($($o:literal)|+, $o_length:literal, $o_cycles:literal: $do:expr;)+ }
    ) => {
        /// Bytes of each instruction.
        pub(super) const LENGTH: [u8; 256] = {
            let mut length = [0; 256];
            $($(length[$r] = $r_mode::LENGTH;)+)+
            $($(length[$s] = $s_mode::LENGTH;)+)+
            $($(length[$m] = $m_mode::LENGTH;)+)+
            $($(length[$o] = $o_length;)+)+
            length
        };

        /// What each opcode needs to be a `PLAIN` one.
        pub(super) const NEEDS: [Needs; 256] = {
            let mut needs = [Needs::Nothing; 256];
            $($(needs[$r] = $r_mode::NEEDS;)+)+
            $($(needs[$s] = $s_mode::NEEDS;)+)+
            $($(needs[$m] = $m_mode::NEEDS;)+)+
            needs
        };

        /// By number; an instruction's operand bytes are in `operand`.
        pub(super) static HANDLERS: [Handler; COUNT] = {
            let mut handlers = stores::put_into([fetch as Handler; COUNT]);
            macro_rules! put {
                ($opcode:literal, $both:expr) => {
                    (handlers[$opcode], handlers[$opcode + ANYWHERE as usize]) = $both;
                };
            }
            $($(put!($r, handler!(|cpu, PLAIN| {
                let place = $r_mode::address::<PLAIN>(cpu, true)?;
                cpu.advance(0, $r_cycles);
                let operand = $r_mode::load::<PLAIN>(cpu, place)?;
                cpu.$read(operand);
            }));)+)+
            $($(put!($s, handler!(|cpu, PLAIN| {
                let place = $s_mode::address::<PLAIN>(cpu, false)?;
                $s_mode::writable::<PLAIN>(place)?;
                cpu.advance(0, $s_cycles);
                let value = cpu.$store((place.address >> 8) + 1);
                cpu.store::<PLAIN>(place, value);
            }));)+)+
            $($(put!($m, handler!(|cpu, PLAIN| {
                let place = $m_mode::address::<PLAIN>(cpu, false)?;
                $m_mode::writable::<PLAIN>(place)?;
                cpu.advance(0, $m_cycles);
                let operand = $m_mode::load::<PLAIN>(cpu, place)?;
                let result = cpu.$modify(operand);
                cpu.store::<PLAIN>(place, result);
            }));)+)+
            $({
                const BOTH: (Handler, Handler) = handler!(|$cpu, $plain| {
                    if $o_cycles != 0 {
                        $cpu.advance($o_length, $o_cycles);
                    }
                    $do;
                });
                $(put!($o, BOTH);)+
            })+
            let mut index = 0;
            while index < loops::HANDLERS.len() {
                handlers[LOOPS as usize + index] = loops::HANDLERS[index].1;
                index += 1;
            }
            handlers
        };
    };
}

instructions! {
    read {
        lda: 0xA9 Immediate 2, 0xA5 ZeroPage 3, 0xB5 ZeroPageX 4, 0xAD Absolute 4, 0xBD AbsoluteX 4,
            0xB9 AbsoluteY 4, 0xA1 IndirectX 6, 0xB1 IndirectY 5;
        ldx: 0xA2 Immediate 2, 0xA6 ZeroPage 3, 0xB6 ZeroPageY 4, 0xAE Absolute 4, 0xBE AbsoluteY 4;
        ldy: 0xA0 Immediate 2, 0xA4 ZeroPage 3, 0xB4 ZeroPageX 4, 0xAC Absolute 4, 0xBC AbsoluteX 4;
        // In ale-py the first of these takes a cycle more than on the hardware.
        lax: 0xA7 ZeroPage 4, 0xB7 ZeroPageY 4, 0xAF Absolute 4, 0xBF AbsoluteY 4, 0xA3 IndirectX 6,
            0xB3 IndirectY 5;
        las: 0xBB AbsoluteY 4;
        ora: 0x09 Immediate 2, 0x05 ZeroPage 3, 0x15 ZeroPageX 4, 0x0D Absolute 4, 0x1D AbsoluteX 4,
            0x19 AbsoluteY 4, 0x01 IndirectX 6, 0x11 IndirectY 5;
        and: 0x29 Immediate 2, 0x25 ZeroPage 3, 0x35 ZeroPageX 4, 0x2D Absolute 4, 0x3D AbsoluteX 4,
            0x39 AbsoluteY 4, 0x21 IndirectX 6, 0x31 IndirectY 5;
        eor: 0x49 Immediate 2, 0x45 ZeroPage 3, 0x55 ZeroPageX 4, 0x4D Absolute 4, 0x5D AbsoluteX 4,
            0x59 AbsoluteY 4, 0x41 IndirectX 6, 0x51 IndirectY 5;
        adc: 0x69 Immediate 2, 0x65 ZeroPage 3, 0x75 ZeroPageX 4, 0x6D Absolute 4, 0x7D AbsoluteX 4,
            0x79 AbsoluteY 4, 0x61 IndirectX 6, 0x71 IndirectY 5;
        sbc: 0xE9 Immediate 2, 0xEB Immediate 2, 0xE5 ZeroPage 3, 0xF5 ZeroPageX 4, 0xED Absolute 4,
            0xFD AbsoluteX 4, 0xF9 AbsoluteY 4, 0xE1 IndirectX 6, 0xF1 IndirectY 5;
        cmp: 0xC9 Immediate 2, 0xC5 ZeroPage 3, 0xD5 ZeroPageX 4, 0xCD Absolute 4, 0xDD AbsoluteX 4,
            0xD9 AbsoluteY 4, 0xC1 IndirectX 6, 0xD1 IndirectY 5;
        cpx: 0xE0 Immediate 2, 0xE4 ZeroPage 3, 0xEC Absolute 4;
        cpy: 0xC0 Immediate 2, 0xC4 ZeroPage 3, 0xCC Absolute 4;
        bit: 0x24 ZeroPage 3, 0x2C Absolute 4;
        nop: 0x80 Immediate 2, 0x82 Immediate 2, 0x89 Immediate 2, 0xC2 Immediate 2, 0xE2 Immediate 2,
            0x04 ZeroPage 3, 0x44 ZeroPage 3, 0x64 ZeroPage 3, 0x14 ZeroPageX 4, 0x34 ZeroPageX 4,
            0x54 ZeroPageX 4, 0x74 ZeroPageX 4, 0xD4 ZeroPageX 4, 0xF4 ZeroPageX 4, 0x0C Absolute 4,
            0x1C AbsoluteX 4, 0x3C AbsoluteX 4, 0x5C AbsoluteX 4, 0x7C AbsoluteX 4, 0xDC AbsoluteX 4,
            0xFC AbsoluteX 4;
        anc: 0x0B Immediate 2, 0x2B Immediate 2;
        alr: 0x4B Immediate 2;
        arr: 0x6B Immediate 2;
        sbx: 0xCB Immediate 2;
        ane: 0x8B Immediate 2;
        lxa: 0xAB Immediate 2;
    }
    store {
        sta: 0x85 ZeroPage 3, 0x95 ZeroPageX 4, 0x8D Absolute 4, 0x9D AbsoluteX 5, 0x99 AbsoluteY 5,
            0x81 IndirectX 6, 0x91 IndirectY 6;
        stx: 0x86 ZeroPage 3, 0x96 ZeroPageY 4, 0x8E Absolute 4;
        sty: 0x84 ZeroPage 3, 0x94 ZeroPageX 4, 0x8C Absolute 4;
        sax: 0x87 ZeroPage 3, 0x97 ZeroPageY 4, 0x8F Absolute 4, 0x83 IndirectX 6;
        sha: 0x9F AbsoluteY 5, 0x93 IndirectY 6;
        shx: 0x9E AbsoluteY 5;
        shy: 0x9C AbsoluteX 5;
        shs: 0x9B AbsoluteY 5;
    }
    modify {
        asl: 0x06 ZeroPage 5, 0x16 ZeroPageX 6, 0x0E Absolute 6, 0x1E AbsoluteX 7;
        lsr: 0x46 ZeroPage 5, 0x56 ZeroPageX 6, 0x4E Absolute 6, 0x5E AbsoluteX 7;
        rol: 0x26 ZeroPage 5, 0x36 ZeroPageX 6, 0x2E Absolute 6, 0x3E AbsoluteX 7;
        ror: 0x66 ZeroPage 5, 0x76 ZeroPageX 6, 0x6E Absolute 6, 0x7E AbsoluteX 7;
        inc: 0xE6 ZeroPage 5, 0xF6 ZeroPageX 6, 0xEE Absolute 6, 0xFE AbsoluteX 7;
        dec: 0xC6 ZeroPage 5, 0xD6 ZeroPageX 6, 0xCE Absolute 6, 0xDE AbsoluteX 7;
        slo: 0x07 ZeroPage 5, 0x17 ZeroPageX 6, 0x0F Absolute 6, 0x1F AbsoluteX 7, 0x1B AbsoluteY 7,
            0x03 IndirectX 8, 0x13 IndirectY 8;
        rla: 0x27 ZeroPage 5, 0x37 ZeroPageX 6, 0x2F Absolute 6, 0x3F AbsoluteX 7, 0x3B AbsoluteY 7,
            0x23 IndirectX 8, 0x33 IndirectY 8;
        sre: 0x47 ZeroPage 5, 0x57 ZeroPageX 6, 0x4F Absolute 6, 0x5F AbsoluteX 7, 0x5B AbsoluteY 7,
            0x43 IndirectX 8, 0x53 IndirectY 8;
        rra: 0x67 ZeroPage 5, 0x77 ZeroPageX 6, 0x6F Absolute 6, 0x7F AbsoluteX 7, 0x7B AbsoluteY 7,
            0x63 IndirectX 8, 0x73 IndirectY 8;
        dcp: 0xC7 ZeroPage 5, 0xD7 ZeroPageX 6, 0xCF Absolute 6, 0xDF AbsoluteX 7, 0xDB AbsoluteY 7,
            0xC3 IndirectX 8, 0xD3 IndirectY 8;
        isb: 0xE7 ZeroPage 5, 0xF7 ZeroPageX 6, 0xEF Absolute 6, 0xFF AbsoluteX 7, 0xFB AbsoluteY 7,
            0xE3 IndirectX 8, 0xF3 IndirectY 8;
    }
    other |cpu, PLAIN| {
        // Registers.
        0xAA, 1, 2: { cpu.x = cpu.a; cpu.set_zero_negative(cpu.x) };
        0xA8, 1, 2: { cpu.y = cpu.a; cpu.set_zero_negative(cpu.y) };
        0x8A, 1, 2: cpu.lda(cpu.x);
        0x98, 1, 2: cpu.lda(cpu.y);
        0xBA, 1, 2: { cpu.x = cpu.bus.held.sp; cpu.set_zero_negative(cpu.x) };
        0x9A, 1, 2: cpu.bus.held.sp = cpu.x;
        0xE8, 1, 2: cpu.x = cpu.increment(cpu.x);
        0xC8, 1, 2: cpu.y = cpu.increment(cpu.y);
        0xCA, 1, 2: cpu.x = cpu.decrement(cpu.x);
        0x88, 1, 2: cpu.y = cpu.decrement(cpu.y);
        0x0A, 1, 2: cpu.a = cpu.asl(cpu.a);
        0x4A, 1, 2: cpu.a = cpu.lsr(cpu.a);
        0x2A, 1, 2: cpu.a = cpu.rol(cpu.a);
        0x6A, 1, 2: cpu.a = cpu.ror(cpu.a);
        // The stack.
        0x48, 1, 3: { cpu.has_room::<PLAIN>(1)?; cpu.push::<PLAIN>(cpu.a) };
        0x08, 1, 3: { cpu.has_room::<PLAIN>(1)?; cpu.push::<PLAIN>(cpu.status()) };
        0x68, 1, 4: { cpu.holds::<PLAIN>(1)?; let value = cpu.pull::<PLAIN>(0x68); cpu.lda(value) };
        0x28, 1, 4: { cpu.holds::<PLAIN>(1)?; let status = cpu.pull::<PLAIN>(0x28); cpu.set_status(status) };
        // Flags.
        0x18, 1, 2: cpu.bus.held.carry = 0;
        0x38, 1, 2: cpu.bus.held.carry = flag::CARRY;
        0x58, 1, 2: cpu.bus.held.interrupt = 0;
        0x78, 1, 2: cpu.bus.held.interrupt = flag::INTERRUPT;
        0xB8, 1, 2: cpu.bus.held.overflow = 0;
        0xD8, 1, 2: cpu.bus.held.decimal = 0;
        0xF8, 1, 2: cpu.bus.held.decimal = flag::DECIMAL;
        0xEA | 0x1A | 0x3A | 0x5A | 0x7A | 0xDA | 0xFA, 1, 2: cpu.nop(0);
        // Branches.
        0x10, 2, 0: cpu.branch::<PLAIN>(cpu.zero_negative & 0x8080 == 0);
        0x30, 2, 0: cpu.branch::<PLAIN>(cpu.zero_negative & 0x8080 != 0);
        0x50, 2, 0: cpu.branch::<PLAIN>(cpu.bus.held.overflow == 0);
        0x70, 2, 0: cpu.branch::<PLAIN>(cpu.bus.held.overflow != 0);
        0x90, 2, 0: cpu.branch::<PLAIN>(cpu.bus.held.carry == 0);
        0xB0, 2, 0: cpu.branch::<PLAIN>(cpu.bus.held.carry != 0);
        0xD0, 2, 0: cpu.branch::<PLAIN>(cpu.zero_negative & 0xff != 0);
        0xF0, 2, 0: cpu.branch::<PLAIN>(cpu.zero_negative & 0xff == 0);
        // Jumps.
        0x4C, 3, 3: cpu.jump::<PLAIN>(cpu.operand)?;
        0x6C, 3, 0: cpu.jump_indirect::<PLAIN>()?;
        0x20, 3, 0: cpu.jsr::<PLAIN>()?;
        0x60, 1, 0: cpu.rts::<PLAIN>()?;
        0x40, 1, 0: cpu.rti::<PLAIN>()?;
        0x00, 1, 0: cpu.brk::<PLAIN>()?;
        0x02 | 0x12 | 0x22 | 0x32 | 0x42 | 0x52 | 0x62 | 0x72 | 0x92 | 0xB2 | 0xD2 | 0xF2, 1, 0: cpu.jam();
    }
}
