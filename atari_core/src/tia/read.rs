//! What the processor reads from the TIA: collisions, paddles and buttons. A register has one or two bits; the
//! others are what the bus carried last.

use super::Tia;
use crate::input::Input;

impl Tia {
    #[inline(never)]
    pub(crate) fn read(&mut self, address: u32, lines: u32, cycle: i32, input: &Input) -> u8 {
        self.accessed_at = cycle;
        let floating = (lines & 0x3f) as u8;
        let register = (address & 0xf) as usize;
        floating
            | match register {
                0..8 => {
                    self.catch_up(cycle.saturating_mul(3));
                    ((self.state.collisions >> (2 * register) & 3) << 6) as u8
                }
                8..12 => self.paddle(input.charge_cycles[register - 8], cycle),
                12 | 13 => Self::button(input.buttons[register - 12]),
                _ => 0,
            }
    }

    /// INPT0 to INPT3: whether the capacitor behind the paddle is charged.
    fn paddle(&self, charge_cycles: i32, cycle: i32) -> u8 {
        let since = cycle.wrapping_sub(self.state.released_at);
        // In ale-py it holds no charge that it would have got before this frame: two unsigned numbers are compared.
        let is_old = self.state.released_at + charge_cycles < 0;
        if charge_cycles < 0 || self.state.grounded || since <= charge_cycles || is_old {
            0
        } else {
            0x80
        }
    }

    /// INPT4 and INPT5: 0 is pressed. On the hardware bit 6 of VBLANK latches a press; a ROM that looks finds that
    /// ale-py's console has no such latch, and one frame of Solaris in 25,000 depends on it.
    fn button(level: u8) -> u8 {
        level & 0x80
    }
}
