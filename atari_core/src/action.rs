//! The eighteen actions of a joystick, numbered as the Arcade Learning Environment numbers them.

/// The directions of a stick, as SWCHA has those of the left port; 1 is pressed.
pub(crate) mod stick {
    pub(crate) const UP: u8 = 0x10;
    pub(crate) const DOWN: u8 = 0x20;
    pub(crate) const LEFT: u8 = 0x40;
    pub(crate) const RIGHT: u8 = 0x80;
}

/// A position of the joystick and its button.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Action {
    /// Nothing is touched.
    #[default]
    Noop = 0,
    /// The button.
    Fire,
    /// Stick up.
    Up,
    /// Stick right.
    Right,
    /// Stick left.
    Left,
    /// Stick down.
    Down,
    /// Stick up and right.
    UpRight,
    /// Stick up and left.
    UpLeft,
    /// Stick down and right.
    DownRight,
    /// Stick down and left.
    DownLeft,
    /// Stick up, with the button.
    UpFire,
    /// Stick right, with the button.
    RightFire,
    /// Stick left, with the button.
    LeftFire,
    /// Stick down, with the button.
    DownFire,
    /// Stick up and right, with the button.
    UpRightFire,
    /// Stick up and left, with the button.
    UpLeftFire,
    /// Stick down and right, with the button.
    DownRightFire,
    /// Stick down and left, with the button.
    DownLeftFire,
}

impl Action {
    /// All eighteen, in the order of their numbers.
    pub const ALL: [Action; 18] = [
        Action::Noop,
        Action::Fire,
        Action::Up,
        Action::Right,
        Action::Left,
        Action::Down,
        Action::UpRight,
        Action::UpLeft,
        Action::DownRight,
        Action::DownLeft,
        Action::UpFire,
        Action::RightFire,
        Action::LeftFire,
        Action::DownFire,
        Action::UpRightFire,
        Action::UpLeftFire,
        Action::DownRightFire,
        Action::DownLeftFire,
    ];

    /// The action of a number in 0..18.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Action> {
        Action::ALL.get(index).copied()
    }

    /// Whether the button is pressed.
    #[must_use]
    pub fn fire(self) -> bool {
        matches!(self, Action::Fire) || self as u8 >= Action::UpFire as u8
    }

    /// Where the stick points: [`stick`]'s bits.
    pub(crate) fn stick(self) -> u8 {
        use stick::{DOWN, LEFT, RIGHT, UP};
        match self {
            Action::Noop | Action::Fire => 0,
            Action::Up | Action::UpFire => UP,
            Action::Right | Action::RightFire => RIGHT,
            Action::Left | Action::LeftFire => LEFT,
            Action::Down | Action::DownFire => DOWN,
            Action::UpRight | Action::UpRightFire => UP | RIGHT,
            Action::UpLeft | Action::UpLeftFire => UP | LEFT,
            Action::DownRight | Action::DownRightFire => DOWN | RIGHT,
            Action::DownLeft | Action::DownLeftFire => DOWN | LEFT,
        }
    }
}
