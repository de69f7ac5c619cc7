//! Addressing modes: where an instruction's operand is, how many bytes it is long and what a crossed page costs.

use super::Processor;

/// An address, and the byte that the bus carried last when it was formed.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) address: u32,
    pub(super) lines: u32,
}

/// How an instruction finds the byte it works on. `address` steps over the instruction; with `penalty` a read
/// that crosses a page takes a cycle more.
pub(super) trait Mode {
    /// Bytes of the instruction.
    const LENGTH: u8;
    /// Whether the byte is always in page zero.
    const ZERO_PAGE: bool = false;
    fn address<const FLAT: bool>(cpu: &mut Processor<'_, FLAT>, penalty: bool) -> Place;

    /// The byte that an instruction of `cycles` cycles reads.
    #[inline(always)]
    fn load<const FLAT: bool>(cpu: &mut Processor<'_, FLAT>, cycles: i32) -> u32
    where
        Self: Sized,
    {
        let place = Self::address(cpu, true);
        cpu.cycle += cycles;
        cpu.load::<Self>(place)
    }
}

/// `LDA #1`: the operand is in the instruction.
pub(super) struct Immediate;

impl Mode for Immediate {
    const LENGTH: u8 = 2;

    #[inline(always)]
    fn address<const FLAT: bool>(cpu: &mut Processor<'_, FLAT>, _penalty: bool) -> Place {
        cpu.pc += 2;
        Place {
            address: cpu.pc - 1,
            lines: 0,
        }
    }

    #[inline(always)]
    fn load<const FLAT: bool>(cpu: &mut Processor<'_, FLAT>, cycles: i32) -> u32 {
        cpu.pc += 2;
        cpu.cycle += cycles;
        cpu.operand & 0xff
    }
}

/// Adds an index; a carry into the high byte costs a cycle when `penalty` says so.
#[inline(always)]
fn index<const FLAT: bool>(
    cpu: &mut Processor<'_, FLAT>,
    base: u32,
    offset: u32,
    penalty: bool,
) -> u32 {
    let address = (base + offset) & 0xffff;
    if penalty {
        cpu.cycle += (((address ^ base) >> 8) & 1) as i32;
    }
    address
}

/// A pointer in page zero, which wraps within it.
#[inline(always)]
fn pointer<const FLAT: bool>(cpu: &mut Processor<'_, FLAT>, at: u32) -> u32 {
    let low = cpu.read_zero_page(at & 0xff, 0);
    let high = cpu.read_zero_page((at + 1) & 0xff, 0);
    low | high << 8
}

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident $length:literal zero_page $zero_page:literal |$cpu:ident, $penalty:ident| $body:expr;)*) => { $(
        $(#[$doc])*
        pub(super) struct $name;
        impl Mode for $name {
            const LENGTH: u8 = $length;
            const ZERO_PAGE: bool = $zero_page;
            #[inline(always)]
            fn address<const FLAT: bool>($cpu: &mut Processor<'_, FLAT>, $penalty: bool) -> Place {
                let (address, lines) = $body;
                $cpu.pc += $length;
                Place { address, lines }
            }
        }
    )* };
}

modes! {
    /// `LDA $80`
    ZeroPage 2 zero_page true |cpu, _penalty| (cpu.operand & 0xff, cpu.operand & 0xff);
    /// `LDA $80,X`
    ZeroPageX 2 zero_page true |cpu, _penalty| ((cpu.operand + cpu.x) & 0xff, cpu.operand & 0xff);
    /// `LDX $80,Y`
    ZeroPageY 2 zero_page true |cpu, _penalty| ((cpu.operand + cpu.y) & 0xff, cpu.operand & 0xff);
    /// `LDA $F000`
    Absolute 3 zero_page false |cpu, _penalty| (cpu.operand, cpu.operand >> 8);
    /// `LDA $F000,X`
    AbsoluteX 3 zero_page false |cpu, penalty| {
        let base = cpu.operand;
        (index(cpu, base, cpu.x, penalty), base >> 8)
    };
    /// `LDA $F000,Y`
    AbsoluteY 3 zero_page false |cpu, penalty| {
        let base = cpu.operand;
        (index(cpu, base, cpu.y, penalty), base >> 8)
    };
    /// `LDA ($80,X)`
    IndirectX 2 zero_page false |cpu, _penalty| {
        let address = pointer(cpu, cpu.operand + cpu.x);
        (address, address >> 8)
    };
    /// `LDA ($80),Y`
    IndirectY 2 zero_page false |cpu, penalty| {
        let base = pointer(cpu, cpu.operand);
        (index(cpu, base, cpu.y, penalty), base >> 8)
    };
}
