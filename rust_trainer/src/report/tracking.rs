//! An experiment tracker beside the run's own files, on a thread of its own: the run waits for it only at its end, and
//! no fault of it ends a run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use python_shim::tracker::Tracker;
use serde::{Deserialize, Serialize};

use crate::{error::TrainerError, files};

/// What is logged at most once in that time; the last one before counts. A tracker is no table: a fast run has a
/// thousand updates a second.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long a run waits at its end for what is still to be sent.
const PATIENCE: Duration = Duration::from_secs(20);
/// The file in a run's folder by which it goes on.
const FILE: &str = "tracker.json";

/// Values by their tags, at an agent step.
type Row = (u64, Vec<(String, f64)>);

enum Message {
    /// Of which there are so many that the newest stands for all of a second.
    Update(Row),
    /// Each of which is logged.
    Event(Row),
    /// A GIF of play.
    Clip(u64, PathBuf),
    End {
        is_done: bool,
    },
}

/// Checks that the tracker's package is installed.
///
/// # Errors
/// A line that says how to install it.
pub(crate) fn check(kind: &str) -> Result<(), TrainerError> {
    python_shim::interpreter::start()?;
    Ok(Tracker::check(kind)?)
}

/// What is to be tracked, and where.
#[derive(Clone, Debug)]
pub(crate) struct Tracked {
    /// The tracker's name, which is that of its package.
    pub kind: String,
    /// The name of the run.
    pub run: String,
    /// All settings as JSON.
    pub settings: String,
}

/// The run's name at its tracker, kept in its folder.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    tracker: String,
    id: String,
}

/// The near end of a tracker.
pub(super) struct Tracking {
    kind: String,
    messages: Sender<Message>,
    /// What went wrong. It is closed when the far end has ended.
    problems: Receiver<String>,
    is_over: bool,
}

/// A run that fails has said so, and its tracker what it knows.
impl Drop for Tracking {
    fn drop(&mut self) {
        if !self.is_over {
            self.wait(false);
        }
    }
}

impl Tracking {
    /// Has a thread begin the run, or go on with the one whose id is in `folder`.
    pub fn start(tracked: Tracked, folder: &Path) -> Self {
        let (messages, received) = mpsc::channel();
        let (tell, problems) = mpsc::channel();
        let (kind, folder) = (tracked.kind.clone(), folder.to_owned());
        thread::spawn(move || {
            if let Err(error) = track(&tracked, &folder, &received) {
                let _ended = tell.send(error.to_string());
            }
        });
        Self {
            kind,
            messages,
            problems,
            is_over: false,
        }
    }

    /// Logs the numbers of an update; of several within a second the last.
    pub fn update(&self, step: u64, values: Vec<(String, f64)>) {
        let _ended = self.messages.send(Message::Update((step, values)));
    }

    /// Logs what happened at a step.
    pub fn event(&self, step: u64, values: Vec<(String, f64)>) {
        let _ended = self.messages.send(Message::Event((step, values)));
    }

    /// Logs a clip of play, a GIF.
    pub fn clip(&self, step: u64, path: &Path) {
        let _ended = self.messages.send(Message::Clip(step, path.to_owned()));
    }

    /// What went wrong since this was asked last.
    pub fn problem(&mut self) -> Option<String> {
        let problem = self.problems.try_recv().ok()?;
        self.is_over = true;
        Some(self.told(&problem))
    }

    fn told(&self, problem: &str) -> String {
        let line = problem.lines().next().unwrap_or_default();
        format!("{}: {line}; the run goes on without it", self.kind)
    }

    /// Waits until everything is sent, as long as that is worth it; returns what went wrong. The run is at its end, or
    /// goes on another time.
    pub fn end(mut self, is_done: bool) -> Option<String> {
        self.wait(is_done)
    }

    fn wait(&mut self, is_done: bool) -> Option<String> {
        self.is_over = true;
        let _ended = self.messages.send(Message::End { is_done });
        match self.problems.recv_timeout(PATIENCE) {
            Ok(problem) => Some(self.told(&problem)),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = PATIENCE.as_secs();
                Some(format!(
                    "{}: not done after {seconds} s; what it has not sent is lost",
                    self.kind
                ))
            }
        }
    }
}

/// The far end: begins the run and logs until it is told that there is no more.
fn track(about: &Tracked, folder: &Path, messages: &Receiver<Message>) -> Result<(), TrainerError> {
    let file = folder.join(FILE);
    let id = kept(&file, &about.kind);
    let Tracked {
        kind,
        run,
        settings,
    } = about;
    let tracker = Tracker::start(kind, run, folder, id.as_deref(), settings)?;
    keep(&file, kind, tracker.id()?)?;
    let mut rows = Rows::default();
    let mut is_done = None;
    while is_done.is_none() {
        let until = Instant::now() + INTERVAL;
        while is_done.is_none() {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Update(row)) => rows.newest = Some(row),
                Ok(Message::Event(row)) => rows.events.push(row),
                Ok(Message::Clip(step, path)) => tracker.clip(step, &path)?,
                Ok(Message::End { is_done: done }) => is_done = Some(done),
                Err(RecvTimeoutError::Disconnected) => is_done = Some(false),
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        rows.log(&tracker, is_done.is_some())?;
    }
    tracker.finish(is_done == Some(true))?;
    Ok(())
}

/// What is logged next.
#[derive(Default)]
struct Rows {
    events: Vec<Row>,
    newest: Option<Row>,
}

impl Rows {
    fn log(&mut self, tracker: &Tracker, is_over: bool) -> Result<(), TrainerError> {
        // What comes last may be of a step whose update is still to come.
        let updated = self.newest.as_ref().map_or(0, |row| row.0);
        let last = self.events.iter().map(|row| row.0).max();
        let last = last.filter(|last| !is_over && *last > updated);
        let waiting = self.events.extract_if(.., |row| Some(row.0) == last);
        let waiting = waiting.collect();
        let mut rows: Vec<Row> = self.events.drain(..).chain(self.newest.take()).collect();
        self.events = waiting;
        rows.sort_by_key(|row| row.0);
        // What happens at one step is one row.
        let mut whole: Vec<(u64, BTreeMap<String, f64>)> = Vec::new();
        for (step, values) in rows {
            let values = values.into_iter().filter(|(_, value)| value.is_finite());
            match whole.last_mut() {
                Some((last, row)) if *last == step => row.extend(values),
                _ => whole.push((step, values.collect())),
            }
        }
        for (step, values) in whole {
            let values: Vec<_> = values.into_iter().collect();
            tracker.log(step, &values)?;
        }
        Ok(())
    }
}

fn kept(file: &Path, kind: &str) -> Option<String> {
    let kept: Kept = serde_json::from_slice(&files::read(file).ok()?).ok()?;
    (kept.tracker == kind).then_some(kept.id)
}

fn keep(file: &Path, kind: &str, id: String) -> Result<(), TrainerError> {
    let kept = Kept {
        tracker: kind.to_owned(),
        id,
    };
    let text = serde_json::to_string(&kept).unwrap_or_default();
    files::write(file, format!("{text}\n").as_bytes())
}
