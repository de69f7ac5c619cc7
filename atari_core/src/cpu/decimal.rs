//! Decimal arithmetic as the Arcade Learning Environment has it: both digits are read as a number of 0 to 165, the
//! sum is taken modulo 100, and N, Z and V follow from the result. On valid digits the result and the carry are the
//! 6502's; the flags N, Z and V are not, and games see these.

/// A digit pair as a number; digits beyond 9 count as what they are.
fn number(digits: u32) -> i32 {
    ((digits >> 4) * 10 + (digits & 15)) as i32
}

/// The digit pair of a number of 0 to 99.
fn digits(number: i32) -> u32 {
    (number / 10 * 16 + number % 10) as u32
}

/// V as the result shows it.
fn overflow(a: u32, operand: u32, result: u32) -> u32 {
    ((a ^ result) & (result ^ operand) & 0x80) >> 1
}

/// `a + operand + carry`: the result, V and C.
pub(super) fn add(a: u32, operand: u32, carry: u32) -> (u32, u32, u32) {
    let sum = number(a) + number(operand) + carry as i32;
    let result = digits((sum & 0xff) % 100);
    (result, overflow(a, operand, result), u32::from(sum > 99))
}

/// `a - operand - (1 - carry)`: the result, V and C, which compares the bytes as they are.
pub(super) fn subtract(a: u32, operand: u32, carry: u32) -> (u32, u32, u32) {
    let difference = number(a) - number(operand) - (1 - carry as i32);
    let wrapped = if difference < 0 {
        difference + 100
    } else {
        difference
    };
    let result = if wrapped < 0 {
        // Digits beyond 9: less than -100 stays below zero and is a byte from there.
        let byte = (wrapped & 0xff) as u32;
        byte - 6 * (byte >> 4)
    } else {
        digits(wrapped % 100)
    };
    (
        result,
        overflow(a, operand, result),
        u32::from(a > operand || a == operand && carry == 1),
    )
}

/// The undocumented ARR in decimal mode: the result, V and C of `masked`, which is A and the operand.
pub(super) fn rotate_right(masked: u32, carry: u32) -> (u32, u32, u32) {
    let rotated = masked >> 1 | carry << 7;
    let mut result = rotated;
    if (masked & 0xf) + (masked & 1) > 5 {
        result = result & 0xf0 | (result + 6) & 0xf;
    }
    let carry = (masked & 0xf0) + (masked & 0x10) > 0x50;
    if carry {
        result = (result + 0x60) & 0xff;
    }
    (result, (masked ^ rotated) & 0x40, u32::from(carry))
}
