//! What a player touches: joysticks, paddles and the switches of the console, as the chips see them.

use crate::action::{Action, stick};
use crate::state::{BadState, Tape};

/// Where a paddle's travel begins, in ohms.
const PADDLE_MIN: i32 = 27_450;
/// Where it ends in most games.
pub(crate) const PADDLE_MAX: i32 = 790_196;
/// Where it ends in Blackjack, which counts the lines that a paddle takes: so much, give or take 800.
pub(crate) const BLACKJACK_PADDLE_MAX: i32 = 795_200;
/// Where it ends in Backgammon: so much, give or take 500.
pub(crate) const LONGEST_PADDLE_MAX: i32 = 1_000_000;
/// Where one stands that was not turned yet.
pub(crate) const PADDLE_MIDDLE: i32 = i32::midpoint(PADDLE_MIN, PADDLE_MAX);
/// The cycles that the capacitor of a paddle takes at most.
const LONGEST_CHARGE: i32 = charge_cycles(LONGEST_PADDLE_MAX);
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
        /// Two more are in the right port, which nobody turns: their resistance, in ohms.
        others: Option<i32>,
        /// Where their travel ends, in ohms.
        max: i32,
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
    /// Resistance of the player's paddle, in ohms; of two players', the first one's first.
    pub(crate) paddles: [i32; 2],
}

impl Input {
    pub(crate) fn new() -> Self {
        Self {
            swcha: 0xff,
            swchb: switch::IDLE,
            buttons: [0x80; 2],
            charge_cycles: [-1; 4],
            paddles: [0; 2],
        }
    }

    /// Everything released, paddles in the middle.
    pub(crate) fn release(&mut self, controller: Controller) {
        *self = Self::new();
        if let Controller::Paddles { others, max, .. } = controller {
            self.paddles = [i32::midpoint(PADDLE_MIN, max); 2];
            let middle = charge_cycles(self.paddles[0]);
            let others = others.map_or(-1, charge_cycles);
            self.charge_cycles = [middle, middle, others, others];
        }
    }

    /// Holds the actions of two players for the next frame; the second of a game for one touches nothing. The first has what
    /// a single player has, the second the other port's joystick or the left port's other paddle. Paddles move by
    /// `strength` (0 to 1) of their step.
    pub(crate) fn act(&mut self, controller: Controller, actions: [Action; 2], strength: f32) {
        let [first, second] = actions;
        match controller {
            Controller::Joystick => self.push(first, second),
            Controller::RightJoystick => self.push(second, first),
            Controller::Paddles { player, max, .. } => {
                self.turn(0, player, max, first, strength);
                self.turn(1, 1 - player, max, second, strength);
                self.swcha = !(paddle_button(player, first) | paddle_button(1 - player, second));
            }
        }
    }

    pub(crate) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        tape.number(&mut self.swcha)?;
        tape.number(&mut self.swchb)?;
        tape.number(&mut self.buttons)?;
        for cycles in &mut self.charge_cycles {
            tape.within(cycles, -1..=LONGEST_CHARGE, "how long a paddle takes")?;
        }
        for paddle in &mut self.paddles {
            tape.within(paddle, 0..=LONGEST_PADDLE_MAX, "a paddle")?;
        }
        Ok(())
    }

    /// Pushes the joysticks of both ports.
    fn push(&mut self, left: Action, right: Action) {
        self.swcha = !(left.stick() | right.stick() >> 4);
        self.buttons = [button(left), button(right)];
    }

    /// Turns a player's paddle, which is the `port`th, by a pressed direction.
    fn turn(&mut self, player: usize, port: u8, max: i32, action: Action, strength: f32) {
        let step = (PADDLE_STEP as f32 * strength) as i32;
        let paddle = &mut self.paddles[player];
        if action.stick() & stick::RIGHT != 0 {
            *paddle = (*paddle - step).max(PADDLE_MIN);
        }
        if action.stick() & stick::LEFT != 0 {
            *paddle = (*paddle + step).min(max);
        }
        self.charge_cycles[usize::from(port)] = charge_cycles(*paddle);
    }
}

/// A joystick's button as INPT4 or INPT5 has it.
fn button(action: Action) -> u8 {
    if action.fire() { 0 } else { 0x80 }
}

/// A paddle's button as SWCHA has it, 1 is pressed.
fn paddle_button(port: u8, action: Action) -> u8 {
    if action.fire() { 0x80 >> port } else { 0 }
}

/// Cycles of the 1.19 MHz processor that 10 nF behind `resistance` ohms need to reach the threshold (1.6 RC).
const fn charge_cycles(resistance: i32) -> i32 {
    (1.6 * resistance as f64 * 0.01e-6 * 1.19e6) as i32
}
