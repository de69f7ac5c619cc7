//! `evaluations.csv`: one row an evaluation during training. The file is there once there was one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::table::{Table, read_rows};
use crate::error::ReportError;

/// What the games of an evaluation brought: raw returns of true games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Agent steps that the policy had learned from.
    pub step: u64,
    /// Mean raw return.
    pub mean: f64,
    /// Standard deviation of the raw returns (of the population).
    pub std: f64,
    /// Lowest raw return.
    pub min: f64,
    /// Highest raw return.
    pub max: f64,
    /// Games played.
    pub episodes: usize,
    /// Mean length in agent steps.
    pub length: f64,
    /// Seconds that it took; they are not seconds of training.
    pub seconds: f64,
}

const COLUMNS: [&str; 8] = [
    "step", "mean", "std", "min", "max", "episodes", "length", "seconds",
];

/// `evaluations.csv` as it is being written.
#[derive(Debug)]
pub struct EvaluationTable {
    path: PathBuf,
    /// Opened with the first row, unless there are rows from before.
    table: Option<Table>,
    /// The rows in it.
    pub rows: Vec<Evaluation>,
}

impl EvaluationTable {
    /// The table with the rows up to and including `at_step`, or a new one for `None`.
    pub fn open(path: &Path, at_step: Option<u64>) -> Result<Self, ReportError> {
        let mut found = Self {
            path: path.into(),
            table: None,
            rows: Vec::new(),
        };
        if at_step.is_some() && path.exists() {
            found.table = Some(Table::open(path, at_step)?);
            found.rows = read_evaluations(path)?;
        }
        Ok(found)
    }

    /// Appends a row and brings it to the disk: evaluations are rare, and a resumed run goes by the last.
    pub fn write(&mut self, evaluation: &Evaluation) -> Result<(), ReportError> {
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(Table::open(&self.path, None)?),
        };
        if table.columns.is_empty() {
            table.start(&COLUMNS)?;
        }
        let written = table.writer.serialize(evaluation);
        written.map_err(ReportError::table("write", &self.path))?;
        self.rows.push(*evaluation);
        table.sync()
    }
}

/// The rows of an `evaluations.csv`, in the order of their steps.
pub fn read_evaluations(path: &Path) -> Result<Vec<Evaluation>, ReportError> {
    read_rows(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_as_written_and_a_resumed_run_drops_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evaluations.csv");
        let row = |step| Evaluation {
            step,
            mean: 0.1 + step as f64,
            std: 2.5,
            min: -21.0,
            max: 1e6,
            episodes: 10,
            length: 612.4,
            seconds: 1.25,
        };
        let mut table = EvaluationTable::open(&path, None).unwrap();
        assert!(!path.exists());
        for step in [8, 16] {
            table.write(&row(step)).unwrap();
        }
        let table = EvaluationTable::open(&path, Some(16)).unwrap();
        assert_eq!(table.rows, [row(8), row(16)]);
        let mut table = EvaluationTable::open(&path, Some(15)).unwrap();
        table.write(&row(24)).unwrap();
        assert_eq!(read_evaluations(&path).unwrap(), [row(8), row(24)]);
    }
}
