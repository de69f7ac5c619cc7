//! Stores of page zero that go to the TIA: a fifth of all instructions, and most of them change nothing that is seen.
//!
//! Each register has a handler of its own for A, X and Y, so that nothing of the operand is left to be looked at.

use super::opcodes::STORES;
use super::{At, Handler, Pointer, Processor};
use crate::machine::Machine;
use crate::tia::registers::{WSYNC, until_wsync_ends};

/// The handlers of one opcode, by register; those without a register do nothing.
macro_rules! stores {
    ($source:literal: $($register:literal)+) => {{
        let mut stores: [Handler; 64] = [store::<0x3f, $source>; 64];
        $(stores[$register] = store::<$register, $source>;)+
        stores
    }};
    ($source:literal) => {
        stores!($source: 0x00 0x01 0x02 0x04 0x05 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d 0x0e 0x0f 0x10 0x11
            0x12 0x13 0x14 0x1b 0x1c 0x1d 0x1e 0x1f 0x20 0x21 0x22 0x23 0x24 0x25 0x26 0x27 0x28 0x29 0x2a 0x2b 0x2c)
    };
}

/// 64 handlers each for STA, STX and STY.
const OPCODES: [u8; 3] = [0x85, 0x86, 0x84];

/// The number of the handler for an instruction, if it is a store to the TIA.
pub(super) fn handler(opcode: u8, address: u8) -> Option<u16> {
    let source = OPCODES.iter().position(|store| *store == opcode)?;
    (address < 0x80).then(|| STORES + 64 * source as u16 + u16::from(address & 0x3f))
}

/// Puts the stores among the handlers.
pub(super) const fn put_into<const COUNT: usize>(
    mut handlers: [Handler; COUNT],
) -> [Handler; COUNT] {
    let mut source = 0;
    while source < 3 {
        let stores = [&STORES_OF_A, &STORES_OF_X, &STORES_OF_Y][source];
        let mut register = 0;
        while register < 64 {
            handlers[STORES as usize + 64 * source + register] = stores[register];
            register += 1;
        }
        source += 1;
    }
    handlers
}

const STORES_OF_A: [Handler; 64] = stores!(0);
const STORES_OF_X: [Handler; 64] = stores!(1);
const STORES_OF_Y: [Handler; 64] = stores!(2);

/// `STA`, `STX` or `STY` (0, 1 and 2) to a register.
fn store<const REGISTER: u32, const SOURCE: usize>(
    bus: &mut Machine,
    pointer: Pointer,
    at: At,
    a: u32,
    x_y: u32,
    result: u32,
) {
    let mut processor = Processor::resume(bus, pointer, at, a, x_y, result);
    processor.advance(2, 3);
    let value = [processor.a, processor.x, processor.y][SOURCE] as u8;
    let cycle = processor.at.cycle();
    let tia = &mut processor.bus.tia;
    tia.accessed_at = cycle;
    let quick = cycle < tia.last_cycle
        && (REGISTER == WSYNC || tia.write_register::<true>(REGISTER, value, cycle).is_some());
    if !quick {
        processor.bus.held.value = value;
        return store_slowly::<REGISTER>(processor.bus, pointer, at, a, x_y, result);
    }
    if REGISTER == WSYNC {
        processor.advance(0, until_wsync_ends(cycle));
    }
    processor.next();
}

#[inline(never)]
fn store_slowly<const REGISTER: u32>(
    bus: &mut Machine,
    pointer: Pointer,
    at: At,
    a: u32,
    x_y: u32,
    result: u32,
) {
    let mut processor = Processor::resume(bus, pointer, at, a, x_y, result);
    processor.advance(2, 3);
    let value = processor.bus.held.value;
    let cycle = processor.at.cycle();
    let tia = &mut processor.bus.tia;
    if REGISTER == WSYNC {
        processor.at = processor.at.later(until_wsync_ends(cycle));
    } else {
        // Nothing gives up that may draw.
        let _done = tia.write_register::<false>(REGISTER, value, cycle);
    }
    let tia = &mut processor.bus.tia;
    if cycle >= tia.last_cycle {
        tia.frame_ended = true;
    }
    if tia.frame_ended {
        processor.at = processor.at.with_left(0);
    }
    processor.next();
}
