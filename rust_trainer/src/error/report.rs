//! What can go wrong while a run's outputs are written, drawn or read back.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A failure of one of the files of a run's report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A new run was about to overwrite the outputs of an earlier one.
    #[error("`{path}` exists already: resume that run, or choose another folder")]
    Exists {
        /// The file that was in the way.
        path: PathBuf,
    },
    /// The operating system refused to read, write or rename.
    #[error("failed to {action} `{path}`")]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The CSV writer or parser failed.
    #[error("failed to {action} the table `{path}`")]
    Table {
        /// What was tried, as a verb.
        action: &'static str,
        /// The table.
        path: PathBuf,
        /// The place in the file and the reason.
        source: csv::Error,
    },
    /// A complete line of a table does not begin with a step.
    #[error("line {line} of `{path}` does not begin with a step: `{text}`")]
    Row {
        /// The table.
        path: PathBuf,
        /// Line number, from 1 as editors count.
        line: usize,
        /// The line as it stands.
        text: String,
    },
    /// A row names a column that the first row did not.
    #[error("`{path}` has no column `{column}`: its first row named {columns}")]
    UnknownColumn {
        /// The table.
        path: PathBuf,
        /// The name that was given.
        column: String,
        /// The names that the table has, with commas between.
        columns: String,
    },
    /// A row names the same column twice.
    #[error("a row of `{path}` names the column `{column}` twice")]
    RepeatedColumn {
        /// The table.
        path: PathBuf,
        /// The name that was given twice.
        column: String,
    },
    /// The first line of a table that is to go on names other columns.
    #[error("`{path}` is another table: its first line is `{found}`, expected `{expected}`")]
    Header {
        /// The table.
        path: PathBuf,
        /// Its columns, with commas between.
        found: String,
        /// What they should be.
        expected: String,
    },
    /// The file that rows are written to was removed or replaced by another.
    #[error("`{path}` was removed or replaced while the run was writing to it")]
    Gone {
        /// The table.
        path: PathBuf,
    },
    /// The plotting library failed.
    #[error("failed to draw `{path}`: {reason}")]
    Draw {
        /// The picture.
        path: PathBuf,
        /// The plotting library's words.
        reason: String,
    },
}

impl ReportError {
    /// An adapter for `map_err` that remembers what was tried on which file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            _ => Self::File {
                action,
                path,
                source,
            },
        }
    }

    /// The same for failures that the CSV library reports.
    pub(crate) fn table(action: &'static str, path: &Path) -> impl FnOnce(csv::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Table {
            action,
            path,
            source,
        }
    }
}
