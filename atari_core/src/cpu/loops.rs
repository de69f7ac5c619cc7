//! Loops that do nothing but count X or Y (`DEX` and a `BNE` or `BPL` back to it), with which games wait for a place on a
//! line: all turns but the last are done at once.

use super::opcodes::LOOPS;
use super::{At, Handler, Instruction, Pointer, Processor};
use crate::machine::Machine;

const DEX: u8 = 0xca;
const DEY: u8 = 0x88;
const INX: u8 = 0xe8;
const INY: u8 = 0xc8;
const BNE: u8 = 0xd0;
const BPL: u8 = 0x10;
/// How far a branch goes back over its own two bytes and the one before.
const BACK: u8 = 0xfd;
/// Cycles of a turn, but for the one of a branch across pages, and its instructions.
const TURN: u32 = 5;
const PER_TURN: u32 = 2;

/// The loops by the opcode that counts and the branch's, and what does the former.
pub(super) const HANDLERS: [([u8; 2], Handler); 8] = [
    ([DEX, BNE], count::<DEX, BNE>),
    ([DEX, BPL], count::<DEX, BPL>),
    ([DEY, BNE], count::<DEY, BNE>),
    ([DEY, BPL], count::<DEY, BPL>),
    ([INX, BNE], count::<INX, BNE>),
    ([INX, BPL], count::<INX, BPL>),
    ([INY, BNE], count::<INY, BNE>),
    ([INY, BPL], count::<INY, BPL>),
];

/// The instruction at byte `at` of a bank if such a loop begins there. Its operand is 1 where the branch crosses a page.
pub(super) fn instruction(bytes: [u8; 3], at: u32) -> Option<Instruction> {
    let [opcode, branch, distance] = bytes;
    let is_loop = |(opcodes, _): &([u8; 2], Handler)| *opcodes == [opcode, branch];
    let index = HANDLERS.iter().position(is_loop)?;
    (distance == BACK).then(|| Instruction {
        number: LOOPS + index as u16,
        operand: ((at ^ (at + 3)) >> 8 & 1) as u16,
    })
}

/// Counts the register that `COUNTER` counts, after those turns of the loop in which `BRANCH` is taken, as far as there
/// are instructions left for them.
fn count<const COUNTER: u8, const BRANCH: u8>(
    bus: &mut Machine,
    pointer: Pointer,
    at: At,
    a: u32,
    x_y: u32,
    result: u32,
) {
    let mut processor = Processor::resume(bus, pointer, at, a, x_y, result);
    let is_x = matches!(COUNTER, DEX | INX);
    let is_up = matches!(COUNTER, INX | INY);
    let before = if is_x { processor.x } else { processor.y };
    let turns = turns_taken::<BRANCH>(before, is_up).min(at.left() / PER_TURN);
    processor.at = at.counted(PER_TURN * turns);
    let cycles = turns * (TURN + processor.operand) + 2;
    processor.advance(1, cycles as i32);
    let counted = turns + 1;
    let after = if is_up {
        before + counted
    } else {
        before.wrapping_sub(counted)
    };
    let after = after & 0xff;
    if is_x {
        processor.x = after;
    } else {
        processor.y = after;
    }
    processor.set_zero_negative(after);
    processor.next();
}

/// How many turns there are in which the branch is taken, at least. Where a register that counts up passes 0 before
/// BPL ends the loop, 0: the turn is done as any other.
#[inline(always)]
fn turns_taken<const BRANCH: u8>(register: u32, is_up: bool) -> u32 {
    match (BRANCH, is_up) {
        (BNE, false) => register.wrapping_sub(1) & 0xff,
        (BNE, true) => 0xff - register,
        (_, false) => {
            if register <= 0x80 {
                register
            } else {
                0
            }
        }
        (_, true) => 0x7f_u32.saturating_sub(register),
    }
}
