//! What a run leaves behind: `episodes.csv` and `updates.csv`, `TensorBoard` events, the learning
//! curve as a picture, and, while it lasts, its progress on standard error. Checkpoints and
//! settings live elsewhere.
//!
//! Training calls [`RunReport`] and nothing below it. Its calls only fill buffers, which reach the
//! disk about once a second and at each [`RunReport::flush`].

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub mod band;
pub mod bootstrap;
mod curve;
mod events;
mod files;
mod format;
pub mod human;
mod picture;
pub mod progress;
mod rows;
pub mod running;
mod scalars;
mod table;
#[cfg(test)]
mod tests;

pub use rows::{Episode, Evaluation, read_episodes, read_evaluations};

use crate::error::ReportError;
use curve::{Curve, draw_curve};
use files::{EPISODES, Files};
use progress::Progress;
use running::GameWindow;

/// Unwritten rows are at most this old; killing the program loses no more.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The outputs of one run, all in the run's folder.
pub struct RunReport {
    folder: PathBuf,
    title: String,
    /// At rank 0.
    files: Option<Files>,
    progress: Progress,
    games: GameWindow,
    /// Lengths of games in agent steps, where they are shown for returns that say nothing.
    lengths: Option<GameWindow>,
    step: u64,
    started: Instant,
    seconds_before: f64,
    has_lives: bool,
    flushed: Instant,
}

impl RunReport {
    /// Starts the outputs of a new run in `folder`, which is made if need be and must not hold
    /// those of another. `title` heads the curve: env id, algorithm, seed.
    pub fn create(folder: &Path, title: &str, total_steps: u64) -> Result<Self, ReportError> {
        fs::create_dir_all(folder).map_err(ReportError::file("create", folder))?;
        let files = Files::open(folder, None)?;
        let progress = Progress::new(0, total_steps);
        Ok(Self::with(Some(files), progress, folder, title, 0))
    }

    /// Goes on with the outputs of a run whose checkpoint was taken at `at_step`, after `seconds` of
    /// training; what it had written past that step is dropped, and of updates what is of later ones than
    /// that at `updated_at`.
    pub fn resume(
        folder: &Path,
        title: &str,
        total_steps: u64,
        at_step: u64,
        updated_at: u64,
        seconds: f64,
    ) -> Result<Self, ReportError> {
        let files = Files::open(folder, Some((at_step, updated_at)))?;
        let progress = Progress::new(at_step, total_steps);
        let mut report = Self::with(Some(files), progress, folder, title, at_step);
        report.seconds_before = seconds;
        for game in read_episodes(&folder.join(EPISODES))? {
            report.games.push(game.raw_return);
        }
        Ok(report)
    }

    fn with(
        files: Option<Files>,
        progress: Progress,
        folder: &Path,
        title: &str,
        step: u64,
    ) -> Self {
        let now = Instant::now();
        Self {
            folder: folder.into(),
            title: title.into(),
            files,
            progress,
            games: GameWindow::default(),
            lengths: None,
            step,
            started: now,
            seconds_before: 0.0,
            has_lives: false,
            flushed: now,
        }
    }

    /// That of another rank than rank 0, which hears everything and says nothing.
    #[must_use]
    pub fn of_another_rank(folder: &Path, title: &str, total_steps: u64, at_step: u64) -> Self {
        let progress = Progress::hidden(at_step, total_steps);
        Self::with(None, progress, folder, title, at_step)
    }

    /// Shows how long games last, in agent steps, where it showed what they return: in self-play one side
    /// wins what the other loses. Games are then recorded for both players, those of the first under
    /// an even `env`.
    pub fn show_lengths(&mut self) {
        let mut lengths = GameWindow::of("length");
        for game in read_episodes(&self.folder.join(EPISODES)).unwrap_or_default() {
            if let Some(length) = length_of_both(game.env, game.length) {
                lengths.push(length);
            }
        }
        self.lengths = Some(lengths);
    }

    /// Records a finished true game: its raw return over all lives, its length in agent steps and
    /// in emulator `frames`. `step` counts the agent steps of the whole run, over all envs.
    pub fn episode(
        &mut self,
        step: u64,
        env: usize,
        raw_return: f64,
        length: u64,
        frames: u64,
    ) -> Result<(), ReportError> {
        self.games.push(raw_return);
        if let (Some(lengths), Some(length)) = (&mut self.lengths, length_of_both(env, length)) {
            lengths.push(length);
        }
        let seconds = self.seconds();
        if let Some(files) = &mut self.files {
            files.episode(&Episode {
                step,
                env,
                raw_return,
                length,
                frames,
                seconds,
            })?;
        }
        self.tick(step)
    }

    /// Records a learner update: the same named scalars each time. `seconds`, `steps_per_second`
    /// and `raw_return_mean_100` (absent before the first game has ended) are added here.
    pub fn update(&mut self, step: u64, scalars: &[(&str, f64)]) -> Result<(), ReportError> {
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
        let files = self.files.as_mut();
        files.map_or(Ok(()), |files| files.update(step, &row))
    }

    /// Records an evaluation, and says whether it is the best so far.
    pub fn evaluation(&mut self, row: &Evaluation, is_best: bool) -> Result<(), ReportError> {
        self.message(&format!(
            "evaluation at agent step {}: mean raw return {:.1} ± {:.1} over {} games, {:.1} s{}",
            row.step,
            row.mean,
            row.std,
            row.episodes,
            row.seconds,
            if is_best { ", the best so far" } else { "" }
        ));
        let files = self.files.as_mut();
        files.map_or(Ok(()), |files| files.evaluation(row))
    }

    /// The evaluations of the run so far.
    #[must_use]
    pub fn evaluations(&self) -> &[Evaluation] {
        let files = self.files.as_ref();
        files.map_or(&[], |files| &files.evaluations)
    }

    /// Games in the table.
    #[must_use]
    pub fn num_games(&self) -> u64 {
        self.games.played()
    }

    /// Updates in the table.
    #[must_use]
    pub fn num_updates(&self) -> u64 {
        let files = self.files.as_ref();
        files.map_or(0, |files| files.updates.table.num_rows)
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

    /// Records a text (Markdown) for `TensorBoard`, such as the settings of the run.
    pub fn text(&mut self, tag: &str, markdown: &str) -> Result<(), ReportError> {
        let files = self.files.as_mut();
        files.map_or(Ok(()), |files| files.events.text(self.step, tag, markdown))
    }

    /// Moves the progress display to `step`, and the buffers to the disk when they are due.
    pub fn tick(&mut self, step: u64) -> Result<(), ReportError> {
        self.step = step;
        self.progress
            .tick(step, self.lengths.as_ref().unwrap_or(&self.games));
        if self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.flush()?;
        }
        Ok(())
    }

    /// Prints a line of text without disturbing the progress bar.
    pub fn message(&mut self, text: &str) {
        self.progress.message(text);
    }

    /// Brings everything recorded so far to the disk. To be called before a checkpoint is written: a
    /// run that resumes from it relies on all rows up to its step.
    pub fn sync(&mut self) -> Result<(), ReportError> {
        let files = self.files.as_mut();
        files.map_or(Ok(()), Files::sync)
    }

    /// Hands everything recorded so far to the operating system.
    pub fn flush(&mut self) -> Result<(), ReportError> {
        self.flushed = Instant::now();
        let files = self.files.as_mut();
        files.map_or(Ok(()), Files::flush)
    }

    /// Mean raw return of the last true games, at most 100, and how many they are; `None` before
    /// the first has ended.
    #[must_use]
    pub fn raw_return_mean(&self) -> Option<(f64, usize)> {
        Some((self.games.mean()?, self.games.count()))
    }

    /// Mean length in agent steps of the last games, at most 100, and how many they are; `None` where
    /// lengths are not shown, and before the first game has ended.
    #[must_use]
    pub fn length_mean(&self) -> Option<(f64, usize)> {
        let lengths = self.lengths.as_ref()?;
        Some((lengths.mean()?, lengths.count()))
    }

    /// Draws the games recorded so far to `curve.png` in the run's folder and returns its path.
    pub fn draw_curve(&mut self) -> Result<PathBuf, ReportError> {
        self.flush()?;
        let path = self.folder.join("curve.png");
        if self.files.is_none() {
            return Ok(path);
        }
        let games = read_episodes(&self.folder.join(EPISODES))?;
        let curve = Curve {
            games: games
                .iter()
                .filter_map(|game| Some((game.step, self.shown(game)?)))
                .collect(),
            // Those of self-play are returns against another, which are no lengths.
            evaluations: self
                .evaluations()
                .iter()
                .filter(|_| self.lengths.is_none())
                .map(|row| (row.step, row.mean))
                .collect(),
        };
        draw_curve(&path, &self.title, self.returns(), &curve)?;
        Ok(path)
    }

    /// Ends the run's outputs, at its last step or at an interruption: draws the curve, shows the
    /// final state, `step`, and leaves a clean line. Returns the path of the curve.
    pub fn finish(mut self, step: u64) -> Result<PathBuf, ReportError> {
        let games = self.lengths.as_ref().unwrap_or(&self.games);
        self.progress.show(step, games);
        self.draw_curve()
    }

    /// What the curve shows of a game.
    fn shown(&self, game: &Episode) -> Option<f64> {
        match self.lengths {
            Some(_) => length_of_both(game.env, game.length),
            None => Some(game.raw_return),
        }
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
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }
}

/// The length of a game that both players' rows report, from the first one's.
fn length_of_both(env: usize, length: u64) -> Option<f64> {
    env.is_multiple_of(2).then_some(length as f64)
}
