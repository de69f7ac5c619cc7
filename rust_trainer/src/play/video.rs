//! A game as an mp4 file, written by the recorder of `atari_wrappers`: H.264, every frame of the console.

use std::path::{Path, PathBuf};

use python_shim::VideoFile;

use super::{
    Display, FRAMES_PER_SECOND, Filming, canvas::size_on_television, controls::Controls,
    frame::Frame, panel::composed, refuse_existing,
};
use crate::error::TrainerError;

/// The recorder doubles pictures.
const SCALE_OF_RECORDER: usize = 2;

pub(super) struct Video {
    path: PathBuf,
    scale: usize,
    per_second: f64,
    /// Begun with the first frame.
    file: Option<VideoFile>,
}

impl Video {
    /// # Errors
    /// [`TrainerError::Usage`] for an odd scale.
    pub fn new(path: &Path, filming: Filming) -> Result<Self, TrainerError> {
        if let Some(odd) = filming.scale.filter(|scale| scale % SCALE_OF_RECORDER > 0) {
            let problem = format!("--scale {odd}: for an mp4 it is an even number");
            return Err(TrainerError::Usage(problem));
        }
        Ok(Self {
            path: path.to_owned(),
            scale: filming.scale.unwrap_or(SCALE_OF_RECORDER) / SCALE_OF_RECORDER,
            per_second: FRAMES_PER_SECOND * filming.speed,
            file: None,
        })
    }
}

impl Display for Video {
    fn show(&mut self, frame: &Frame<'_>, controls: &mut Controls) -> Result<(), TrainerError> {
        let size = size_on_television(frame.height(), self.scale);
        let canvas = composed(frame, size, controls.values);
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                refuse_existing(&self.path)?;
                let size = (canvas.height, canvas.width);
                none.insert(VideoFile::create(&self.path, self.per_second, size)?)
            }
        };
        file.write(&canvas.rgb(frame.colours))?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Option<String>, TrainerError> {
        let Some(file) = self.file else {
            return Ok(None);
        };
        file.finish()?;
        Ok(Some(self.path.display().to_string()))
    }
}
