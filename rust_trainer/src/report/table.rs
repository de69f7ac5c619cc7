//! The tables of a run: CSV files whose first column is the step and which only grow.
//!
//! A run that goes on from a checkpoint first drops the rows that the interrupted one had written
//! past it, so that a table holds each step once.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::iter;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use crate::{error::TrainerError, files};

#[cfg(test)]
mod tests;

/// A CSV file that is appended to, and the names of its columns.
#[derive(Debug)]
pub(super) struct Table {
    pub path: PathBuf,
    writer: csv::Writer<BufWriter<File>>,
    /// Empty until the first line is written.
    pub columns: Vec<String>,
    /// Rows behind the first line.
    pub num_rows: u64,
}

impl Table {
    /// Opens the table with the rows up to and including `at_step`, or a new one for `None`.
    pub fn open(path: &Path, at_step: Option<u64>) -> Result<Self, TrainerError> {
        let mut options = OpenOptions::new();
        let (mut columns, mut num_rows) = (Vec::new(), 0);
        if let Some(at_step) = at_step.filter(|_| path.exists()) {
            (columns, num_rows) = drop_rows_after(path, at_step)?;
            options.append(true);
        } else if path.exists() {
            let path = path.display();
            return Err(TrainerError::Report(format!(
                "`{path}` exists already: resume that run, or choose another folder"
            )));
        } else {
            options.write(true).create_new(true);
        }
        let file = options.open(path).map_err(TrainerError::io("open", path))?;
        Ok(Self {
            path: path.into(),
            writer: writer_to(file),
            columns,
            num_rows,
        })
    }

    /// The same for a table that has a column for each field of `Row`, and no other.
    pub fn of<Row: Default + Serialize>(
        path: &Path,
        at_step: Option<u64>,
    ) -> Result<Self, TrainerError> {
        let mut table = Self::open(path, at_step)?;
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer
            .serialize(Row::default())
            .map_err(failed("write", path))?;
        let lines = String::from_utf8(writer.into_inner().unwrap_or_default());
        let columns = columns_of(&lines.unwrap_or_default());
        if table.columns.is_empty() {
            table.start(columns)?;
        } else if table.columns != columns {
            return Err(TrainerError::Report(format!(
                "`{}` is another table: its first line is `{}`, expected `{}`",
                path.display(),
                table.columns.join(","),
                columns.join(",")
            )));
        }
        Ok(table)
    }

    /// Writes the first line, the names of the columns.
    fn start(&mut self, columns: Vec<String>) -> Result<(), TrainerError> {
        self.row(&columns)?;
        self.num_rows = 0;
        self.columns = columns;
        self.flush()
    }

    /// Appends a row.
    pub fn row(&mut self, row: impl Serialize) -> Result<(), TrainerError> {
        self.num_rows += 1;
        let written = self.writer.serialize(row);
        written.map_err(failed("write", &self.path))
    }

    /// Appends a row of named numbers, whose names the first such row settles. A column that `values` leaves
    /// out, and a `None`, become an empty cell; another name is an error, since its values would have no place.
    pub fn numbers(
        &mut self,
        step: u64,
        values: &[(&str, Option<f64>)],
    ) -> Result<(), TrainerError> {
        if self.columns.is_empty() {
            let names = values.iter().map(|(name, _)| *name);
            self.start(iter::once("step").chain(names).map(str::to_owned).collect())?;
        }
        let mut cells = vec![None; self.columns.len()];
        cells[0] = Some(step.to_string());
        let path = self.path.display();
        for &(name, value) in values {
            let Some(column) = self.columns.iter().position(|column| column == name) else {
                let columns = self.columns.join(", ");
                return Err(TrainerError::Report(format!(
                    "`{path}` has no column `{name}`: its first row named {columns}"
                )));
            };
            let digits = value.map_or_else(String::new, digits);
            if cells[column].replace(digits).is_some() {
                return Err(TrainerError::Report(format!(
                    "a row of `{path}` names the column `{name}` twice"
                )));
            }
        }
        self.row(&cells)
    }

    /// Hands the rows written so far to the operating system, and makes sure that they go to the file
    /// that stands at the path.
    pub fn flush(&mut self) -> Result<(), TrainerError> {
        let failed = TrainerError::io("write", &self.path);
        self.writer.flush().map_err(failed)?;
        if files::is_at(self.writer.get_ref().get_ref(), &self.path) {
            return Ok(());
        }
        Err(TrainerError::Report(format!(
            "`{}` was removed or replaced while the run was writing to it",
            self.path.display()
        )))
    }

    /// Brings the rows written so far to the disk.
    pub fn sync(&mut self) -> Result<(), TrainerError> {
        self.flush()?;
        let failed = TrainerError::io("sync", &self.path);
        self.writer.get_ref().get_ref().sync_data().map_err(failed)
    }
}

/// What rows are written by. The first line is written by `start`, so that a table without rows has it too.
///
/// After a write that failed halfway, `csv::Writer` would write all again. Behind it stands a buffer that is larger than
/// its own (8 KiB) and keeps what is not yet written, so that rows are whole and single once a full disk has room again.
fn writer_to<File: Write>(file: File) -> csv::Writer<BufWriter<File>> {
    let file = BufWriter::with_capacity(1 << 16, file);
    (csv::WriterBuilder::new().has_headers(false)).from_writer(file)
}

/// The rows of a table, in the order in which they were written; it may still be growing, or lack the end of its last
/// row.
pub fn read_rows<Row: DeserializeOwned>(path: &Path) -> Result<Vec<Row>, TrainerError> {
    let text = read_complete_lines(path)?;
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>().map_err(failed("read", path))
}

/// The file up to its last line break: a killed program leaves half a row behind it.
fn read_complete_lines(path: &Path) -> Result<String, TrainerError> {
    let bytes = files::read(path).map_err(TrainerError::io("read", path))?;
    let text = String::from_utf8(bytes).map_err(io::Error::other);
    let mut text = text.map_err(TrainerError::io("read", path))?;
    text.truncate(text.rfind('\n').map_or(0, |last| last + 1));
    Ok(text)
}

/// The names in the first line of a table.
fn columns_of(text: &str) -> Vec<String> {
    let first = text.lines().next();
    first.map_or_else(Vec::new, |first| {
        first.split(',').map(str::to_owned).collect()
    })
}

/// Drops the rows whose step is past `at_step`; returns the columns, and how many rows are left. The table is replaced
/// as a whole, so that a kill in between leaves it as it was.
fn drop_rows_after(path: &Path, at_step: u64) -> Result<(Vec<String>, u64), TrainerError> {
    let text = read_complete_lines(path)?;
    let mut kept = String::with_capacity(text.len());
    let mut num_rows = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 {
            let step = line.split([',', '\n']).next().unwrap_or_default();
            let Ok(step) = step.parse::<u64>() else {
                let (line, path, number) = (line.trim_end(), path.display(), number + 1);
                return Err(TrainerError::Report(format!(
                    "line {number} of `{path}` does not begin with a step: `{line}`"
                )));
            };
            if step > at_step {
                continue;
            }
            num_rows += 1;
        }
        kept.push_str(line);
    }
    files::write(path, kept.as_bytes())?;
    Ok((columns_of(&text), num_rows))
}

/// For `map_err`: what the CSV library could not do.
fn failed(action: &str, path: &Path) -> impl Fn(csv::Error) -> TrainerError {
    move |error| {
        let path = path.display();
        TrainerError::Report(format!("could not {action} the table `{path}`: {error}"))
    }
}

/// The shortest digits that read back as the same number. Most values come from float32 tensors,
/// and `0.1_f32` should stand as `0.1`, not as `0.10000000149011612`.
fn digits(value: f64) -> String {
    let narrow = value as f32;
    if f64::from(narrow).to_bits() == value.to_bits() {
        narrow.to_string()
    } else {
        value.to_string()
    }
}
