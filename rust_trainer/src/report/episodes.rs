//! `episodes.csv`: one row a finished true game, all lives and unclipped rewards.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::table::{Table, read_rows};
use crate::error::ReportError;

/// One finished true game: all lives, whatever the learner took for an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Agent steps of the whole run, over all envs, when the game ended.
    pub step: u64,
    /// Index of the env that played it.
    pub env: usize,
    /// Sum of the rewards as the game gave them, not clipped.
    pub raw_return: f64,
    /// Length in agent steps.
    pub length: u64,
    /// Length in emulator frames.
    pub frames: u64,
    /// Seconds of training since the start of the run, interruptions not counted.
    pub seconds: f64,
}

const EPISODE_COLUMNS: [&str; 6] = ["step", "env", "raw_return", "length", "frames", "seconds"];

/// `episodes.csv` as it is being written.
#[derive(Debug)]
pub struct EpisodeTable(Table);

impl EpisodeTable {
    /// Opens the table with the rows up to and including `at_step`, or a new one for `None`.
    pub fn open(path: &Path, at_step: Option<u64>) -> Result<Self, ReportError> {
        let mut table = Table::open(path, at_step)?;
        if table.columns.is_empty() {
            table.start(&EPISODE_COLUMNS)?;
        } else if table.columns != EPISODE_COLUMNS {
            return Err(ReportError::Header {
                path: path.into(),
                found: table.columns.join(","),
                expected: EPISODE_COLUMNS.join(","),
            });
        }
        Ok(Self(table))
    }

    /// Appends one game.
    pub fn write(&mut self, episode: &Episode) -> Result<(), ReportError> {
        let written = self.0.writer.serialize(episode);
        written.map_err(ReportError::table("write", &self.0.path))
    }

    /// Hands the rows written so far to the operating system.
    pub fn flush(&mut self) -> Result<(), ReportError> {
        self.0.flush()
    }

    /// Brings the rows written so far to the disk.
    pub fn sync(&mut self) -> Result<(), ReportError> {
        self.0.sync()
    }
}

/// The games of an `episodes.csv`, in the order in which they ended; the table may still be
/// growing, or lack the end of its last row.
pub fn read_episodes(path: &Path) -> Result<Vec<Episode>, ReportError> {
    read_rows(path)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    fn episode(step: u64) -> Episode {
        Episode {
            step,
            env: 3,
            raw_return: 0.5 * step as f64,
            length: 700,
            frames: 2_798,
            seconds: 1.25,
        }
    }

    fn table_with(steps: &[u64]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("episodes.csv");
        let mut table = EpisodeTable::open(&path, None).unwrap();
        for &step in steps {
            table.write(&episode(step)).unwrap();
        }
        (folder, path)
    }

    #[test]
    fn episodes_read_back_as_written() {
        let (_folder, path) = table_with(&[8, 16]);
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("step,env,raw_return,length,frames,seconds\n8,3,4.0,700,2798,1.25\n")
        );
        assert_eq!(read_episodes(&path).unwrap(), [episode(8), episode(16)]);
    }

    #[test]
    fn resuming_drops_later_rows_and_a_torn_one() {
        let (_folder, path) = table_with(&[8, 16, 16, 24]);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"1").unwrap();
        assert_eq!(read_episodes(&path).unwrap().len(), 4);

        let mut table = EpisodeTable::open(&path, Some(16)).unwrap();
        table.write(&episode(17)).unwrap();
        table.flush().unwrap();
        assert_eq!(read_episodes(&path).unwrap(), [8, 16, 16, 17].map(episode));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn resuming_a_table_without_a_first_line_starts_it() {
        let (_folder, path) = table_with(&[]);
        fs::write(&path, "step,en").unwrap();
        let mut table = EpisodeTable::open(&path, Some(16)).unwrap();
        table.write(&episode(8)).unwrap();
        table.flush().unwrap();
        assert_eq!(read_episodes(&path).unwrap(), [episode(8)]);
    }

    #[test]
    fn a_new_run_never_overwrites() {
        let (_folder, path) = table_with(&[8]);
        let error = EpisodeTable::open(&path, None).unwrap_err();
        assert!(matches!(error, ReportError::Exists { .. }), "{error}");
    }

    #[test]
    fn a_damaged_row_is_named() {
        let (_folder, path) = table_with(&[8]);
        fs::write(&path, "step,env\n8,1\nx,1\n").unwrap();
        let error = EpisodeTable::open(&path, Some(16)).unwrap_err();
        assert!(error.to_string().starts_with("line 3 of"), "{error}");
    }
    #[test]
    fn a_table_of_something_else_is_named_before_anything_is_written() {
        let (_folder, path) = table_with(&[8]);
        fs::write(&path, "step,loss\n8,1\n").unwrap();
        let error = EpisodeTable::open(&path, Some(16)).unwrap_err().to_string();
        assert!(
            error.contains("`step,loss`") && error.contains("raw_return"),
            "{error}"
        );
    }

    #[test]
    fn a_table_that_is_removed_or_replaced_is_noticed_at_the_next_flush() {
        let (_folder, path) = table_with(&[8]);
        let mut table = EpisodeTable::open(&path, Some(8)).unwrap();
        table.flush().unwrap();
        for text in [None, Some("step,loss\n")] {
            fs::remove_file(&path).unwrap();
            if let Some(text) = text {
                fs::write(&path, text).unwrap();
            }
            table.write(&episode(16)).unwrap();
            let error = table.flush().unwrap_err();
            assert!(error.to_string().contains("removed or replaced"), "{error}");
            fs::write(&path, "").unwrap();
        }
    }
}
