//! [`Picture`]: what an environment looks like, drawn without a library: filled shapes with smooth edges.

/// An RGB picture. Coordinates are pixels from the upper left corner; shapes may reach out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of a row.
    pub width: usize,
    /// Rows, the uppermost first.
    pub height: usize,
    /// `[height, width, 3]`: red, green, blue.
    pub rgb: Vec<u8>,
}

impl Picture {
    /// One colour everywhere.
    #[must_use]
    pub fn new(width: usize, height: usize, colour: [u8; 3]) -> Self {
        Self {
            width,
            height,
            rgb: colour.repeat(width * height),
        }
    }

    /// Pictures of equal height next to each other; `None` if there is none, or their heights differ.
    #[must_use]
    pub fn side_by_side(pictures: &[Self]) -> Option<Self> {
        let height = pictures.first()?.height;
        if pictures.iter().any(|picture| picture.height != height) {
            return None;
        }
        let mut joined = Self {
            width: pictures.iter().map(|picture| picture.width).sum(),
            height,
            rgb: Vec::new(),
        };
        for row in 0..height {
            for picture in pictures {
                let bytes = 3 * picture.width;
                joined
                    .rgb
                    .extend_from_slice(&picture.rgb[row * bytes..][..bytes]);
            }
        }
        Some(joined)
    }

    /// Draws a straight line of a thickness, whose ends are round.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], thickness: f64, colour: [u8; 3]) {
        let reach = thickness / 2.0;
        let least = [from[0].min(to[0]) - reach, from[1].min(to[1]) - reach];
        let greatest = [from[0].max(to[0]) + reach, from[1].max(to[1]) + reach];
        let along = [to[0] - from[0], to[1] - from[1]];
        let length = along[0].powi(2) + along[1].powi(2);
        self.fill(least, greatest, colour, |[x, y]| {
            let apart = [x - from[0], y - from[1]];
            let part = (apart[0] * along[0] + apart[1] * along[1]) / length.max(f64::MIN_POSITIVE);
            let part = part.clamp(0.0, 1.0);
            (apart[0] - part * along[0]).hypot(apart[1] - part * along[1]) - reach
        });
    }

    /// Draws a disc.
    pub fn disc(&mut self, centre: [f64; 2], radius: f64, colour: [u8; 3]) {
        self.line(centre, centre, 2.0 * radius, colour);
    }

    /// Draws a rectangle with upright sides, by its upper left and lower right corners.
    pub fn rectangle(&mut self, least: [f64; 2], greatest: [f64; 2], colour: [u8; 3]) {
        self.fill(least, greatest, colour, |[x, y]| {
            let outside = [
                (least[0] - x).max(x - greatest[0]),
                (least[1] - y).max(y - greatest[1]),
            ];
            outside[0].max(outside[1])
        });
    }

    /// Colours what lies within a shape, which says how far a point is outside of it; pixels on its edge in part.
    fn fill(
        &mut self,
        least: [f64; 2],
        greatest: [f64; 2],
        colour: [u8; 3],
        outside: impl Fn([f64; 2]) -> f64,
    ) {
        // A pixel of the edge may lie half outside of the shape.
        let pixels = |axis: usize, end: usize| {
            let first = (least[axis] - 1.0).max(0.0) as usize;
            first..((greatest[axis] + 1.0).max(0.0).ceil() as usize).min(end)
        };
        for row in pixels(1, self.height) {
            for column in pixels(0, self.width) {
                let distance = outside([column as f64 + 0.5, row as f64 + 0.5]);
                let covered = (0.5 - distance).clamp(0.0, 1.0);
                let start = 3 * (row * self.width + column);
                for (under, over) in self.rgb[start..start + 3].iter_mut().zip(colour) {
                    let mixed = f64::from(*under) * (1.0 - covered) + f64::from(over) * covered;
                    *under = mixed.round() as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;

    const INK: [u8; 3] = [0, 100, 200];

    fn inked(picture: &Picture) -> Vec<[usize; 2]> {
        let pixels = picture.rgb.as_chunks().0.iter().enumerate();
        let inked = pixels.filter(|(_, pixel)| **pixel == INK);
        inked
            .map(|(at, _)| [at % picture.width, at / picture.width])
            .collect()
    }

    #[test]
    fn shapes_cover_their_pixels_and_may_reach_out() {
        let mut picture = Picture::new(6, 4, [255; 3]);
        picture.rectangle([1.0, 1.0], [3.0, 2.0], INK);
        assert_eq!(inked(&picture), [[1, 1], [2, 1]]);
        picture.rectangle([-9.0, 3.0], [90.0, 90.0], INK);
        assert_eq!(inked(&picture).len(), 2 + 6);
        let mut picture = Picture::new(6, 4, [255; 3]);
        picture.line([0.0, 1.5], [6.0, 1.5], 1.0, INK);
        assert_eq!(inked(&picture), [0, 1, 2, 3, 4, 5].map(|x| [x, 1]));
        let mut picture = Picture::new(41, 41, [255; 3]);
        picture.disc([20.5, 20.5], 10.0, INK);
        let area = inked(&picture).len() as f64;
        assert!(
            (area / (std::f64::consts::PI * 100.0) - 1.0).abs() < 0.1,
            "{area}"
        );
        // Half of a pixel is half of its colour.
        let mut picture = Picture::new(2, 1, [200; 3]);
        picture.rectangle([0.5, -1.0], [2.0, 2.0], [0; 3]);
        assert_eq!(picture.rgb, [100, 100, 100, 0, 0, 0]);
    }
}
