//! The eighteen actions of a joystick, numbered as the Arcade Learning Environment numbers them.

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

    /// Whether the stick points up, straight or between.
    #[must_use]
    pub fn up(self) -> bool {
        use Action::{Up, UpFire, UpLeft, UpLeftFire, UpRight, UpRightFire};
        matches!(
            self,
            Up | UpRight | UpLeft | UpFire | UpRightFire | UpLeftFire
        )
    }

    /// Whether the stick points down, straight or between.
    #[must_use]
    pub fn down(self) -> bool {
        use Action::{Down, DownFire, DownLeft, DownLeftFire, DownRight, DownRightFire};
        matches!(
            self,
            Down | DownRight | DownLeft | DownFire | DownRightFire | DownLeftFire
        )
    }

    /// Whether the stick points left, straight or between.
    #[must_use]
    pub fn left(self) -> bool {
        use Action::{DownLeft, DownLeftFire, Left, LeftFire, UpLeft, UpLeftFire};
        matches!(
            self,
            Left | UpLeft | DownLeft | LeftFire | UpLeftFire | DownLeftFire
        )
    }

    /// Whether the stick points right, straight or between.
    #[must_use]
    pub fn right(self) -> bool {
        use Action::{DownRight, DownRightFire, Right, RightFire, UpRight, UpRightFire};
        matches!(
            self,
            Right | UpRight | DownRight | RightFire | UpRightFire | DownRightFire
        )
    }
}
