//! What a run leaves behind: `episodes.csv` and `updates.csv`, `TensorBoard` events, the learning
//! curve as a picture, and, while it lasts, its progress on standard error. Checkpoints and
//! settings live elsewhere.
//!
//! Training calls `RunReport` and nothing below it. Its calls only fill buffers, which reach the
//! disk about once a second and at each `RunReport::flush`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

pub(crate) mod band;
pub mod bootstrap;
mod curve;
mod events;
mod files;
pub(crate) mod format;
pub(crate) mod human;
mod picture;
pub(crate) mod progress;
mod rows;
pub(crate) mod running;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod tracking;

pub use rows::{Episode, Evaluation};
pub use table::read_rows;

use crate::{error::TrainerError, listener};
use curve::{Curve, draw_curve};
use files::Files;
pub(crate) use files::{EPISODES, EVALUATIONS};
use progress::Progress;
use running::GameWindow;
use toml::Table;
use tracking::{Tracked, Tracking};

/// Unwritten rows are at most this old; killing the program loses no more.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The outputs of one run, all in the run's folder.
pub(crate) struct RunReport {
    folder: PathBuf,
    title: String,
    /// At rank 0.
    files: Option<Files>,
    /// A tracker beside them, as long as it works.
    tracking: Option<Tracking>,
    total_steps: u64,
    /// The tag of what `updates.csv` calls `loss`.
    pub(crate) loss_tag: &'static str,
    progress: Progress,
    /// Raw returns of games.
    pub(crate) games: GameWindow,
    /// Lengths of games in agent steps, where they are shown for returns that say nothing.
    pub(crate) lengths: Option<GameWindow>,
    step: u64,
    started: Instant,
    seconds_before: f64,
    has_lives: bool,
    flushed: Instant,
}

/// Where a run goes on: the agent step of its checkpoint, that of its last update, and seconds of training.
pub(crate) type GoesOn = (u64, u64, f64);

impl RunReport {
    /// The outputs in `folder`: of a new run, and there must be none of another, or of one that `goes_on`. What that had
    /// written past its checkpoint is dropped, and of updates what is of later ones than its last. `title`
    /// heads the curve: env id, algorithm, seed.
    pub fn open(
        folder: &Path,
        title: &str,
        total_steps: u64,
        goes_on: Option<GoesOn>,
    ) -> Result<Self, TrainerError> {
        let (step, _, seconds) = goes_on.unwrap_or_default();
        let at = goes_on.map(|(step, updated_at, _)| (step, updated_at));
        let mut report = Self::of_another_rank(folder, title, total_steps, step);
        report.files = Some(Files::open(folder, at)?);
        report.progress = Progress::new(step, total_steps);
        report.seconds_before = seconds;
        for game in read_rows::<Episode>(&folder.join(EPISODES))? {
            report.games.push(game.raw_return);
        }
        Ok(report)
    }

    /// That of another rank than rank 0, which hears everything and says nothing.
    pub fn of_another_rank(folder: &Path, title: &str, total_steps: u64, at_step: u64) -> Self {
        let now = Instant::now();
        Self {
            folder: folder.into(),
            title: title.into(),
            files: None,
            tracking: None,
            total_steps,
            loss_tag: "losses/loss",
            progress: Progress::hidden(at_step, total_steps),
            games: GameWindow::of("return"),
            lengths: None,
            step: at_step,
            started: now,
            seconds_before: 0.0,
            has_lives: false,
            flushed: now,
        }
    }

    /// Shows how long games last, in agent steps, where it showed what they return: in self-play one side
    /// wins what the other loses. Games are then recorded for both players, those of the first under
    /// an even `env`.
    pub fn show_lengths(&mut self) {
        let mut lengths = GameWindow::of("length");
        let games = read_rows(&self.folder.join(EPISODES)).unwrap_or_default();
        for length in games.iter().filter_map(|game: &Episode| game.shown(true)) {
            lengths.push(length);
        }
        self.lengths = Some(lengths);
    }

    /// Records a finished true game, and when that is.
    pub fn episode(&mut self, mut game: Episode) -> Result<(), TrainerError> {
        game.seconds = self.seconds();
        self.games.push(game.raw_return);
        if let (Some(lengths), Some(length)) = (&mut self.lengths, game.shown(true)) {
            lengths.push(length);
        }
        self.write(|files| files.episode(&game))?;
        if let Some(tracking) = &self.tracking {
            tracking.event(game.step, files::of_episode(&game));
        }
        self.tick(game.step)
    }

    /// Records a learner update: the same named scalars each time. `seconds`, `steps_per_second`
    /// and `raw_return_mean_100` (absent before the first game has ended) are added here.
    pub fn update(&mut self, step: u64, scalars: &[(&str, f64)]) -> Result<(), TrainerError> {
        self.progress.update(step);
        self.tick(step)?;
        let own = [
            ("seconds", Some(self.seconds())),
            ("steps_per_second", self.progress.steps_per_second()),
            ("raw_return_mean_100", self.games.mean()),
        ];
        let lengths = self.lengths.as_ref();
        let lengths = lengths.map(|lengths| ("length_mean_100", lengths.mean()));
        let scalars = scalars.iter().map(|&(name, value)| (name, Some(value)));
        let row: Vec<_> = scalars.chain(own).chain(lengths).collect();
        let loss_tag = self.loss_tag;
        self.write(|files| files.update(step, &row, loss_tag))?;
        if let Some(tracking) = &self.tracking {
            tracking.update(step, files::of_update(&row, loss_tag));
        }
        if self.files.is_some() {
            listener::tell(|| told(self, &row));
        }
        Ok(())
    }

    /// Records an evaluation, whose games `num_agents` played together, and says whether it is the best so far.
    pub fn evaluation(
        &mut self,
        row: &Evaluation,
        is_best: bool,
        num_agents: usize,
    ) -> Result<(), TrainerError> {
        self.message(&format!(
            "evaluation at agent step {}: mean raw return {:.1} ± {:.1}{} over {}, {:.1} s{}",
            row.step,
            row.mean,
            row.std,
            format::of_agents(row.mean, num_agents),
            format::of_games((row.episodes / num_agents) as u64),
            row.seconds,
            if is_best { ", the best so far" } else { "" }
        ));
        listener::tell(|| json!({"event": "evaluation", "is_best": is_best, "scalars": row}));
        self.write(|files| files.evaluation(row))?;
        if let Some(tracking) = &self.tracking {
            tracking.event(row.step, files::of_evaluation(row));
        }
        Ok(())
    }

    /// Records a clip of play, a GIF.
    pub fn clip(&mut self, step: u64, path: &Path) -> Result<(), TrainerError> {
        let gif = crate::files::read(path).map_err(TrainerError::io("read", path))?;
        self.write(|files| files.events.gif(step, "video", &gif))?;
        if let Some(tracking) = &self.tracking {
            tracking.clip(step, path);
        }
        Ok(())
    }

    /// The evaluations of the run so far.
    pub fn evaluations(&self) -> &[Evaluation] {
        self.files.as_ref().map_or(&[], |files| &files.evaluations)
    }

    /// Updates in the table.
    pub fn num_updates(&self) -> u64 {
        self.files
            .as_ref()
            .map_or(0, |files| files.updates.num_rows)
    }

    /// Leaves out the last `time` of the seconds of training: it went into something else.
    pub fn pause(&mut self, time: Duration) {
        self.started += time;
        self.progress.pause(time);
    }

    /// Hears of the lives left in each env: where there are any, returns are those over all of them.
    pub fn lives(&mut self, lives: &[i32]) {
        self.has_lives = self.has_lives || lives.iter().any(|&left| left > 0);
    }

    /// Records the settings of the run for `TensorBoard`: a table of them, as `CleanRL` has it, and the page that compares
    /// runs by their hyper-parameters.
    pub fn settings(&mut self, settings: &Table) -> Result<(), TrainerError> {
        let rows = settings.iter();
        let rows = rows.map(|(name, value)| format!("|{name}|{value}|"));
        let head = ["|param|value|".to_owned(), "|-|-|".to_owned()];
        let text = head.into_iter().chain(rows).collect::<Vec<_>>();
        let text = text.join("\n");
        let step = self.step;
        self.write(|files| {
            files.events.text(step, "hyperparameters", &text)?;
            files.events.hyper_parameters(settings)
        })
    }

    /// Logs to a tracker, too, from now on.
    pub fn track(&mut self, tracked: Tracked) {
        self.tracking = Some(Tracking::start(tracked, &self.folder));
    }

    /// Moves the progress display to `step`, and the buffers to the disk when they are due.
    pub fn tick(&mut self, step: u64) -> Result<(), TrainerError> {
        self.step = step;
        self.progress
            .tick(step, self.lengths.as_ref().unwrap_or(&self.games));
        if self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.flush()?;
            self.look_at_tracker();
        }
        Ok(())
    }

    /// Says once what a tracker has failed at, and leaves it.
    fn look_at_tracker(&mut self) {
        if let Some(problem) = self.tracking.as_mut().and_then(Tracking::problem) {
            self.tracking = None;
            self.message(&problem);
        }
    }

    /// Prints a line of text without disturbing the progress bar.
    pub fn message(&mut self, text: &str) {
        self.progress.message(text);
    }

    /// Brings everything recorded so far to the disk. To be called before a checkpoint is written: a
    /// run that resumes from it relies on all rows up to its step.
    pub fn sync(&mut self) -> Result<(), TrainerError> {
        self.write(Files::sync)
    }

    /// Hands everything recorded so far to the operating system.
    pub fn flush(&mut self) -> Result<(), TrainerError> {
        self.flushed = Instant::now();
        self.write(Files::flush)
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut Files) -> Result<(), TrainerError>,
    ) -> Result<(), TrainerError> {
        self.files.as_mut().map_or(Ok(()), write)
    }

    /// Draws the games recorded so far to `curve.png` in the run's folder and returns its path.
    pub fn draw_curve(&mut self) -> Result<PathBuf, TrainerError> {
        self.flush()?;
        let path = self.folder.join("curve.png");
        if self.files.is_none() {
            return Ok(path);
        }
        let games = read_rows::<Episode>(&self.folder.join(EPISODES))?;
        let games = games
            .iter()
            .filter_map(|game| Some((game.step, self.shown(game)?)));
        // Those of self-play are returns against another, which are no lengths.
        let evaluations = self.evaluations().iter().filter(|_| self.lengths.is_none());
        let curve = Curve {
            games: games.collect(),
            evaluations: evaluations.map(|row| (row.step, row.mean)).collect(),
        };
        draw_curve(&path, &self.title, self.returns(), &curve)?;
        Ok(path)
    }

    /// Ends the run's outputs, at its last step or at an interruption: draws the curve, shows the
    /// final state, `step`, and leaves a clean line. Returns the path of the curve.
    pub fn finish(mut self, step: u64) -> Result<PathBuf, TrainerError> {
        let is_done = step >= self.total_steps;
        if is_done {
            self.write(|files| files.events.done())?;
        }
        if let Some(problem) = self
            .tracking
            .take()
            .and_then(|tracking| tracking.end(is_done))
        {
            self.message(&problem);
        }
        let games = self.lengths.as_ref().unwrap_or(&self.games);
        self.progress.show(step, games);
        self.draw_curve()
    }

    /// What the curve shows of a game.
    fn shown(&self, game: &Episode) -> Option<f64> {
        game.shown(self.lengths.is_some())
    }

    /// What that is.
    fn returns(&self) -> &'static str {
        if self.lengths.is_some() {
            "length of a game (agent steps)"
        } else if self.has_lives {
            "raw return (all lives)"
        } else {
            "raw return"
        }
    }

    /// Seconds of training, those before an interruption included.
    pub fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }
}

/// An update as a [`listener`] hears of it; what is not known yet is null.
fn told(report: &RunReport, row: &[(&str, Option<f64>)]) -> Value {
    let columns = row.iter().filter(|cell| cell.0 != files::LOGGED_ONLY);
    let row = columns.map(|&(name, value)| (name.to_owned(), json!(value)));
    json!({
        "event": "update",
        "step": report.step,
        "total_steps": report.progress.total_steps(),
        "games": report.games.played,
        "scalars": row.collect::<Map<_, _>>(),
    })
}
