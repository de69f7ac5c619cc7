//! The terminal as a screen to draw on: its own page, without an echo of what is typed, and given back however the
//! program leaves it, a panic included. Signals end the loops that draw here, and so reach the same end.

use std::{
    env,
    io::{self, IsTerminal, Stdout},
    time::Duration,
};

use ratatui::{
    Frame, Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::{Hide, MoveTo, Show},
        event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
        execute,
        terminal::{
            Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
            enable_raw_mode,
        },
    },
};

use crate::error::TrainerError;

/// The terminal, as long as it is drawn on.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// What was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter or another sign.
    Letter(char),
    /// One of the four arrows, and others without a sign.
    Named(KeyCode),
    /// Ctrl-C.
    Interrupt,
}

/// Whether standard output is a terminal that can be drawn on.
#[must_use]
pub fn is_there() -> bool {
    io::stdout().is_terminal() && env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard output is none, or went away.
    pub fn open() -> Result<Self, TrainerError> {
        let opened = enable_raw_mode().and_then(|()| {
            execute!(io::stdout(), EnterAlternateScreen, Hide)?;
            Terminal::new(CrosstermBackend::new(io::stdout()))
        });
        match opened {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(failed(error))
            }
        }
    }

    /// Draws anew; what looks as before is not sent again.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), TrainerError> {
        self.terminal.draw(draw).map_err(failed)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// What is typed within `time`, if anything is; the end of `time` too where the terminal changes its size.
pub fn key_within(time: Duration) -> Result<Option<Key>, TrainerError> {
    match event::poll(time) {
        Ok(true) => event::read().map(|event| key_of(&event)).map_err(failed),
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(failed(error)),
        // Nothing, or a signal, for which whoever waits here looks.
        _ => Ok(None),
    }
}

fn key_of(event: &Event) -> Option<Key> {
    match *event {
        Event::Key(KeyEvent {
            kind: KeyEventKind::Release,
            ..
        }) => None,
        Event::Key(KeyEvent {
            code: KeyCode::Char('c' | 'd'),
            modifiers: KeyModifiers::CONTROL,
            ..
        }) => Some(Key::Interrupt),
        Event::Key(KeyEvent {
            code: KeyCode::Char(letter),
            ..
        }) => Some(Key::Letter(letter)),
        Event::Key(KeyEvent { code, .. }) => Some(Key::Named(code)),
        _ => None,
    }
}

/// Gives the terminal back. One that went away takes nothing any more, and needs nothing.
fn restore() {
    // tmux would bring back lines of an own page that has grown meanwhile, so nothing is left on it.
    let _ = execute!(
        io::stdout(),
        Clear(ClearType::All),
        MoveTo(0, 0),
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: io::Error) -> TrainerError {
    TrainerError::Report(format!("the terminal: {error}"))
}
