//! [`Tail`]: a file that grows, read by what is new in it.

use std::{
    fs::File,
    io::{self, Read},
    mem,
    path::PathBuf,
};

use serde::de::DeserializeOwned;

use crate::{error::TrainerError, files};

/// A file of lines that another process appends to, or puts another one in the place of.
pub(super) struct Tail {
    path: PathBuf,
    /// Its cursor stands behind what was read. As long as it is open, no other file can get its number.
    file: Option<File>,
    bytes_read: u64,
    /// The last line, as long as its end is not written.
    half_line: Vec<u8>,
}

/// What came since a file was read last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NewLines {
    /// The file is another than before, or was cut: what was read of it counts no more.
    pub starts_anew: bool,
    /// Whole lines, without their ends.
    pub text: String,
}

impl NewLines {
    /// The rows of a table: the line of its names is none, and neither is one that was damaged.
    pub fn rows<'a, Row: DeserializeOwned + 'a>(&'a self) -> impl Iterator<Item = Row> + 'a {
        let table = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(self.text.as_bytes());
        table.into_deserialize().flatten()
    }
}

impl Tail {
    /// The file at `path`, whether it is there yet or not.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            bytes_read: 0,
            half_line: Vec::new(),
        }
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// A file that is there and cannot be read.
    pub fn read(&mut self) -> Result<NewLines, TrainerError> {
        let path = self.path.clone();
        self.read_new()
            .map_err(TrainerError::io("read", path.as_path()))
    }

    fn read_new(&mut self) -> io::Result<NewLines> {
        let mut new = NewLines {
            starts_anew: self.is_another(),
            text: String::new(),
        };
        if new.starts_anew {
            *self = Self::new(mem::take(&mut self.path));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => match files::open(&self.path) {
                Ok(file) => none.insert(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(new),
                Err(error) => return Err(error),
            },
        };
        let mut bytes = mem::take(&mut self.half_line);
        self.bytes_read += file.read_to_end(&mut bytes)? as u64;
        let end = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |last| last + 1);
        self.half_line = bytes.split_off(end);
        new.text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(new)
    }

    fn is_another(&self) -> bool {
        self.file.as_ref().is_some_and(|file| {
            let is_cut = || {
                file.metadata()
                    .is_ok_and(|about| about.len() < self.bytes_read)
            };
            !files::is_at(file, &self.path) || is_cut()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    fn read(tail: &mut Tail) -> (bool, String) {
        let NewLines { starts_anew, text } = tail.read().unwrap();
        (starts_anew, text)
    }

    #[test]
    fn what_is_new_is_read_once_and_half_a_line_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let mut tail = Tail::new(path.clone());
        assert_eq!(read(&mut tail), (false, String::new()), "not there yet");
        let mut file = File::create(&path).unwrap();
        for (written, expected) in [
            ("step,value\n1,2\n3,", "step,value\n1,2\n"),
            ("4", ""),
            ("5\n", "3,45\n"),
            ("", ""),
            ("6,7\n8,9\n", "6,7\n8,9\n"),
        ] {
            file.write_all(written.as_bytes()).unwrap();
            assert_eq!(read(&mut tail), (false, expected.to_owned()));
        }
    }

    #[test]
    fn a_file_that_is_cut_or_replaced_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        fs::write(&path, "a\nb\nc\n").unwrap();
        let mut tail = Tail::new(path.clone());
        assert_eq!(read(&mut tail).1, "a\nb\nc\n");
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(2)
            .unwrap();
        assert_eq!(read(&mut tail), (true, "a\n".to_owned()), "cut");
        // What a resumed run does: as long as before, or longer, but another file.
        files::write(&path, b"d\ne\nf\ng\n").unwrap();
        assert_eq!(
            read(&mut tail),
            (true, "d\ne\nf\ng\n".to_owned()),
            "replaced"
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&mut tail), (true, String::new()), "gone");
        assert_eq!(read(&mut tail), (false, String::new()), "still gone");
    }
}
