//! The terminal as a screen to draw on: its own page, without an echo of what is typed, and given back however the
//! program leaves it, a panic included. Signals end the loops that draw here, and so reach the same end.

use std::{
    collections::VecDeque,
    env,
    fs::File,
    io::{self, IsTerminal, Stdout},
    os::fd::{AsRawFd, RawFd},
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
    /// Where keys come from if standard input is no terminal.
    keyboard: Option<File>,
    /// What was typed and not asked for yet.
    typed: VecDeque<Key>,
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
            let is_input = io::stdin().is_terminal();
            let keyboard = (!is_input).then(|| File::open("/dev/tty")).transpose()?;
            execute!(io::stdout(), EnterAlternateScreen, Hide)?;
            let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
            Ok((terminal, keyboard))
        });
        match opened {
            Ok((terminal, keyboard)) => Ok(Self {
                terminal,
                keyboard,
                typed: VecDeque::new(),
            }),
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

    /// What is typed within `time`, if anything is; the end of `time` too where a signal comes, such as that the terminal
    /// has another size.
    ///
    /// # Errors
    /// The terminal went away. crossterm would wait for keys of one for ever, and not idly: it is asked only where
    /// there are some.
    pub fn key_within(&mut self, time: Duration) -> Result<Option<Key>, TrainerError> {
        if let Some(key) = self.typed.pop_front() {
            return Ok(Some(key));
        }
        let keyboard = self
            .keyboard
            .as_ref()
            .map_or(libc::STDIN_FILENO, AsRawFd::as_raw_fd);
        if readable_within(keyboard, time).map_err(failed)? {
            while event::poll(Duration::ZERO).map_err(failed)? {
                let event = event::read().map_err(failed)?;
                self.typed.extend(key_of(&event));
            }
        }
        Ok(self.typed.pop_front())
    }
}

/// Whether there is something to be read within `time`, or until a signal comes.
fn readable_within(file: RawFd, time: Duration) -> io::Result<bool> {
    let mut asked = libc::pollfd {
        fd: file,
        events: libc::POLLIN,
        revents: 0,
    };
    #[expect(unsafe_code, reason = "std has no poll")]
    // SAFETY: one struct, which lives through the call.
    let found = unsafe { libc::poll(&raw mut asked, 1, time.as_millis() as i32) };
    match found {
        0 => Ok(false),
        1.. if asked.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) == 0 => Ok(true),
        1.. => Err(io::Error::other("it went away")),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
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
