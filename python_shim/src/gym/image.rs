//! [`Image`]: what an environment shows.

/// A picture.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row; 160 for Atari.
    pub width: usize,
    /// Rows of pixels; 210 for Atari.
    pub height: usize,
    /// Red, green and blue of each pixel, row by row: `height * width * 3` bytes.
    pub rgb: Vec<u8>,
}

impl Image {
    /// Red, green and blue of the pixel in column `x` and row `y`, from the top left.
    ///
    /// # Panics
    /// If the picture has no such pixel.
    #[must_use]
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        assert!(
            x < self.width && y < self.height,
            "no pixel ({x}, {y}) in a picture of {} by {}",
            self.width,
            self.height
        );
        let start = (y * self.width + x) * 3;
        [self.rgb[start], self.rgb[start + 1], self.rgb[start + 2]]
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Image({} by {})", self.width, self.height)
    }
}
