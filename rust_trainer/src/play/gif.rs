//! A game as a GIF.

use std::{
    borrow::Cow,
    fs::{self, File},
    io::BufWriter,
    ops::Range,
    path::{Path, PathBuf},
};

use gif::{DisposalMethod, Encoder, Frame as GifFrame, Repeat};

use super::{
    Display, FRAMES_PER_SECOND, Filming,
    canvas::{Canvas, size_on_television},
    controls::Controls,
    frame::Frame,
    panel::composed,
    refuse_existing,
};
use crate::error::TrainerError;

/// Of each three frames one is taken at the console's speed: 20 a second, 50 ms each, is the fastest that every viewer
/// plays as it is written, and the odd number shows both of what a game draws in turns.
const EVERY: f64 = 3.0;
/// Lines for each of the console's.
const SCALE: usize = 2;

/// A GIF that is being written.
pub(super) struct Gif {
    path: PathBuf,
    unfinished: PathBuf,
    scale: usize,
    /// Times as fast as the console.
    speed: f64,
    /// Frames between two pictures.
    every: u64,
    seen: u64,
    encoder: Option<Encoder<BufWriter<File>>>,
    /// The picture that is on the screen, and how long it has been; it is written when that is known.
    last: Option<Canvas>,
    changed: Option<(GifFrame<'static>, u16)>,
}

impl Gif {
    pub fn create(path: &Path, filming: Filming) -> Result<Self, TrainerError> {
        refuse_existing(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            unfinished: path.with_file_name(format!(".{name}.unfinished")),
            path: path.to_owned(),
            scale: filming.scale.unwrap_or(SCALE),
            speed: filming.speed,
            every: (EVERY * filming.speed).ceil() as u64,
            seen: 0,
            encoder: None,
            last: None,
            changed: None,
        })
    }

    /// When a picture is shown, in hundredths of a second.
    fn time(&self, picture: u64) -> u64 {
        let frames = (picture * self.every) as f64;
        (100.0 * frames / (FRAMES_PER_SECOND * self.speed)).round() as u64
    }

    /// Writes the picture that is on the screen, as long as it was there.
    fn write_changed(&mut self) -> Result<(), TrainerError> {
        if let (Some(encoder), Some((mut frame, delay))) = (&mut self.encoder, self.changed.take())
        {
            frame.delay = delay;
            encoder
                .write_frame(&frame)
                .map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    fn begin(&mut self, canvas: &Canvas, frame: &Frame<'_>) -> Result<(), TrainerError> {
        let io = TrainerError::io("create", &self.path);
        let folder = self.path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(io)?;
        let file = BufWriter::new(File::create(&self.unfinished).map_err(io)?);
        let side = |length| u16::try_from(length).map_err(|error| failed(&self.path, error));
        let (width, height) = (side(canvas.width)?, side(canvas.height)?);
        let begun = Encoder::new(file, width, height, frame.colours.as_flattened());
        let begun = begun.and_then(|mut encoder| {
            encoder.set_repeat(Repeat::Infinite)?;
            Ok(encoder)
        });
        self.encoder = Some(begun.map_err(|error| failed(&self.path, error))?);
        Ok(())
    }
}

impl Display for Gif {
    fn show(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.every) {
            return Ok(());
        }
        let picture = (self.seen - 1) / self.every;
        let delay = (self.time(picture + 1) - self.time(picture)) as u16;
        let size = size_on_television(frame.height(), self.scale);
        let canvas = composed(frame, size, controls.values);
        if self.encoder.is_none() {
            self.begin(&canvas, frame)?;
        }
        match difference(self.last.as_ref(), &canvas) {
            Some(change) => {
                self.write_changed()?;
                self.changed = Some((change, delay));
            }
            None => {
                if let Some((_, so_far)) = &mut self.changed {
                    *so_far = so_far.saturating_add(delay);
                }
            }
        }
        self.last = Some(canvas);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Option<String>, TrainerError> {
        self.write_changed()?;
        let Some(encoder) = self.encoder.take() else {
            return Ok(None);
        };
        let written = encoder
            .into_inner()
            .map_err(|error| failed(&self.path, error))?;
        let file = written
            .into_inner()
            .map_err(|error| failed(&self.path, error.error()))?;
        let io = TrainerError::io("write", &self.path);
        file.sync_all()
            .and_then(|()| fs::rename(&self.unfinished, &self.path))
            .map_err(io)?;
        Ok(Some(self.path.display().to_string()))
    }
}

impl Drop for Gif {
    /// What did not come to its end goes.
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.unfinished);
    }
}

/// The rectangle in which a picture differs from the one before; `None` where it does not.
fn difference(before: Option<&Canvas>, now: &Canvas) -> Option<GifFrame<'static>> {
    let Some(before) = before else {
        return Some(part(now, &(0..now.width), &(0..now.height)));
    };
    let differs = |index: &usize| before.pixels[*index] != now.pixels[*index];
    let lines = |line: usize| line * now.width..(line + 1) * now.width;
    let mut rows =
        (0..now.height).filter(|&line| before.pixels[lines(line)] != now.pixels[lines(line)]);
    let first = rows.next()?;
    let last = rows.next_back().unwrap_or(first);
    let mut left = now.width;
    let mut right = 0;
    for line in first..=last {
        let mut changed = lines(line)
            .filter(differs)
            .map(|index| index - line * now.width);
        if let Some(from) = changed.next() {
            left = left.min(from);
            right = right.max(changed.next_back().unwrap_or(from));
        }
    }
    Some(part(now, &(left..right + 1), &(first..last + 1)))
}

fn part(canvas: &Canvas, across: &Range<usize>, down: &Range<usize>) -> GifFrame<'static> {
    let lines = down.clone().map(|line| {
        let from = line * canvas.width;
        &canvas.pixels[from + across.start..from + across.end]
    });
    GifFrame {
        buffer: Cow::Owned(lines.flatten().copied().collect()),
        left: across.start as u16,
        top: down.start as u16,
        width: across.len() as u16,
        height: down.len() as u16,
        dispose: DisposalMethod::Keep,
        ..GifFrame::default()
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> TrainerError {
    TrainerError::Report(format!("could not write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gif");
        let filming = Filming {
            scale: None,
            speed: 1.0,
        };
        assert!(Gif::create(&path, filming).is_ok());
        fs::write(&path, "").unwrap();
        let error = Gif::create(&path, filming).err().unwrap().to_string();
        assert!(
            error.ends_with("a.gif` exists; choose another name"),
            "{error}"
        );
    }

    #[test]
    fn pictures_last_as_long_as_their_frames() {
        let folder = tempfile::tempdir().unwrap();
        for (speed, every, times) in [
            (1.0, 3, [0, 5, 10, 15, 20]),
            (0.5, 2, [0, 7, 13, 20, 27]),
            (0.1, 1, [0, 17, 33, 50, 67]),
            (1.5, 5, [0, 6, 11, 17, 22]),
            (64.0, 192, [0, 5, 10, 15, 20]),
        ] {
            let scale = None;
            let gif = Gif::create(&folder.path().join("a.gif"), Filming { scale, speed }).unwrap();
            let found = [0, 1, 2, 3, 4].map(|picture| gif.time(picture));
            assert_eq!((gif.every, found), (every, times), "{speed}");
        }
    }

    #[test]
    fn only_what_changed_is_written() {
        let before = Canvas::new(6, 4, 1);
        let mut now = Canvas::new(6, 4, 1);
        assert!(difference(Some(&before), &now).is_none());
        now.fill((2, 1), (1, 1), 7);
        now.fill((4, 2), (1, 1), 8);
        let change = difference(Some(&before), &now).unwrap();
        assert_eq!(
            (change.left, change.top, change.width, change.height),
            (2, 1, 3, 2)
        );
        assert_eq!(*change.buffer, [7, 1, 1, 1, 1, 8]);
        let whole = difference(None, &now).unwrap();
        assert_eq!(
            (whole.left, whole.top, whole.width, whole.height),
            (0, 0, 6, 4)
        );
    }
}
