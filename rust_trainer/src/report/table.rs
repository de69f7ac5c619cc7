//! The tables of a run: CSV files whose first column is the step and which only grow.
//!
//! A run that goes on from a checkpoint first drops the rows that the interrupted one had written
//! past it, so that a table holds each step once.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use crate::error::ReportError;
use crate::files;

#[cfg(test)]
mod tests;

/// A CSV file that is appended to, and the names of its columns.
#[derive(Debug)]
pub(super) struct Table {
    pub path: PathBuf,
    writer: csv::Writer<File>,
    /// Empty until the first line is written.
    pub columns: Vec<String>,
    /// Rows behind the first line.
    pub num_rows: u64,
}

impl Table {
    /// Opens the table with the rows up to and including `at_step`, or a new one for `None`.
    pub fn open(path: &Path, at_step: Option<u64>) -> Result<Self, ReportError> {
        let mut options = OpenOptions::new();
        let (mut columns, mut num_rows) = (Vec::new(), 0);
        if let Some(at_step) = at_step.filter(|_| path.exists()) {
            num_rows = drop_rows_after(path, at_step)?;
            columns = read_columns(path)?;
            options.append(true);
        } else {
            options.write(true).create_new(true);
        }
        let file = options.open(path);
        let file = file.map_err(ReportError::file("open", path))?;
        Ok(Self {
            path: path.into(),
            // The first line is written by `start`, so that a table without rows has it too.
            writer: csv::WriterBuilder::new()
                .has_headers(false)
                .from_writer(file),
            columns,
            num_rows,
        })
    }

    /// The same for a table that has a column for each field of `Row`, and no other.
    pub fn of<Row: Default + Serialize>(
        path: &Path,
        at_step: Option<u64>,
    ) -> Result<Self, ReportError> {
        let mut table = Self::open(path, at_step)?;
        let mut writer = csv::Writer::from_writer(Vec::new());
        let written = writer.serialize(Row::default());
        written.map_err(ReportError::table("write", path))?;
        let lines = String::from_utf8(writer.into_inner().unwrap_or_default());
        let lines = lines.unwrap_or_default();
        let columns: Vec<&str> = lines.lines().next().unwrap_or("").split(',').collect();
        if table.columns.is_empty() {
            table.start(&columns)?;
        } else if table.columns != columns {
            return Err(ReportError::Header {
                path: path.into(),
                found: table.columns.join(","),
                expected: columns.join(","),
            });
        }
        Ok(table)
    }

    /// Writes the first line, the names of the columns.
    pub fn start(&mut self, columns: &[&str]) -> Result<(), ReportError> {
        self.row(columns)?;
        self.num_rows = 0;
        self.columns = columns.iter().map(ToString::to_string).collect();
        self.flush()
    }

    /// Appends a row.
    pub fn row(&mut self, row: impl Serialize) -> Result<(), ReportError> {
        let written = self.writer.serialize(row);
        self.num_rows += 1;
        written.map_err(ReportError::table("write", &self.path))
    }

    /// Hands the rows written so far to the operating system, and makes sure that they go to the file
    /// that stands at the path.
    pub fn flush(&mut self) -> Result<(), ReportError> {
        let flushed = self.writer.flush();
        flushed.map_err(ReportError::file("write", &self.path))?;
        let at_path = fs::metadata(&self.path).map(|file| (file.dev(), file.ino()));
        let ours = self.writer.get_ref().metadata();
        let ours = ours.map(|file| (file.dev(), file.ino()));
        match (at_path, ours) {
            (Ok(at_path), Ok(ours)) if at_path == ours => Ok(()),
            _ => Err(ReportError::Gone {
                path: self.path.clone(),
            }),
        }
    }

    /// Brings the rows written so far to the disk.
    pub fn sync(&mut self) -> Result<(), ReportError> {
        self.flush()?;
        let synced = self.writer.get_ref().sync_data();
        synced.map_err(ReportError::file("sync", &self.path))
    }
}

fn read_columns(path: &Path) -> Result<Vec<String>, ReportError> {
    let reader = csv::Reader::from_path(path);
    let mut reader = reader.map_err(ReportError::table("read", path))?;
    let columns = reader.headers();
    let columns = columns.map_err(ReportError::table("read", path))?;
    Ok(columns.iter().map(Into::into).collect())
}

/// The file up to its last line break: a killed program leaves half a row behind it.
pub(super) fn read_complete_lines(path: &Path) -> Result<String, ReportError> {
    let text = files::read(path).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let mut text = text.map_err(ReportError::file("read", path))?;
    text.truncate(text.rfind('\n').map_or(0, |last| last + 1));
    Ok(text)
}

/// The rows of a table; it may still be growing, or lack the end of its last row.
pub(super) fn read_rows<Row: DeserializeOwned>(path: &Path) -> Result<Vec<Row>, ReportError> {
    let text = read_complete_lines(path)?;
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>()
        .map_err(ReportError::table("read", path))
}

/// Drops the rows whose step is past `at_step`; returns how many are left. The table is replaced as a whole, so that a kill in
/// between leaves it as it was.
fn drop_rows_after(path: &Path, at_step: u64) -> Result<u64, ReportError> {
    let text = read_complete_lines(path)?;
    let mut kept = String::with_capacity(text.len());
    let mut num_rows = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let step = line
            .split([',', '\n'])
            .next()
            .and_then(|cell| cell.parse().ok());
        let keep = match step {
            _ if number == 0 => true,
            Some(step) => at_step >= step,
            None => {
                return Err(ReportError::Row {
                    path: path.into(),
                    line: number + 1,
                    text: line.trim_end().into(),
                });
            }
        };
        if keep {
            kept.push_str(line);
            num_rows += u64::from(number > 0);
        }
    }
    files::replace(path, kept.as_bytes()).map_err(ReportError::file("replace", path))?;
    Ok(num_rows)
}
