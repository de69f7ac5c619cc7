//! The agent's numbers beside a game: what it expects, and what it thinks of each action.

use super::{
    canvas::{Canvas, nearest},
    frame::Frame,
};
use crate::policy::Estimates;

/// Letters of a line.
pub(super) const LETTERS: usize = 18;

/// A line of the panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line {
    pub text: String,
    /// How long a bar behind it is, 0 to 1.
    pub bar: f32,
    /// It is of the action that is pressed.
    pub is_pressed: bool,
}

/// What there is to say beside a frame.
pub(super) fn lines(frame: &Frame<'_>) -> Vec<Line> {
    let caption = frame.caption;
    let mut lines: Vec<Line> = [
        caption.title(),
        named("game", &caption.number.to_string()),
        named("score", &caption.score_with(":")),
        caption.player().to_owned(),
    ]
    .map(plain)
    .into();
    let Some(outlook) = frame.outlook else {
        return lines;
    };
    let value = outlook.value;
    lines.extend(value.map(|value| plain(named("value", &format!("{value:.3}")))));
    match &outlook.estimates {
        Estimates::Probabilities(shares) => {
            let numbers = shares.iter().map(|&share| (format!("{share:.2}"), share));
            lines.extend(of_actions(frame, numbers));
        }
        Estimates::ActionValues(values) => {
            let low = values.iter().copied().fold(f32::INFINITY, f32::min);
            let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let share = |value| {
                if high > low {
                    (value - low) / (high - low)
                } else {
                    0.0
                }
            };
            let numbers = values
                .iter()
                .map(|&value| (format!("{value:.3}"), share(value)));
            lines.extend(of_actions(frame, numbers));
        }
        Estimates::Means(means) => {
            let names = ["radius", "angle", "fire"].iter().zip(means);
            lines.extend(names.map(|(name, mean)| plain(named(name, &format!("{mean:.2}")))));
        }
    }
    lines
}

fn of_actions(frame: &Frame<'_>, numbers: impl Iterator<Item = (String, f32)>) -> Vec<Line> {
    let lines = numbers.zip(frame.actions).enumerate();
    let lines = lines.map(|(index, ((number, bar), action))| Line {
        text: named(&format!("{action:?}").to_lowercase(), &number),
        bar,
        is_pressed: frame.pressed == Some(index),
    });
    lines.collect()
}

fn plain(text: String) -> Line {
    Line {
        text,
        ..Line::default()
    }
}

/// A name on the left and a number on the right.
fn named(name: &str, number: &str) -> String {
    let width = LETTERS.saturating_sub(number.chars().count());
    let name: String = name.chars().take(width.saturating_sub(1)).collect();
    format!("{name:<width$}{number}")
}

/// Columns that the panel takes on a canvas of so many lines.
pub(super) fn width(height: usize) -> usize {
    (LETTERS + 2) * 8 * letter_scale(height)
}

fn letter_scale(height: usize) -> usize {
    (height / 300).max(1)
}

/// Draws the panel on the right of a canvas, from column `left` on.
pub(super) fn draw(canvas: &mut Canvas, frame: &Frame<'_>, left: usize) {
    let colour = |rgb| nearest(frame.colours, rgb);
    let (paper, ink) = (colour([0, 0, 0]), colour([236, 236, 236]));
    let (bar, pressed) = (colour([24, 59, 157]), colour([252, 224, 112]));
    let scale = letter_scale(canvas.height);
    canvas.fill((left, 0), (canvas.width - left, canvas.height), paper);
    let lines = lines(frame);
    let room = canvas.height.saturating_sub(8 * scale) / lines.len().max(1);
    let pitch = room.min(14 * scale).max(8 * scale);
    for (index, line) in lines.iter().enumerate() {
        let place = (left + 8 * scale, 6 * scale + index * pitch);
        let length = (line.bar * (LETTERS * 8 * scale) as f32).round() as usize;
        canvas.fill(
            (place.0, place.1.saturating_sub(scale)),
            (length, 10 * scale),
            bar,
        );
        canvas.write(
            &line.text,
            place,
            scale,
            if line.is_pressed { pressed } else { ink },
        );
    }
}

/// A frame `scale` times as large as the television showed it, with the panel where it is asked for.
pub(super) fn composed(frame: &Frame<'_>, size: (usize, usize), with_panel: bool) -> Canvas {
    let panel = if with_panel { width(size.1) } else { 0 };
    let mut canvas = Canvas::new((size.0 + panel).next_multiple_of(2), size.1, 0);
    canvas.draw_frame(frame, (0, 0), size);
    if with_panel {
        draw(&mut canvas, frame, size.0);
    }
    canvas
}

#[cfg(test)]
mod tests {
    use atari_core::Action;

    use super::*;
    use crate::{
        play::frame::{Caption, Colours},
        policy::Outlook,
    };

    const COLOURS: Colours = [[0; 3]; 256];
    const ACTIONS: &[Action] = &[Action::Noop, Action::Fire, Action::UpRightFire];

    fn texts(estimates: Estimates, pressed: Option<usize>) -> Vec<Line> {
        let caption = Caption {
            game: "space_invaders".to_owned(),
            number: 2,
            score: vec![35.0],
            is_human: false,
            is_paused: false,
        };
        let outlook = Outlook {
            value: Some(1.5),
            estimates,
        };
        lines(&Frame {
            outlook: Some(&outlook),
            actions: ACTIONS,
            pressed,
            ..Frame::of(&[], &COLOURS, &caption)
        })
    }

    #[test]
    fn probabilities_stand_beside_their_actions() {
        let lines = texts(Estimates::Probabilities(vec![0.25, 0.5, 0.25]), Some(1));
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            text,
            [
                "Space Invaders",
                "game             2",
                "score           35",
                "the agent plays",
                "value        1.500",
                "noop          0.25",
                "fire          0.50",
                "uprightfire   0.25",
            ]
        );
        let pressed = lines.iter().position(|line| line.is_pressed);
        assert_eq!(pressed, Some(6));
        assert!((lines[6].bar - 0.5).abs() < 1e-6);
    }

    #[test]
    fn bars_of_action_values_go_from_the_worst_to_the_best() {
        let lines = texts(Estimates::ActionValues(vec![2.0, 3.0, 2.5]), None);
        let bars: Vec<u32> = lines[5..]
            .iter()
            .map(|line| (line.bar * 10.0) as u32)
            .collect();
        assert_eq!(bars, [0, 10, 5]);
        assert_eq!(lines[7].text, "uprightfire  2.500");
        let alike = texts(Estimates::ActionValues(vec![2.0; 3]), None);
        assert!(alike.iter().all(|line| line.bar.abs() < 1e-6));
    }

    #[test]
    fn continuous_actions_have_their_means() {
        let lines = texts(Estimates::Means(vec![0.5, -3.0, 1.0]), None);
        assert_eq!(lines[6].text, "angle        -3.00");
    }
}
