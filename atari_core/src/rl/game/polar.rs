//! ALE's polar actions: where a joystick is and how hard FIRE is pressed, as a console's action.

use crate::action::{Action, stick};

/// The action that `[radius, angle, fire]` stands for, and how far it turns a paddle: the radius. Angle 0 is to the
/// right and π/2 up; `threshold` is the position beyond which a coordinate, or FIRE, counts.
///
/// A radius outside of its range is taken as the nearest in it, and what is no number as 0.
/// ALE computes in 32-bit floats; at π/6 and a threshold of 0.5 the precision decides.
pub(super) fn console_action([radius, angle, fire]: [f32; 3], threshold: f32) -> (Action, f32) {
    #[expect(clippy::manual_clamp, reason = "`clamp` keeps what is no number")]
    let radius = radius.max(0.0).min(1.0);
    let (x, y) = (radius * angle.cos(), radius * angle.sin());
    let along = |position: f32, ahead: u8, back: u8| {
        if position > threshold {
            ahead
        } else if -position > threshold {
            back
        } else {
            0
        }
    };
    let pushed = along(x, stick::RIGHT, stick::LEFT) | along(y, stick::UP, stick::DOWN);
    let fire = fire > threshold;
    let is_meant = |action: &&Action| action.stick() == pushed && action.fire() == fire;
    let action = Action::ALL.iter().find(is_meant);
    (action.copied().unwrap_or_default(), radius)
}
