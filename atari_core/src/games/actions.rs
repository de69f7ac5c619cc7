//! Sets of actions that several games answer to, in ale-py's order. The stick points ways; `OR_FIRE`: the button alone does
//! something, too; `WITH_FIRE`: as well as with each way of the stick.

use crate::action::Action::{
    self, Down, DownFire, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up,
    UpFire, UpLeft, UpRight,
};

pub(super) const SIDEWAYS_OR_FIRE: &[Action] = &[Noop, Fire, Right, Left];
pub(super) const SIDEWAYS_WITH_FIRE: &[Action] = &[Noop, Fire, Right, Left, RightFire, LeftFire];
pub(super) const UP_DOWN_OR_FIRE: &[Action] = &[Noop, Fire, Up, Down];
pub(super) const UP_DOWN_WITH_FIRE: &[Action] = &[Noop, Fire, Up, Down, UpFire, DownFire];
pub(super) const FOUR_WAYS: &[Action] = &[Noop, Up, Right, Left, Down];
pub(super) const FOUR_WAYS_OR_FIRE: &[Action] = &[Noop, Fire, Up, Right, Left, Down];
pub(super) const FOUR_WAYS_WITH_FIRE: &[Action] = &[
    Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
];
pub(super) const DIAGONALS_OR_FIRE: &[Action] = &[Fire, UpRight, UpLeft, DownRight, DownLeft];
pub(super) const EIGHT_WAYS: &[Action] = &[
    Noop, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
];
pub(super) const EIGHT_WAYS_OR_FIRE: &[Action] = &[
    Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
];

/// All eighteen but some, `N` in all.
pub(super) const fn all_but<const N: usize>(left_out: &[Action]) -> [Action; N] {
    assert!(N + left_out.len() == Action::ALL.len());
    let mut kept = [Noop; N];
    let (mut index, mut count) = (0, 0);
    while index < Action::ALL.len() {
        let (mut is_left_out, mut other) = (false, 0);
        while other < left_out.len() {
            is_left_out |= left_out[other] as usize == index;
            other += 1;
        }
        if !is_left_out {
            kept[count] = Action::ALL[index];
            count += 1;
        }
        index += 1;
    }
    kept
}
