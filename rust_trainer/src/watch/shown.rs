//! [`Shown`]: which run is shown, and how; keys change it.

use ratatui::crossterm::event::KeyCode;

use super::run::WatchedRun;
use crate::terminal::Key;

/// What is shown of the runs.
pub(super) struct Shown {
    pub runs: Vec<WatchedRun>,
    /// Which of them.
    pub chosen: usize,
    /// Lines that lists have been scrolled by.
    pub scrolled: usize,
    pub help: bool,
    /// The curve is drawn over seconds, not over agent steps.
    pub over_time: bool,
}

impl Shown {
    pub fn new(runs: Vec<WatchedRun>) -> Self {
        Self {
            runs,
            chosen: 0,
            scrolled: 0,
            help: false,
            over_time: false,
        }
    }

    /// Does what a key asks for; whether the view goes on.
    pub fn hear(&mut self, key: Key) -> bool {
        let count = self.runs.len();
        match key {
            Key::Named(KeyCode::Esc) if self.help => self.help = false,
            Key::Interrupt | Key::Letter('q' | 'Q') | Key::Named(KeyCode::Esc) => return false,
            Key::Letter('h' | '?') => self.help = !self.help,
            Key::Letter('t') => self.over_time = !self.over_time,
            Key::Named(KeyCode::Right | KeyCode::Tab) => self.choose((self.chosen + 1) % count),
            Key::Named(KeyCode::Left | KeyCode::BackTab) => {
                self.choose((self.chosen + count - 1) % count);
            }
            Key::Named(KeyCode::Down) => self.scrolled += 1,
            Key::Named(KeyCode::Up) => self.scrolled = self.scrolled.saturating_sub(1),
            Key::Letter(digit @ '1'..='9') => {
                self.choose((digit as usize - '1' as usize).min(count - 1));
            }
            _ => {}
        }
        // No list is longer.
        let run = &self.runs[self.chosen];
        let lists = [
            run.games.last.len(),
            run.happenings().len(),
            run.updates.losses().count(),
        ];
        let longest = lists.into_iter().max().unwrap_or(0);
        self.scrolled = self.scrolled.min(longest.saturating_sub(1));
        true
    }

    fn choose(&mut self, run: usize) {
        (self.chosen, self.scrolled) = (run, 0);
    }
}
