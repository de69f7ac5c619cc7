//! Tables that grow, are cut, resumed, torn, removed and replaced.

use std::{fs, io::Write};

use super::*;
use crate::report::{Episode, Evaluation};

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
    let mut table = Table::of::<Episode>(&path, None).unwrap();
    for &step in steps {
        table.row(episode(step)).unwrap();
    }
    (folder, path)
}

#[test]
fn episodes_read_back_as_written() {
    let (_folder, path) = table_with(&[8, 16]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("step,env,raw_return,length,frames,seconds\n8,3,4.0,700,2798,1.25\n"));
    assert_eq!(
        read_rows::<Episode>(&path).unwrap(),
        [episode(8), episode(16)]
    );
}

#[test]
fn resuming_drops_later_rows_and_a_torn_one() {
    let (_folder, path) = table_with(&[8, 16, 16, 24]);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"1").unwrap();
    assert_eq!(read_rows::<Episode>(&path).unwrap().len(), 4);

    let mut table = Table::of::<Episode>(&path, Some(16)).unwrap();
    table.row(episode(17)).unwrap();
    table.flush().unwrap();
    assert_eq!(
        read_rows::<Episode>(&path).unwrap(),
        [8, 16, 16, 17].map(episode)
    );
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

/// A disk that is full in the middle of a write, and then no longer.
struct Disk {
    written: Vec<u8>,
    free: usize,
}

impl Write for &mut Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.free == 0 {
            self.free = usize::MAX;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(self.free);
        self.free -= count;
        self.written.extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn rows_are_whole_and_single_after_a_full_disk() {
    let mut disk = Disk {
        written: Vec::new(),
        free: 10,
    };
    let mut writer = writer_to(&mut disk);
    writer.serialize(episode(8)).unwrap();
    assert!(writer.flush().is_err());
    writer.serialize(episode(16)).unwrap();
    writer.flush().unwrap();
    drop(writer);
    let text = String::from_utf8(disk.written).unwrap();
    assert_eq!(text, "8,3,4.0,700,2798,1.25\n16,3,8.0,700,2798,1.25\n");
}

#[test]
fn resuming_a_table_without_a_first_line_starts_it() {
    let (_folder, path) = table_with(&[]);
    fs::write(&path, "step,en").unwrap();
    let mut table = Table::of::<Episode>(&path, Some(16)).unwrap();
    table.row(episode(8)).unwrap();
    table.flush().unwrap();
    assert_eq!(read_rows::<Episode>(&path).unwrap(), [episode(8)]);
}

#[test]
fn a_new_run_never_overwrites() {
    let (_folder, path) = table_with(&[8]);
    let error = Table::of::<Episode>(&path, None).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
}

#[test]
fn a_damaged_row_is_named() {
    let (_folder, path) = table_with(&[8]);
    fs::write(&path, "step,env\n8,1\nx,1\n").unwrap();
    let error = Table::of::<Episode>(&path, Some(16)).unwrap_err();
    assert!(error.to_string().starts_with("line 3 of"), "{error}");
}

#[test]
fn a_table_of_something_else_is_named_before_anything_is_written() {
    let (_folder, path) = table_with(&[8]);
    fs::write(&path, "step,loss\n8,1\n").unwrap();
    let error = Table::of::<Episode>(&path, Some(16))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`step,loss`") && error.contains("raw_return"),
        "{error}"
    );
}

#[test]
fn a_table_that_is_removed_or_replaced_is_noticed_at_the_next_flush() {
    let (_folder, path) = table_with(&[8]);
    let mut table = Table::of::<Episode>(&path, Some(8)).unwrap();
    table.flush().unwrap();
    for text in [None, Some("step,loss\n")] {
        fs::remove_file(&path).unwrap();
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        table.row(episode(16)).unwrap();
        let error = table.flush().unwrap_err();
        assert!(error.to_string().contains("removed or replaced"), "{error}");
        fs::write(&path, "").unwrap();
    }
}

#[test]
fn evaluations_read_back_as_written_and_a_resumed_run_drops_later_ones() {
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
    let mut table = Table::of::<Evaluation>(&path, None).unwrap();
    for step in [8, 16] {
        table.row(row(step)).unwrap();
    }
    drop(table);
    let mut table = Table::of::<Evaluation>(&path, Some(15)).unwrap();
    table.row(row(24)).unwrap();
    drop(table);
    assert_eq!(read_rows::<Evaluation>(&path).unwrap(), [row(8), row(24)]);
}

#[test]
fn scalars_keep_their_columns_over_a_resume() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("updates.csv");
    let mut table = Table::open(&path, None).unwrap();
    let loss = f64::from(0.1_f32);
    table
        .numbers(
            8,
            &[("loss", Some(loss)), ("update", Some(1.0)), ("mean", None)],
        )
        .unwrap();
    table
        .numbers(16, &[("loss", Some(1e-5)), ("mean", Some(f64::NAN))])
        .unwrap();
    drop(table);

    let mut table = Table::open(&path, Some(16)).unwrap();
    table
        .numbers(
            24,
            &[
                ("update", Some(3.0)),
                ("mean", Some(0.1)),
                ("loss", Some(-2.0)),
            ],
        )
        .unwrap();
    let unknown = table.numbers(32, &[("los", Some(0.0))]).unwrap_err();
    assert!(unknown.to_string().contains("no column `los`"), "{unknown}");
    let repeated = table
        .numbers(32, &[("loss", None), ("loss", None)])
        .unwrap_err();
    assert!(repeated.to_string().contains("`loss` twice"), "{repeated}");
    drop(table);

    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "step,loss,update,mean\n8,0.1,1,\n16,0.00001,,NaN\n24,-2,3,0.1\n"
    );
}
