//! The view in the terminal. It ends with `q`, Ctrl-C or a signal.

use std::time::{Duration, Instant};

use super::{run::WatchedRun, shown::Shown, view};
use crate::{error::TrainerError, stop::StopRequest, terminal::Screen};

/// How often files are looked at. A run writes about once a second.
const READ_EVERY: Duration = Duration::from_millis(500);
/// How soon a signal is heard.
const LOOK: Duration = Duration::from_millis(100);

/// Shows runs, at least one, until the user has seen enough or a stop is asked for.
pub(crate) fn show(runs: Vec<WatchedRun>, stop: &StopRequest) -> Result<(), TrainerError> {
    let mut shown = Shown::new(runs);
    let mut screen = Screen::open()?;
    while !stop.is_asked() {
        shown.runs.iter_mut().for_each(WatchedRun::read);
        screen.draw(|frame| view::draw(frame, &shown))?;
        let read = Instant::now();
        while read.elapsed() < READ_EVERY && !stop.is_asked() {
            let left = READ_EVERY.saturating_sub(read.elapsed());
            if let Some(key) = screen.key_within(left.min(LOOK))?
                && !shown.hear(key)
            {
                return Ok(());
            }
            screen.draw(|frame| view::draw(frame, &shown))?;
        }
    }
    Ok(())
}
