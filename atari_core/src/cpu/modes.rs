//! Addressing modes: where an instruction's operand is, how many bytes it is long and what a crossed page costs.

use super::Processor;

/// An address, and the byte that the bus carried last when it was formed.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) address: u32,
    pub(super) lines: u32,
}

/// What an operand must be for an instruction to be a `PLAIN` one.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    Nothing,
    /// An address of RAM in page zero.
    ZeroPage,
    /// The address of two bytes of RAM in page zero.
    Pointer,
    /// An address in RAM or in the cartridge.
    Address,
}

impl Needs {
    /// Whether an operand is such a one.
    pub(super) fn are_met(self, operand: u16) -> bool {
        match self {
            Self::Nothing => true,
            Self::ZeroPage => operand & 0x80 != 0,
            Self::Pointer => operand & 0x80 != 0 && operand & 0xff != 0xff,
            Self::Address => operand & 0x1000 != 0 || operand & 0x280 == 0x80,
        }
    }
}

/// How an instruction finds the byte it works on. `PLAIN` ones give up where that byte, or a pointer to it, is
/// neither in RAM nor in ROM.
pub(super) trait Mode {
    /// Bytes of the instruction.
    const LENGTH: u8;
    /// What the operand of a `PLAIN` one is known to be.
    const NEEDS: Needs;

    /// Steps over the instruction; with `penalty` a read that crosses a page takes a cycle more.
    fn address<const PLAIN: bool>(cpu: &mut Processor<'_>, penalty: bool) -> Option<Place>;

    #[inline(always)]
    fn load<const PLAIN: bool>(cpu: &mut Processor<'_>, place: Place) -> Option<u32> {
        if PLAIN && matches!(Self::NEEDS, Needs::ZeroPage) {
            return Some(cpu.ram(place.address));
        }
        cpu.load::<PLAIN>(place.address, place.lines)
    }

    /// Gives up where a write would not go to RAM.
    #[inline(always)]
    fn writable<const PLAIN: bool>(place: Place) -> Option<()> {
        let is_known = !PLAIN || matches!(Self::NEEDS, Needs::ZeroPage);
        (is_known || place.address & 0x1280 == 0x80).then_some(())
    }
}

/// `LDA #1`: the operand is in the instruction.
pub(super) struct Immediate;

impl Mode for Immediate {
    const LENGTH: u8 = 2;
    const NEEDS: Needs = Needs::Nothing;

    #[inline(always)]
    fn address<const PLAIN: bool>(cpu: &mut Processor<'_>, _penalty: bool) -> Option<Place> {
        cpu.advance(Self::LENGTH, 0);
        Some(Place {
            address: 0,
            lines: 0,
        })
    }

    #[inline(always)]
    fn load<const PLAIN: bool>(cpu: &mut Processor<'_>, _place: Place) -> Option<u32> {
        Some(cpu.operand & 0xff)
    }
}

/// Adds an index; a carry into the high byte costs a cycle when `penalty` says so.
#[inline(always)]
fn index(cpu: &mut Processor<'_>, base: u32, offset: u32, penalty: bool) -> u32 {
    let address = (base + offset) & 0xffff;
    if penalty {
        cpu.advance(0, (((address ^ base) >> 8) & 1) as i32);
    }
    address
}

/// A pointer in page zero, which wraps within it.
#[inline(always)]
fn pointer<const PLAIN: bool>(cpu: &mut Processor<'_>, at: u32) -> Option<u32> {
    let low = cpu.load_zero_page::<PLAIN>(at & 0xff, 0)?;
    let high = cpu.load_zero_page::<PLAIN>((at + 1) & 0xff, 0)?;
    Some(low | high << 8)
}

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident $length:literal $needs:ident |$cpu:ident, $plain:ident, $penalty:ident| $body:expr;)*) => { $(
        $(#[$doc])*
        pub(super) struct $name;
        impl Mode for $name {
            const LENGTH: u8 = $length;
            const NEEDS: Needs = Needs::$needs;
            #[inline(always)]
            fn address<const $plain: bool>($cpu: &mut Processor<'_>, $penalty: bool) -> Option<Place> {
                let (address, lines) = $body;
                $cpu.advance($length, 0);
                Some(Place { address, lines })
            }
        }
    )* };
}

modes! {
    /// `LDA $80`
    ZeroPage 2 ZeroPage |cpu, PLAIN, _penalty| (cpu.operand & 0xff, cpu.operand & 0xff);
    /// `LDA $80,X`
    ZeroPageX 2 Nothing |cpu, PLAIN, _penalty| ((cpu.operand + cpu.x) & 0xff, cpu.operand & 0xff);
    /// `LDX $80,Y`
    ZeroPageY 2 Nothing |cpu, PLAIN, _penalty| ((cpu.operand + cpu.y) & 0xff, cpu.operand & 0xff);
    /// `LDA $F000`
    Absolute 3 Address |cpu, PLAIN, _penalty| (cpu.operand, cpu.operand >> 8);
    /// `LDA $F000,X`
    AbsoluteX 3 Nothing |cpu, PLAIN, penalty| {
        let base = cpu.operand;
        (index(cpu, base, cpu.x, penalty), base >> 8)
    };
    /// `LDA $F000,Y`
    AbsoluteY 3 Nothing |cpu, PLAIN, penalty| {
        let base = cpu.operand;
        (index(cpu, base, cpu.y, penalty), base >> 8)
    };
    /// `LDA ($80,X)`
    IndirectX 2 Nothing |cpu, PLAIN, _penalty| {
        let address = pointer::<PLAIN>(cpu, cpu.operand + cpu.x)?;
        (address, address >> 8)
    };
    /// `LDA ($80),Y`
    IndirectY 2 Pointer |cpu, PLAIN, penalty| {
        let base = if PLAIN {
            cpu.ram(cpu.operand) | cpu.ram(cpu.operand + 1) << 8
        } else {
            pointer::<PLAIN>(cpu, cpu.operand)?
        };
        (index(cpu, base, cpu.y, penalty), base >> 8)
    };
}
