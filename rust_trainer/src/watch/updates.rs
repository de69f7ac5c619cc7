//! `updates.csv`: losses, speed, and where the time of an update goes.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use super::{
    series::{Point, Series},
    tail::Tail,
};
use crate::error::TrainerError;

/// Seconds of training over which phases are told.
const WINDOW: f64 = 20.0;
/// Updates of that at most.
const MOST_ROWS: usize = 512;

/// Columns that are no losses.
const OF_THE_RUN: [&str; 6] = [
    "step",
    "update",
    "steps_per_second",
    "raw_return_mean_100",
    "length_mean_100",
    "worker_restarts",
];

/// What an update does, and the columns of its seconds.
const PHASES: [(&str, &str); 3] = [
    ("acting", "seconds_acting"),
    ("stepping", "seconds_stepping"),
    ("learning", "seconds_learning"),
];

/// What there is to say of the updates of a run.
pub(super) struct Updates {
    tail: Tail,
    columns: Vec<String>,
    /// Of each column.
    series: Vec<Series>,
    /// The newest rows, the oldest of which is where their time begins.
    recent: VecDeque<Vec<f64>>,
    /// Updates since the run began.
    pub count: u64,
}

impl Updates {
    pub fn in_folder(folder: &Path) -> Self {
        Self::of(Tail::new(folder.join("updates.csv")))
    }

    fn of(tail: Tail) -> Self {
        let (columns, series, recent) = Default::default();
        Self {
            tail,
            columns,
            series,
            recent,
            count: 0,
        }
    }

    /// Reads the updates that came since.
    pub fn read(&mut self) -> Result<(), TrainerError> {
        let new = self.tail.read()?;
        if new.starts_anew {
            *self = Self::of(std::mem::replace(
                &mut self.tail,
                Tail::new(PathBuf::default()),
            ));
        }
        for line in new.text.lines() {
            if self.columns.is_empty() {
                self.columns = line.split(',').map(str::to_owned).collect();
                self.series = vec![Series::default(); self.columns.len()];
            } else {
                self.push(line);
            }
        }
        Ok(())
    }

    fn push(&mut self, line: &str) {
        let row: Vec<f64> = line
            .split(',')
            .map(|cell| cell.parse().unwrap_or(f64::NAN))
            .collect();
        if row.len() != self.columns.len() {
            return; // damaged
        }
        let at = |name: &str| self.columns.iter().position(|column| column == name);
        let seconds = at("seconds").map_or(0.0, |column| row[column]);
        for (series, &value) in self.series.iter_mut().zip(&row) {
            series.push(Point {
                step: row[0],
                seconds,
                value,
            });
        }
        self.count += 1;
        self.recent.push_back(row);
        let begins = at("seconds").map_or(0, |column| {
            let is_old = |row: &&Vec<f64>| row[column] < seconds - WINDOW;
            self.recent.iter().take_while(is_old).count()
        });
        // The row before the window says when it begins.
        let old = begins
            .saturating_sub(1)
            .max(self.recent.len().saturating_sub(MOST_ROWS));
        self.recent.drain(..old);
    }

    /// What a column said last.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.named(name)?.last().map(|point| point.value)
    }

    /// All of a column.
    pub fn named(&self, name: &str) -> Option<&Series> {
        let column = self.columns.iter().position(|column| column == name)?;
        Some(&self.series[column])
    }

    /// Losses and other numbers of learning, by name, in the order of their columns.
    pub fn losses(&self) -> impl Iterator<Item = (&str, &Series)> {
        let columns = self.columns.iter().map(String::as_str).zip(&self.series);
        columns.filter(|(name, series)| {
            !OF_THE_RUN.contains(name) && !name.starts_with("seconds") && series.last().is_some()
        })
    }

    /// The parts of the time of the last updates, by what it went into; they sum to 1.
    pub fn phases(&self) -> Option<Vec<(&'static str, f64)>> {
        let at = |name: &str| self.columns.iter().position(|column| column == name);
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let seconds = at("seconds")?;
        let total = last[seconds] - first[seconds];
        if total <= 0.0 {
            return None;
        }
        let share = |column: &str| {
            let column = at(column)?;
            let sum: f64 = self.recent.iter().skip(1).map(|row| row[column]).sum();
            Some((sum / total).clamp(0.0, 1.0))
        };
        let phases = PHASES
            .iter()
            .map(|&(name, column)| Some((name, share(column)?)));
        let mut phases: Vec<_> = phases.collect::<Option<_>>()?;
        let known: f64 = phases.iter().map(|(_, share)| share).sum();
        phases.push(("the rest", (1.0 - known).max(0.0)));
        Some(phases)
    }

    /// Agent steps per second over the last updates.
    pub fn speed(&self) -> Option<f64> {
        self.last("steps_per_second")
    }
}
