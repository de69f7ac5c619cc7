//! What the processor reads from the TIA: collisions, paddles and buttons. A register has one or two bits; the
//! others are what the bus carried last.

use super::Tia;
use crate::input::Input;

impl Tia {
    #[inline(never)]
    pub(crate) fn read(&mut self, address: u32, lines: u32, cycle: i32, input: &Input) -> u8 {
        let floating = (lines & 0x3f) as u8;
        let register = (address & 0xf) as usize;
        floating
            | match register {
                0..8 => {
                    self.catch_up(cycle.saturating_mul(3));
                    ((self.registers.collisions >> (2 * register) & 3) << 6) as u8
                }
                8..12 => self.paddle(input.charge_cycles[register - 8], cycle),
                12 | 13 => self.button(register - 12, input.buttons[register - 12]),
                _ => 0,
            }
    }

    /// INPT0 to INPT3: whether the capacitor behind the paddle is charged.
    fn paddle(&self, charge_cycles: i32, cycle: i32) -> u8 {
        let since = cycle.wrapping_sub(self.registers.released_at);
        if charge_cycles < 0 || self.registers.grounded || since <= charge_cycles {
            0
        } else {
            0x80
        }
    }

    /// INPT4 and INPT5: 0 is pressed; VBLANK bit 6 latches a press.
    fn button(&mut self, side: usize, level: u8) -> u8 {
        if self.registers.vblank & 0x40 == 0 {
            return level & 0x80;
        }
        self.registers.latch[side] &= level;
        self.registers.latch[side] & 0x80
    }
}
