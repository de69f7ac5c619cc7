//! A game in the terminal: two pixels in each character, in the colours of the console.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use atari_core::WIDTH;
use ratatui::{
    buffer::Buffer,
    crossterm::{event::KeyCode, style},
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span, Text},
    widgets::Widget,
};

use super::{
    Display,
    controls::{Controls, KEYS},
    frame::Frame,
    panel,
    stick::Stick,
};
use crate::{
    error::TrainerError,
    terminal::{Key, Screen},
};

/// How often keys are heard while play stands still.
const LOOK: Duration = Duration::from_millis(50);
/// The longest time between two frames that are drawn, however late they are.
const LONGEST: Duration = Duration::from_millis(66);
/// How long a key counts as held down: terminals tell only that it was pressed, and again half a second later.
const HELD: Duration = Duration::from_millis(550);

#[derive(Default)]
pub(super) struct InTerminal {
    /// Taken with the first frame: until then Ctrl-C is a signal.
    screen: Option<Screen>,
    /// When the stick was moved, and when the button was pressed.
    moved: Option<Instant>,
    fired: Option<Instant>,
    /// When the game was drawn last.
    drawn: Option<Instant>,
}

impl InTerminal {
    fn screen(&mut self) -> Result<&mut Screen, TrainerError> {
        match &mut self.screen {
            Some(screen) => Ok(screen),
            none => {
                // A picture is nothing but colours, also where NO_COLOR asks for words without.
                style::force_color_output(true);
                Ok(none.insert(Screen::open()?))
            }
        }
    }

    /// Does what keys that come within `time` ask for.
    fn hear(&mut self, time: Duration, controls: &mut Controls) -> Result<(), TrainerError> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let key = self.screen()?.key_within(left)?;
            match key {
                Some(Key::Interrupt | Key::Named(KeyCode::Esc)) => controls.leaves = true,
                Some(Key::Letter(' ')) => self.fired = Some(Instant::now()),
                Some(Key::Letter(letter)) => {
                    controls.hear(letter);
                }
                Some(Key::Named(code)) => self.turn(code, &mut controls.stick),
                None if left.is_zero() => break,
                None => {}
            }
        }
        let is_held = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() < HELD);
        controls.stick.fire = is_held(self.fired);
        if !is_held(self.moved) {
            controls.stick = Stick {
                fire: controls.stick.fire,
                ..Stick::default()
            };
        }
        Ok(())
    }

    /// An arrow takes the place of the one before.
    fn turn(&mut self, code: KeyCode, stick: &mut Stick) {
        let fire = stick.fire;
        let mut turned = Stick {
            fire,
            ..Stick::default()
        };
        match code {
            KeyCode::Up => turned.up = true,
            KeyCode::Down => turned.down = true,
            KeyCode::Left => turned.left = true,
            KeyCode::Right => turned.right = true,
            _ => return,
        }
        *stick = turned;
        self.moved = Some(Instant::now());
    }
}

impl Display for InTerminal {
    fn show(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        let wait = controls.wait(Instant::now());
        // A terminal that is slower than the game shows fewer frames, not a slower game.
        let is_long_ago = |drawn: Instant| drawn.elapsed() >= LONGEST;
        if !wait.is_zero() || controls.is_paused || self.drawn.is_none_or(is_long_ago) {
            self.screen()?
                .draw(|page| draw(page.buffer_mut(), frame, controls))?;
            self.drawn = Some(Instant::now());
        }
        self.hear(wait, controls)
    }

    fn hold(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        self.screen()?
            .draw(|page| draw(page.buffer_mut(), frame, controls))?;
        self.hear(LOOK, controls)
    }
}

/// Draws the game, below it how it stands and the keys, and where it is asked for the panel beside it.
fn draw(buffer: &mut Buffer, frame: &Frame<'_>, controls: &Controls) {
    let faint = Style::new().add_modifier(Modifier::DIM);
    let panel = if controls.values {
        panel::LETTERS as u16 + 2
    } else {
        0
    };
    let rows = [
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ];
    let [above, caption, keys] = Layout::vertical(rows).areas(buffer.area);
    let [picture, panel] =
        Layout::horizontal([Constraint::Min(1), Constraint::Length(panel)]).areas(above);
    draw_picture(buffer, picture, frame);
    let text = format!(
        "{}  {}  x{}",
        frame.caption.text(),
        frame.caption.player(),
        controls.speed
    );
    Line::from(text).render(caption, buffer);
    Line::from(KEYS).style(faint).render(keys, buffer);
    let lines = panel::lines(frame).into_iter().map(|line| {
        let style = if line.is_pressed {
            Style::new().fg(Color::Yellow)
        } else {
            Style::new()
        };
        let bar = (line.bar * panel::LETTERS as f32).round() as usize;
        let (behind, rest): (String, String) = {
            let text = format!("{:<width$}", line.text, width = panel::LETTERS);
            (
                text.chars().take(bar).collect(),
                text.chars().skip(bar).collect(),
            )
        };
        let on_bar = style.bg(Color::Blue).fg(if line.is_pressed {
            Color::Yellow
        } else {
            Color::White
        });
        Line::from(vec![
            " ".into(),
            Span::styled(behind, on_bar),
            Span::styled(rest, style),
        ])
    });
    Text::from(lines.collect::<Vec<_>>()).render(panel, buffer);
}

/// Draws the picture as large as there is room, 4 wide and 3 high: a character is twice as high as wide, and its upper and
/// lower half are a pixel each.
fn draw_picture(buffer: &mut Buffer, area: Rect, frame: &Frame<'_>) {
    let (columns, lines) = (usize::from(area.width), 2 * usize::from(area.height));
    let width = columns.min(lines * 4 / 3);
    let height = (width * 3 / 4).min(lines) / 2 * 2;
    if width == 0 || height == 0 {
        return;
    }
    let pixels = scaled(frame, width, height);
    let left = area.x + ((columns - width) / 2) as u16;
    let top = area.y + ((lines - height) / 4) as u16;
    for (row, pair) in pixels.chunks_exact(2 * width).enumerate() {
        let (upper, lower) = pair.split_at(width);
        for (column, (&upper, &lower)) in upper.iter().zip(lower).enumerate() {
            let place = (left + column as u16, top + row as u16);
            if let Some(cell) = buffer.cell_mut(place) {
                cell.set_symbol("▀")
                    .set_fg(colour(upper))
                    .set_bg(colour(lower));
            }
        }
    }
}

fn colour([red, green, blue]: [u8; 3]) -> Color {
    Color::Rgb(red, green, blue)
}

/// The picture in another size, `[height, width]`: each pixel is the mean of what lies in it, so that nothing vanishes that
/// is smaller than a pixel.
fn scaled(frame: &Frame<'_>, width: usize, height: usize) -> Vec<[u8; 3]> {
    let columns: Vec<_> = (0..width).map(|at| span(at, width, WIDTH)).collect();
    let mut pixels = Vec::with_capacity(width * height);
    for line in 0..height {
        let lines = span(line, height, frame.height());
        for columns in &columns {
            let mut sums = [0_u32; 3];
            for line in lines.clone() {
                let row = &frame.screen[line * WIDTH..(line + 1) * WIDTH];
                for &entry in &row[columns.clone()] {
                    for (sum, part) in sums.iter_mut().zip(frame.colours[usize::from(entry)]) {
                        *sum += u32::from(part);
                    }
                }
            }
            let count = (lines.len() * columns.len()) as u32;
            pixels.push(sums.map(|sum| (sum / count) as u8));
        }
    }
    pixels
}

/// Which of `from` pixels lie in pixel `at` of `to`, at least one.
fn span(at: usize, to: usize, from: usize) -> Range<usize> {
    let begin = at * from / to;
    begin..((at + 1) * from / to).max(begin + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::frame::Caption;

    #[test]
    fn two_pixels_are_a_character_and_nothing_small_vanishes() {
        let mut colours = [[0; 3]; 256];
        colours[2] = [200, 100, 0];
        let mut screen = vec![0; 210 * WIDTH];
        screen[..105 * WIDTH].fill(2);
        screen[209 * WIDTH + 80] = 2; // a shot
        let caption = Caption {
            game: "pong".to_owned(),
            number: 1,
            score: vec![3.0, 4.0],
            is_human: true,
            is_paused: false,
        };
        let frame = Frame::of(&screen, &colours, &caption);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
        draw(&mut buffer, &frame, &Controls::new(true, true, 2.0));
        let cell = |column, row| buffer.cell((column, row)).cloned().unwrap();
        // 58 columns and 42 lines of pixels beside the panel, below which two rows tell the rest.
        let (upper, lower) = (Color::Rgb(200, 100, 0), Color::Rgb(0, 0, 0));
        assert_eq!((cell(29, 0).fg, cell(29, 0).bg), (upper, upper));
        assert_eq!((cell(29, 10).fg, cell(29, 10).bg), (upper, lower));
        assert_eq!((cell(29, 20).fg, cell(29, 20).bg), (lower, lower));
        assert_eq!(cell(29, 0).symbol(), "▀");
        let rows: Vec<String> = (0..24)
            .map(|row| {
                (0..80)
                    .map(|column| cell(column, row).symbol().to_owned())
                    .collect()
            })
            .collect();
        assert!(
            rows[22].starts_with("Pong  game 1  score 3 : 4  you play  x2"),
            "{}",
            rows[22]
        );
        assert!(rows[23].starts_with("h stick"), "{}", rows[23]);
        assert!(rows[3].contains("you play"), "{}", rows[3]);
        let is_lit = |column| ![lower, Color::Reset].contains(&cell(column, 20).bg);
        assert_eq!(
            (0..60).filter(|&column| is_lit(column)).count(),
            1,
            "the shot"
        );
    }

    #[test]
    fn no_terminal_is_too_small() {
        let screen = vec![0; 210 * WIDTH];
        let caption = Caption::default();
        let frame = Frame::of(&screen, &[[0; 3]; 256], &caption);
        for (width, height) in [(1, 1), (2, 3), (30, 4), (400, 120)] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            draw(&mut buffer, &frame, &Controls::new(false, true, 1.0));
        }
    }
}
