//! What a player touches: joysticks, paddles and the switches of the console, as the chips see them.

use crate::Action;

/// Where a paddle's travel begins, in ohms.
const PADDLE_MIN: i32 = 27_450;
/// Where it ends in most games.
const PADDLE_MAX: i32 = 790_196;
/// Where it ends in Blackjack, which counts the lines that a paddle takes: so much, give or take 800.
pub(crate) const LONG_PADDLE_MAX: i32 = 795_200;
/// How far a paddle turns in one frame of a pressed direction, in ohms.
const PADDLE_STEP: i32 = 23_000;

/// Bits of SWCHB (0 is pressed or, for the difficulties, B).
pub(crate) mod switch {
    /// Game reset.
    pub(crate) const RESET: u8 = 0x01;
    /// Game select, which changes the mode.
    pub(crate) const SELECT: u8 = 0x02;
    /// Nothing pressed, colour, both difficulties B.
    pub(crate) const IDLE: u8 = 0x3f;
}

/// How a game is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// A joystick in the left port.
    Joystick,
    /// A joystick in the right port, where these games look for the only player.
    RightJoystick,
    /// Paddles in the left port; the player turns paddle `player` (0 or 1).
    Paddles {
        /// Which of the two.
        player: u8,
        /// Two more are in the right port, which nobody turns.
        four: bool,
        /// They turn a little further than in other games.
        long: bool,
    },
}

/// The lines that controllers and switches pull.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// Joystick directions of both ports, 0 is pressed: right, left, down, up of player 0 in bits 7 to 4.
    pub(crate) swcha: u8,
    /// The console's switches, see [`switch`].
    pub(crate) swchb: u8,
    /// The buttons: 0x80 released, 0 pressed.
    pub(crate) buttons: [u8; 2],
    /// CPU cycles that each paddle's capacitor takes to charge; negative: no paddle.
    pub(crate) charge_cycles: [i32; 4],
    /// Resistance of the player's paddle, in ohms.
    pub(crate) paddle: i32,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self {
            swcha: 0xff,
            swchb: switch::IDLE,
            buttons: [0x80; 2],
            charge_cycles: [-1; 4],
            paddle: 0,
        }
    }

    /// Everything released, paddles in the middle.
    pub(crate) fn release(&mut self, controller: Controller) {
        *self = Self::new();
        if let Controller::Paddles { four, long, .. } = controller {
            self.paddle = i32::midpoint(PADDLE_MIN, paddle_max(long));
            let middle = charge_cycles(self.paddle);
            let others = if four { 0 } else { -1 };
            self.charge_cycles = [middle, middle, others, others];
        }
    }

    /// Holds an action for the next frame. A paddle moves by `strength` (0 to 1) of its step.
    pub(crate) fn act(&mut self, controller: Controller, action: Action, strength: f32) {
        match controller {
            Controller::Joystick | Controller::RightJoystick => {
                let pressed = u8::from(action.up()) << 4
                    | u8::from(action.down()) << 5
                    | u8::from(action.left()) << 6
                    | u8::from(action.right()) << 7;
                let right = controller == Controller::RightJoystick;
                self.swcha = !(if right { pressed >> 4 } else { pressed });
                self.buttons[usize::from(right)] = if action.fire() { 0 } else { 0x80 };
            }
            Controller::Paddles { player, long, .. } => {
                let step = (PADDLE_STEP as f32 * strength) as i32;
                if action.right() {
                    self.paddle = (self.paddle - step).max(PADDLE_MIN);
                }
                if action.left() {
                    self.paddle = (self.paddle + step).min(paddle_max(long));
                }
                self.charge_cycles[usize::from(player)] = charge_cycles(self.paddle);
                self.swcha = if action.fire() {
                    !(0x80 >> player)
                } else {
                    0xff
                };
            }
        }
    }
}

fn paddle_max(long: bool) -> i32 {
    if long { LONG_PADDLE_MAX } else { PADDLE_MAX }
}

/// Cycles of the 1.19 MHz processor that 10 nF behind `resistance` ohms need to reach the threshold (1.6 RC).
fn charge_cycles(resistance: i32) -> i32 {
    (1.6 * f64::from(resistance) * 0.01e-6 * 1.19e6) as i32
}
