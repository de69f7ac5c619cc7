//! Max-pooling of 3 by 3 with padding, which halves rows and columns.
//!
//! What is compared are halves of cells, 16 numbers: a pixel of 16 channels is one half, one of 32 is two.

use crate::amx::{
    blocks::{self, Seen},
    tiles::Tiles,
};

/// The extents.
#[derive(Debug)]
pub struct Pool {
    pub height: usize,
    width: usize,
    /// Halves of a pixel.
    halves: usize,
}

/// Where a half begins in rows of 32 numbers of so many images.
fn at(half: usize, images: usize) -> usize {
    half / 2 * images * 32 + half % 2 * 16
}

/// The windows that see a row or column, of so many, and at which of their places.
fn windows(seen: usize, out: usize) -> impl Iterator<Item = (usize, usize)> {
    let places = [0, 1, 2].map(|place| (seen + 1).checked_sub(place).map(|first| (first, place)));
    let windows = places.into_iter().flatten();
    let windows = windows.filter(|(first, _)| first.is_multiple_of(2));
    windows
        .map(|(first, place)| (first / 2, place))
        .filter(move |(window, _)| *window < out)
}

/// The row or column, of so many, at a place of a window.
fn inside(window: usize, place: usize, side: usize) -> Option<usize> {
    let at = (2 * window + place).checked_sub(1)?;
    (at < side).then_some(at)
}

impl Pool {
    /// For rows of so many pixels of so many channels.
    pub fn new(height: usize, width: usize, channels: usize) -> Self {
        Self {
            height,
            width,
            halves: channels / 16,
        }
    }

    /// Rows and columns that are left.
    pub fn sides_out(&self) -> [usize; 2] {
        [self.height.div_ceil(2), self.width.div_ceil(2)]
    }

    /// Numbers of a row of inputs of an image, and of its outputs.
    pub fn row(&self) -> usize {
        self.width * self.halves * 16
    }

    pub fn row_out(&self) -> usize {
        self.sides_out()[1] * self.halves * 16
    }

    /// The row of outputs of which this row of inputs is the last that is seen.
    pub fn complete(&self, row: usize) -> Option<usize> {
        (row % 2 == 1 || row + 1 == self.height).then_some(row / 2)
    }

    /// A row of outputs of so many images, as it is and rectified, from the `rows` of inputs, which are [keys]; `chosen`
    /// becomes the place of the first of the largest numbers.
    ///
    /// [keys]: blocks::to_keys
    pub unsafe fn forward_row<T: Tiles>(
        &self,
        row: usize,
        (rows, images): (impl Fn(usize) -> *const u16, usize),
        to: [*mut u16; 2],
        chosen: *mut u8,
    ) {
        for cell in 0..self.row_out() / 32 {
            // A column that is not there counts as the one in the middle, which is seen once more: at its own place.
            let find = |half: usize, [below, beside]: [usize; 2]| {
                let (window, inner) = (half / self.halves, half % self.halves);
                let line = inside(row, below, self.height)?;
                let (column, beside) = match inside(window, beside, self.width) {
                    Some(column) => (column, beside),
                    None => (2 * window, 1),
                };
                let from = at(column * self.halves + inner, images);
                Some((rows(line).wrapping_add(from), (3 * below + beside) as u8))
            };
            let (mut seen, mut count) = ([Seen::NOTHING; 9], 0);
            for place in [0, 1, 2]
                .into_iter()
                .flat_map(|below| [0, 1, 2].map(|x| [below, x]))
            {
                if let [Some(first), Some(second)] = [0, 1].map(|half| find(2 * cell + half, place))
                {
                    seen[count] = Seen {
                        halves: [first.0, second.0],
                        places: [first.1, second.1],
                    };
                    count += 1;
                }
            }
            let at = (row * self.row_out() + cell * 32) * images;
            let to = to.map(|to| to.add(at));
            blocks::pool::<T>(&seen[..count], images, to, chosen.add(at));
        }
    }

    /// The gradient of a row of inputs of 32 images from that of all outputs, and where these were chosen.
    pub unsafe fn backward_row<T: Tiles>(
        &self,
        row: usize,
        (of_y, chosen): (*const u16, *const u8),
        to: *mut u16,
    ) {
        let [height, width] = self.sides_out();
        for half in 0..self.width * self.halves {
            let (column, inner) = (half / self.halves, half % self.halves);
            let (mut places, mut count) = ([(std::ptr::null(), std::ptr::null(), 0); 4], 0);
            for (window_row, below) in windows(row, height) {
                for (window, beside) in windows(column, width) {
                    let from = at(window * self.halves + inner, 32);
                    let from = window_row * self.row_out() * 32 + from;
                    let place = (3 * below + beside) as u8;
                    places[count] = (of_y.add(from), chosen.add(from), place);
                    count += 1;
                }
            }
            blocks::of_pool::<T>(&places[..count], to.add(at(half, 32)));
        }
    }
}
