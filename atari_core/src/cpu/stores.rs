//! Stores of page zero that go to the TIA: a fifth of all instructions, and most of them change nothing that is seen.
//!
//! Each register has a function of its own, which ends the instruction as [`super::Handler`] does; the value that is
//! written comes in place of the operand.

use super::{At, Handler, Processor};
use crate::machine::Machine;
use crate::tia::registers::{WSYNC, after_wsync};

/// What a store to each of the TIA's addresses does.
pub(super) static STORES: [Handler; 64] = {
    // From 0x2d on there is nothing to write to.
    let mut stores: [Handler; 64] = [store::<0x3f>; 64];
    macro_rules! registers {
        ($($register:literal)+) => { $(stores[$register] = store::<$register>;)+ };
    }
    registers! {
        0x00 0x01 0x02 0x04 0x05 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d 0x0e 0x0f 0x10 0x11 0x12 0x13 0x14
        0x1b 0x1c 0x1d 0x1e 0x1f 0x20 0x21 0x22 0x23 0x24 0x25 0x26 0x27 0x28 0x29 0x2a 0x2b 0x2c
    }
    stores
};

fn store<const REGISTER: u32>(
    bus: &mut Machine,
    at: At,
    value: u32,
    a: u32,
    x_y: u32,
    result: u32,
) {
    let mut processor = Processor::resume(bus, at, value, a, x_y, result);
    let cycle = at.cycle();
    let tia = &mut processor.bus.tia;
    let quick = cycle < tia.last_cycle
        && (REGISTER == WSYNC
            || tia
                .write_register::<true>(REGISTER, value as u8, cycle)
                .is_some());
    if !quick {
        return store_slowly::<REGISTER>(processor.bus, at, value, a, x_y, result);
    }
    if REGISTER == WSYNC {
        processor.at = at.with_cycle(after_wsync(cycle));
    }
    processor.next();
}

#[inline(never)]
fn store_slowly<const REGISTER: u32>(
    bus: &mut Machine,
    at: At,
    value: u32,
    a: u32,
    x_y: u32,
    result: u32,
) {
    let mut processor = Processor::resume(bus, at, value, a, x_y, result);
    processor.at = processor.bus.write(REGISTER, value as u8, at);
    processor.next();
}
