//! Every frame of a game as a PNG, `out0-<frame>.png` in a folder, numbered on behind those that are there.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use atari_core::WIDTH;

use super::{
    Display, Filming, canvas::size_on_television, controls::Controls, frame::Frame, panel::composed,
};
use crate::{error::TrainerError, files, pictures};

pub(super) struct Pictures {
    folder: PathBuf,
    /// Lines for each of the console's; `None` for the console's own pixels, one for one.
    scale: Option<usize>,
    next: usize,
    count: usize,
}

impl Pictures {
    pub fn create(folder: &Path, filming: Filming) -> Result<Self, TrainerError> {
        let number = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?;
            name.strip_prefix("out0-")?
                .strip_suffix(".png")?
                .parse::<usize>()
                .ok()
        };
        let there = if folder.is_dir() {
            files::list(folder)?
        } else {
            Vec::new()
        };
        let highest = there.iter().filter_map(number).max();
        Ok(Self {
            folder: folder.to_owned(),
            scale: filming.scale,
            next: highest.map_or(0, |highest| highest + 1),
            count: 0,
        })
    }
}

impl Display for Pictures {
    fn show(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        let size = match self.scale {
            Some(scale) => size_on_television(frame.height(), scale),
            None => (WIDTH, frame.height()),
        };
        let canvas = composed(frame, size, controls.values);
        if self.count == 0 {
            let failed = TrainerError::io("create", &self.folder);
            fs::create_dir_all(&self.folder).map_err(failed)?;
        }
        let path = self.folder.join(format!("out0-{:05}.png", self.next));
        let mut file = File::create_new(&path).map_err(TrainerError::io("create", &path))?;
        let pixels = canvas.rgb(frame.colours);
        let picture = pictures::png(&pixels, canvas.width, canvas.height);
        let written = picture
            .map_err(io::Error::other)
            .and_then(|bytes| file.write_all(&bytes));
        written.map_err(TrainerError::io("write", &path))?;
        self.next += 1;
        self.count += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Option<String>, TrainerError> {
        let said = || format!("{} frames in {}", self.count, self.folder.display());
        Ok((self.count > 0).then(said))
    }
}
