//! The joystick of a person at a keyboard.

use std::f32::consts::FRAC_PI_4;

use atari_core::Action;

/// What is held down.
#[expect(clippy::struct_excessive_bools, reason = "each is of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stick {
    pub up: bool,
    pub down: bool,
    pub left: bool,
    pub right: bool,
    pub fire: bool,
}

impl Stick {
    /// -1, 0 or 1 to the right and upwards; opposite directions cancel each other.
    fn direction(self) -> (i8, i8) {
        let along = |ahead, back| i8::from(ahead) - i8::from(back);
        (along(self.right, self.left), along(self.up, self.down))
    }

    /// The index of the action that comes nearest among those of a game: a direction that it has not is left out, the
    /// upright one first, then the button.
    pub fn index_in(self, actions: &[Action]) -> usize {
        let (across, up) = self.direction();
        let wanted = [
            (across, up, self.fire),
            (across, 0, self.fire),
            (0, up, self.fire),
            (across, up, false),
            (across, 0, false),
            (0, 0, self.fire),
        ];
        let find = |wanted| actions.iter().position(|&action| parts(action) == wanted);
        let found = wanted.into_iter().find_map(find);
        found.or_else(|| find((0, 0, false))).unwrap_or(0)
    }

    /// The same as ALE's polar action: `[radius, angle, fire]`.
    pub fn polar(self) -> [f32; 3] {
        let (across, up) = self.direction();
        let eighths = match (across, up) {
            (1, 1) => 1.0,
            (0, 1) => 2.0,
            (-1, 1) => 3.0,
            (-1, 0) => 4.0,
            (-1, -1) => -3.0,
            (0, -1) => -2.0,
            (1, -1) => -1.0,
            _ => 0.0,
        };
        let radius = f32::from(u8::from((across, up) != (0, 0)));
        [radius, eighths * FRAC_PI_4, f32::from(u8::from(self.fire))]
    }
}

/// Where an action points, to the right and upwards, and whether it fires.
fn parts(action: Action) -> (i8, i8, bool) {
    let (across, up) = match action {
        Action::Noop | Action::Fire => (0, 0),
        Action::Up | Action::UpFire => (0, 1),
        Action::Right | Action::RightFire => (1, 0),
        Action::Left | Action::LeftFire => (-1, 0),
        Action::Down | Action::DownFire => (0, -1),
        Action::UpRight | Action::UpRightFire => (1, 1),
        Action::UpLeft | Action::UpLeftFire => (-1, 1),
        Action::DownRight | Action::DownRightFire => (1, -1),
        Action::DownLeft | Action::DownLeftFire => (-1, -1),
    };
    (across, up, action.fire())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT_FIRE: Stick = Stick {
        left: true,
        fire: true,
        up: false,
        down: false,
        right: false,
    };

    #[test]
    fn every_action_of_the_console_can_be_pressed() {
        for (index, &action) in Action::ALL.iter().enumerate() {
            let (across, up, fire) = parts(action);
            let stick = Stick {
                up: up > 0,
                down: up < 0,
                left: across < 0,
                right: across > 0,
                fire,
            };
            assert_eq!(stick.index_in(&Action::ALL), index, "{action:?}");
        }
        let both = Stick {
            left: true,
            right: true,
            ..Stick::default()
        };
        assert_eq!(both.index_in(&Action::ALL), 0);
    }

    #[test]
    fn what_a_game_has_not_is_left_out() {
        use Action::{Fire, Left, LeftFire, Noop, Right};
        let up = Stick {
            up: true,
            ..LEFT_FIRE
        };
        assert_eq!(up.index_in(&[Noop, Fire, Right, Left, LeftFire]), 4);
        assert_eq!(up.index_in(&[Noop, Fire, Right, Left]), 3);
        assert_eq!(up.index_in(&[Noop, Fire]), 1);
        assert_eq!(up.index_in(&[Noop]), 0);
    }

    #[test]
    fn polar_actions_point_where_the_arrows_do() {
        let [radius, angle, fire] = LEFT_FIRE.polar();
        assert!((radius * angle.cos() + 1.0).abs() < 1e-6 && fire > 0.5);
        assert!(
            Stick::default()
                .polar()
                .iter()
                .all(|number| number.abs() < 1e-6)
        );
    }
}
