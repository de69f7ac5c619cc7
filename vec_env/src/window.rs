//! [`Window`]: pictures on the desktop (X11, loaded when it is opened), by the feature `window`.

use std::{
    thread,
    time::{Duration, Instant},
};

use minifb::{Key, Window as Desktop, WindowOptions};

use crate::{error::EnvError, picture::Picture};

/// A window that shows pictures at their pace.
#[derive(Debug)]
pub struct Window {
    title: String,
    /// Between two pictures.
    pause: Duration,
    /// Opened with the first picture, whose size it has.
    desktop: Option<Desktop>,
    due: Instant,
}

impl Window {
    /// A window for so many pictures a second.
    #[must_use]
    pub fn new(title: &str, pictures_a_second: f64) -> Self {
        Self {
            title: title.to_owned(),
            pause: Duration::try_from_secs_f64(1.0 / pictures_a_second).unwrap_or_default(),
            desktop: None,
            due: Instant::now(),
        }
    }

    /// Shows a picture when it is due. `false` says that whoever watches has closed the window, or pressed Escape or Q.
    ///
    /// # Errors
    /// [`EnvError::Backend`] where there is no display.
    pub fn show(&mut self, picture: &Picture) -> Result<bool, EnvError> {
        let window = match &mut self.desktop {
            Some(window) => window,
            none => {
                let (width, height) = (picture.width, picture.height);
                let opened = Desktop::new(&self.title, width, height, WindowOptions::default());
                let window = none.insert(opened.map_err(failed)?);
                window.set_target_fps(0); // pictures come when they are due
                window
            }
        };
        if !window.is_open() || window.is_key_down(Key::Escape) || window.is_key_down(Key::Q) {
            return Ok(false);
        }
        let pixel = |&[red, green, blue]: &[u8; 3]| u32::from_be_bytes([0, red, green, blue]);
        let pixels: Vec<u32> = picture.rgb.as_chunks().0.iter().map(pixel).collect();
        thread::sleep(self.due.saturating_duration_since(Instant::now()));
        let shown = window.update_with_buffer(&pixels, picture.width, picture.height);
        shown.map_err(failed)?;
        self.due = Instant::now() + self.pause;
        Ok(true)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: minifb::Error) -> EnvError {
    EnvError::Backend {
        message: format!("no window can be opened: {error}"),
        details: None,
        is_usage: true,
    }
}
