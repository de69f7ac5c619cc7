//! A game in a window of the desktop (X11, loaded when it is opened).

use std::{
    cell::RefCell,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use minifb::{InputCallback, Key, Window as Desktop, WindowOptions};

use super::{
    Display,
    canvas::{Canvas, size_on_television},
    controls::Controls,
    frame::Frame,
    panel,
    stick::Stick,
};
use crate::error::TrainerError;

/// Lines for each of the console's, of a window as it opens.
const SCALE: usize = 3;
/// How often keys are heard while play stands still.
const LOOK: Duration = Duration::from_millis(15);

const LETTERS: [(Key, char); 10] = [
    (Key::Q, 'q'),
    (Key::Escape, 'q'),
    (Key::H, 'h'),
    (Key::V, 'v'),
    (Key::P, 'p'),
    (Key::N, 'n'),
    (Key::Equal, '+'),
    (Key::NumPadPlus, '+'),
    (Key::Minus, '-'),
    (Key::NumPadMinus, '-'),
];

#[derive(Default)]
pub(super) struct Window {
    /// Opened with the first frame, whose height it has.
    desktop: Option<Desktop>,
    title: String,
    typed: Typed,
}

/// Keys that were pressed since they were asked for last, those too that were let go within the same frame.
#[derive(Clone, Default)]
struct Typed {
    keys: Rc<RefCell<Vec<Key>>>,
    /// A key that is held down repeats itself.
    held: Vec<Key>,
}

impl InputCallback for Typed {
    fn add_char(&mut self, _: u32) {}

    fn set_key_state(&mut self, key: Key, is_down: bool) {
        if !is_down {
            self.held.retain(|&held| held != key);
        } else if !self.held.contains(&key) {
            self.held.push(key);
            self.keys.borrow_mut().push(key);
        }
    }
}

impl Display for Window {
    fn show(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        let window = match &mut self.desktop {
            Some(window) => window,
            none => {
                let window = none.insert(opened(&titled(frame), frame, controls)?);
                window.set_input_callback(Box::new(self.typed.clone()));
                window
            }
        };
        name(window, &mut self.title, frame);
        thread::sleep(controls.wait(Instant::now()));
        draw(window, frame, controls)?;
        hear(window, &self.typed, controls);
        Ok(())
    }

    fn hold(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        thread::sleep(LOOK);
        if let Some(window) = &mut self.desktop {
            name(window, &mut self.title, frame);
            draw(window, frame, controls)?;
            hear(window, &self.typed, controls);
        }
        Ok(())
    }
}

fn titled(frame: &Frame<'_>) -> String {
    format!("{} - {}", frame.caption.text(), frame.caption.player())
}

/// Gives a window its title, if it has another one.
fn name(window: &mut Desktop, title: &mut String, frame: &Frame<'_>) {
    let new = titled(frame);
    if *title != new {
        window.set_title(&new);
        *title = new;
    }
}

fn opened(title: &str, frame: &Frame<'_>, controls: &Controls) -> Result<Desktop, TrainerError> {
    let (mut width, height) = size_on_television(frame.height(), SCALE);
    if controls.values {
        width += panel::width(height);
    }
    let options = WindowOptions {
        resize: true,
        ..WindowOptions::default()
    };
    let mut window = Desktop::new(title, width, height, options).map_err(failed)?;
    window.set_target_fps(0); // frames come when they are due
    Ok(window)
}

/// Draws a frame as large as the window has room for, in the middle.
fn draw(window: &mut Desktop, frame: &Frame<'_>, controls: &Controls) -> Result<(), TrainerError> {
    let (width, height) = window.get_size();
    let canvas = fitted(frame, (width.max(1), height.max(1)), controls.values);
    let pixels = canvas.pixels.iter().map(|&pixel| {
        let [red, green, blue] = frame.colours[usize::from(pixel)].map(u32::from);
        red << 16 | green << 8 | blue
    });
    let pixels: Vec<u32> = pixels.collect();
    window
        .update_with_buffer(&pixels, canvas.width, canvas.height)
        .map_err(failed)
}

/// A frame in a canvas of a window's size: as large as whole lines allow, with the panel to its right.
fn fitted(frame: &Frame<'_>, (width, height): (usize, usize), with_panel: bool) -> Canvas {
    let panel = |lines: usize| if with_panel { panel::width(lines) } else { 0 };
    let fits = |scale: &usize| {
        let size = size_on_television(frame.height(), *scale);
        size.0 + panel(size.1) <= width && size.1 <= height
    };
    let mut canvas = Canvas::new(width, height, 0);
    // In a window smaller than the console's picture lines are left out.
    let size = match (1..64).take_while(fits).last() {
        Some(scale) => size_on_television(frame.height(), scale),
        None => (width.saturating_sub(panel(height)).max(1), height),
    };
    let drawn = panel::composed(frame, size, with_panel);
    let (left, top) = ((width - drawn.width.min(width)) / 2, (height - size.1) / 2);
    for line in 0..drawn.height.min(height - top) {
        let visible = drawn.width.min(width);
        let to = (top + line) * width + left;
        let from = line * drawn.width;
        canvas.pixels[to..to + visible].copy_from_slice(&drawn.pixels[from..from + visible]);
    }
    canvas
}

/// Does what keys ask for.
fn hear(window: &Desktop, typed: &Typed, controls: &mut Controls) {
    controls.leaves |= !window.is_open();
    for key in typed.keys.take() {
        if let Some((_, letter)) = LETTERS.iter().find(|(meant, _)| *meant == key) {
            controls.hear(*letter);
        }
    }
    controls.stick = Stick {
        up: window.is_key_down(Key::Up),
        down: window.is_key_down(Key::Down),
        left: window.is_key_down(Key::Left),
        right: window.is_key_down(Key::Right),
        fire: window.is_key_down(Key::Space),
    };
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: minifb::Error) -> TrainerError {
    TrainerError::Usage(format!(
        "no window can be opened: {error}; `--to terminal` needs none, and neither does a file"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::frame::Caption;
    use atari_core::WIDTH;

    #[test]
    fn the_game_is_as_large_as_whole_lines_allow_and_in_the_middle() {
        let screen = vec![8; 210 * WIDTH];
        let caption = Caption::default();
        let frame = Frame::of(&screen, &[[0; 3]; 256], &caption);
        for (window, game) in [
            ((840, 630), (840, 630)),
            ((900, 700), (840, 630)),
            ((300, 2000), (280, 210)),
            ((100, 50), (100, 50)),
            ((1, 1), (1, 1)),
        ] {
            let canvas = fitted(&frame, window, false);
            assert_eq!((canvas.width, canvas.height), window);
            let lit: Vec<usize> = (0..canvas.pixels.len())
                .filter(|&at| canvas.pixels[at] == 8)
                .collect();
            assert_eq!(lit.len(), game.0 * game.1, "{window:?}");
            let first = (window.1 - game.1) / 2 * window.0 + (window.0 - game.0) / 2;
            assert_eq!(lit[0], first, "{window:?}");
            fitted(&frame, window, true);
        }
    }
}
