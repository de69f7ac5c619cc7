//! [`VideoFile`]: a film of pictures, by the recorder of `atari_wrappers`.

use std::path::{Path, PathBuf};

use pyo3::{intern, prelude::*, types::PyBytes};
use vec_env::EnvError;

use crate::{
    error::{CallError, setup_error},
    interpreter,
};

/// An mp4 file (H.264) that is being written. The recorder doubles pictures, pixel by pixel.
#[derive(Debug)]
pub struct VideoFile {
    file: Py<PyAny>,
    path: PathBuf,
    /// Height, width and colours of a picture.
    shape: (usize, usize, usize),
}

impl VideoFile {
    /// Begins a file for pictures of `(height, width)`, both even, `per_second` of them a second.
    ///
    /// # Errors
    /// `PyAV` is missing; the file is there, or cannot be made.
    pub fn create(
        path: &Path,
        per_second: f64,
        (height, width): (usize, usize),
    ) -> Result<Self, EnvError> {
        interpreter::start()?;
        let file = Python::attach(|py| Self::open(py, path, per_second, (height, width)))?;
        let path = path.to_owned();
        Ok(Self {
            file,
            path,
            shape: (height, width, 3),
        })
    }

    fn open(
        py: Python<'_>,
        path: &Path,
        per_second: f64,
        size: (usize, usize),
    ) -> Result<Py<PyAny>, CallError> {
        interpreter::atari_wrappers(py)?;
        let videos = py.import(intern!(py, "atari_wrappers.recording.video"))?;
        videos.call_method0(intern!(py, "check_video_support"))?;
        let fractions = py.import(intern!(py, "fractions"))?;
        let rate = fractions.call_method1(intern!(py, "Fraction"), (per_second,))?;
        let rate = rate.call_method1(intern!(py, "limit_denominator"), (1000,))?;
        let path = path.to_string_lossy();
        let path = py
            .import(intern!(py, "pathlib"))?
            .call_method1(intern!(py, "Path"), (path,))?;
        let file = videos.call_method1(intern!(py, "VideoFile"), (path, rate, size))?;
        Ok(file.unbind())
    }

    /// Appends a picture: RGB, `[height, width, 3]`.
    ///
    /// # Errors
    /// It cannot be written, or has another size.
    pub fn write(&mut self, picture: &[u8]) -> Result<(), EnvError> {
        let write = |py: Python<'_>| -> Result<(), CallError> {
            let numpy = py.import(intern!(py, "numpy"))?;
            let bytes = (PyBytes::new(py, picture), intern!(py, "uint8"));
            let pixels = numpy.call_method1(intern!(py, "frombuffer"), bytes)?;
            let pixels = pixels.call_method1(intern!(py, "reshape"), (self.shape,))?;
            self.file
                .bind(py)
                .call_method1(intern!(py, "write"), (pixels,))?;
            Ok(())
        };
        Ok(Python::attach(write)?)
    }

    /// Gives the file its end and its name.
    ///
    /// # Errors
    /// It could not be written to its end, such as for want of room; what there was of it is gone.
    pub fn finish(self) -> Result<(), EnvError> {
        let finish = |py: Python<'_>| -> Result<(), CallError> {
            self.file.bind(py).call_method0(intern!(py, "finish"))?;
            Ok(())
        };
        Python::attach(finish)?;
        if self.path.is_file() {
            return Ok(());
        }
        Err(setup_error(format!(
            "the video `{}` could not be finished",
            self.path.display()
        )))
    }
}

impl Drop for VideoFile {
    /// What was not finished goes; of a file that was there is nothing left to do.
    fn drop(&mut self) {
        let discard = |py: Python<'_>| {
            self.file
                .bind(py)
                .call_method0(intern!(py, "discard"))
                .map(drop)
        };
        let _ = Python::attach(discard);
    }
}
