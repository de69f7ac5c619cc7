//! [`Pictures`]: the screen, pooled, made small and stacked.

use std::cell::RefCell;

use crate::{
    Console, WIDTH,
    rl::{
        pixels::{Palette, Resizer, gray_of_rgb, maximum},
        recipe::{LastFrame, Padding, Pooling, Recipe, Resizing},
    },
    simd::Simd,
    state::{BadState, Tape},
};

thread_local! {
    /// The older frame of the step that this thread takes: one place for all its environments stays in the caches.
    static OLDER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The screen as uint8 `[frame_stack, height, width]`, with 3 colours last, or channels last.
///
/// A step's last two frames are kept, and their pixel-wise maximum is what it shows. Where a game ends within a skip,
/// older frames stay in their places, and [`LastFrame`] says what is made of them: the maximum of the two places as they
/// are then (`Pooled`, as stable-baselines3 does); what was shown before, with the older frame if that is of this step, but
/// not the frame of the end (`Dropped`: gymnasium, ALE); or the frame of an end alone if it is the older one (`Alone`:
/// EnvPool). Only the first of these needs the newer frame by itself.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is of its own")]
pub(in crate::rl::game) struct Pictures {
    palette: Palette,
    simd: Simd,
    last_frame: LastFrame,
    grayscale: bool,
    /// Pictures are turned to gray where they are small.
    gray_when_small: bool,
    pads: bool,
    channels_last: bool,
    /// Frames are kept as the console's colours, and only their maximum is turned to gray: what is pooled in colours,
    /// and goes nowhere else, is that of few pairs of them.
    in_pairs: bool,
    /// Pixels of a screen; a frame has 1 or 3 planes of them.
    num_pixels: usize,
    /// The frames of `Pooled`; else empty, as no step needs those of another one ([`OLDER`]).
    older: Vec<u8>,
    newer: Vec<u8>,
    /// What is shown: the maximum.
    pooled: Vec<u8>,
    /// For each row whether `pooled` may be another one there than the newest of the small frames was made of.
    changed: Vec<bool>,
    /// The older frame of this step is in its place.
    has_older: bool,
    /// `pooled` is the maximum of the step's two frames, as far as they are in their places.
    is_of_both: bool,
    /// A picture that is shown in place of a later one, if so.
    seen: Option<Vec<u8>>,
    resizer: Resizer,
    gray: Vec<u8>,
    planes: Vec<u8>,
    /// A ring of small frames: the oldest is where the next one goes.
    frames: Vec<u8>,
    frame_bytes: usize,
    oldest: usize,
}

impl Pictures {
    pub(super) fn new(console: &Console, recipe: &Recipe) -> Self {
        let simd = Simd::detect();
        let height = console.height();
        let in_gray = recipe.pooling == Pooling::Gray && recipe.grayscale;
        let last_frame = match recipe.last_frame {
            // The older frame stays black: the newer one is seen as it is.
            LastFrame::Alone if recipe.frame_skip == 1 => LastFrame::Pooled,
            last_frame => last_frame,
        };
        let num_pixels = height * WIDTH;
        let gray_when_small = recipe.grayscale && recipe.resizing == Resizing::Rgb;
        let in_pairs = recipe.pooling == Pooling::Rgb
            && recipe.grayscale
            && !gray_when_small
            && last_frame == LastFrame::Pooled;
        let is_flat = in_gray || in_pairs;
        let frame = vec![0; num_pixels * if is_flat { 1 } else { 3 }];
        let places = match last_frame {
            LastFrame::Pooled => frame.clone(),
            LastFrame::Dropped | LastFrame::Alone => Vec::new(),
        };
        let turns_gray = recipe.grayscale && !gray_when_small && !is_flat;
        let num_planes = match (is_flat || turns_gray, gray_when_small) {
            (true, _) => 0,
            (_, true) => 3,
            (_, false) => 1,
        };
        let plane_bytes = recipe.screen_size.0 * recipe.screen_size.1;
        let frame_bytes = plane_bytes * if recipe.grayscale { 1 } else { 3 };
        Self {
            palette: Palette::of(console.game()),
            simd,
            last_frame,
            grayscale: recipe.grayscale,
            gray_when_small,
            pads: recipe.padding == Padding::Reset,
            channels_last: recipe.channels_last,
            in_pairs,
            num_pixels,
            older: places.clone(),
            newer: places,
            pooled: frame,
            changed: vec![true; height],
            has_older: false,
            is_of_both: false,
            seen: None,
            resizer: Resizer::new(
                (height, WIDTH),
                recipe.screen_size,
                recipe.interpolation,
                simd,
            ),
            gray: vec![0; if turns_gray { num_pixels } else { 0 }],
            planes: vec![0; num_planes * plane_bytes],
            frames: vec![0; recipe.frame_stack * frame_bytes],
            frame_bytes,
            oldest: 0,
        }
    }

    fn grab(palette: &Palette, in_pairs: bool, simd: Simd, console: &Console, picture: &mut [u8]) {
        let screen = console.screen();
        if picture.len() == screen.len() {
            let table = if in_pairs {
                &palette.gray_of_rgb
            } else {
                &palette.gray
            };
            simd.look_up(table, screen, picture);
        } else {
            let planes = picture.chunks_exact_mut(screen.len());
            for (table, plane) in palette.rgb.iter().zip(planes) {
                simd.look_up(table, screen, plane);
            }
        }
    }

    pub(super) fn kept(&mut self, console: &Console, left: u32, is_end: bool) {
        let (palette, simd) = (&self.palette, self.simd);
        match self.last_frame {
            LastFrame::Dropped if is_end => {}
            LastFrame::Pooled => {
                let place = if left > 0 {
                    &mut self.older
                } else {
                    &mut self.newer
                };
                if self.in_pairs {
                    copy_changed(console.screen(), place, &mut self.changed);
                } else {
                    Self::grab(palette, false, simd, console, place);
                }
            }
            LastFrame::Dropped | LastFrame::Alone => OLDER.with_borrow_mut(|older| {
                self.kept_with(older, console, left, is_end);
            }),
        }
    }

    /// [`Pictures::kept`], with a place for the older frame.
    fn kept_with(&mut self, older: &mut Vec<u8>, console: &Console, left: u32, is_end: bool) {
        let (palette, pooled) = (&self.palette, &mut self.pooled);
        if left > 0 {
            older.resize(pooled.len(), 0);
            Self::grab(palette, false, self.simd, console, older);
            self.has_older = true;
            if is_end {
                // That of `Alone`.
                pooled.copy_from_slice(older);
                self.changed.fill(true);
            }
            return;
        }
        if !self.has_older {
            older.clear();
            older.resize(pooled.len(), 0);
        }
        if pooled.len() == self.num_pixels {
            let (screen, changed) = (console.screen(), &mut self.changed);
            self.simd
                .take_maximum(&palette.gray, screen, older, pooled, changed);
        } else {
            Self::grab(palette, false, self.simd, console, pooled);
            maximum(pooled, older);
            self.changed.fill(true);
        }
        self.is_of_both = true;
    }

    pub(super) fn step_done(&mut self) {
        match self.last_frame {
            LastFrame::Pooled if self.in_pairs => {
                if !self.is_of_both {
                    self.changed.fill(true);
                }
                let rows = self.older.chunks_exact(WIDTH);
                let rows = rows.zip(self.newer.chunks_exact(WIDTH));
                let rows = rows.zip(self.pooled.chunks_exact_mut(WIDTH));
                for (((older, newer), pooled), _) in rows.zip(&self.changed).filter(|row| *row.1) {
                    self.simd
                        .gray_of_maximum(&self.palette, older, newer, pooled);
                }
            }
            LastFrame::Pooled => {
                self.pooled.copy_from_slice(&self.older);
                maximum(&mut self.pooled, &self.newer);
                self.changed.fill(true);
            }
            LastFrame::Dropped if self.has_older && !self.is_of_both => {
                OLDER.with_borrow(|older| maximum(&mut self.pooled, older));
                self.changed.fill(true);
            }
            LastFrame::Dropped | LastFrame::Alone => {}
        }
        self.has_older = false;
        // Those of the next step go to their places, where only `Pooled` looks for them.
        self.is_of_both = self.last_frame == LastFrame::Pooled;
        self.seen = None;
    }

    pub(super) fn restarted(&mut self, console: &Console) {
        let (palette, pooled) = (&self.palette, &mut self.pooled);
        Self::grab(palette, self.in_pairs, self.simd, console, pooled);
        self.changed.fill(true);
        self.is_of_both = false;
        self.seen = None;
    }

    pub(super) fn shown(&self) -> Vec<u8> {
        self.seen.as_ref().unwrap_or(&self.pooled).clone()
    }

    pub(super) fn show_again(&mut self, shown: Vec<u8>) {
        self.seen = Some(shown);
    }

    pub(super) fn push(&mut self) {
        let picture = self.seen.as_ref().unwrap_or(&self.pooled);
        let count = self.frames.len() / self.frame_bytes;
        let newest = (self.oldest + count - 1) % count * self.frame_bytes;
        let start = self.oldest * self.frame_bytes;
        self.frames
            .copy_within(newest..newest + self.frame_bytes, start);
        let frame = &mut self.frames[start..start + self.frame_bytes];
        let (red, rest) = picture.split_at(self.num_pixels);
        if self.seen.is_some() {
            self.changed.fill(true);
        }
        if rest.is_empty() {
            self.resizer.resize_changed(red, &self.changed, frame);
        } else if self.gray_when_small {
            let planes = self.planes.chunks_exact_mut(self.frame_bytes);
            for (plane, small) in picture.chunks_exact(self.num_pixels).zip(planes) {
                self.resizer.resize(plane, small);
            }
            let (red, rest) = self.planes.split_at(self.frame_bytes);
            let (green, blue) = rest.split_at(self.frame_bytes);
            gray_of_rgb(red, green, blue, frame);
        } else if self.grayscale {
            let (green, blue) = rest.split_at(self.num_pixels);
            gray_of_rgb(red, green, blue, &mut self.gray);
            self.resizer.resize(&self.gray, frame);
        } else {
            for (part, plane) in picture.chunks_exact(self.num_pixels).enumerate() {
                self.resizer.resize(plane, &mut self.planes);
                for (pixel, value) in frame.chunks_exact_mut(3).zip(&self.planes) {
                    pixel[part] = *value;
                }
            }
        }
        // What was shown in place of `pooled` is not what the next step changes.
        self.changed.fill(self.seen.is_some());
        self.oldest = (self.oldest + 1) % count;
    }

    pub(super) fn begin(&mut self) {
        let newest = self.oldest * self.frame_bytes;
        self.push();
        let newest = newest..newest + self.frame_bytes;
        for start in (0..self.frames.len()).step_by(self.frame_bytes) {
            if start == newest.start {
                continue;
            }
            if self.pads {
                self.frames.copy_within(newest.clone(), start);
            } else {
                self.frames[start..start + self.frame_bytes].fill(0);
            }
        }
    }

    /// Writes the observation, the oldest frame first.
    pub(super) fn write_to(&self, out: &mut [u8]) {
        let (newer, older) = self.frames.split_at(self.oldest * self.frame_bytes);
        if !self.channels_last {
            let (first, last) = out.split_at_mut(older.len());
            first.copy_from_slice(older);
            last.copy_from_slice(newer);
            return;
        }
        let colours = if self.grayscale { 1 } else { 3 };
        let channels = self.frames.len() / self.frame_bytes * colours;
        let frames = older
            .chunks_exact(self.frame_bytes)
            .chain(newer.chunks_exact(self.frame_bytes));
        for (index, frame) in frames.enumerate() {
            let pixels = frame.chunks_exact(colours);
            for (out, pixel) in out.chunks_exact_mut(channels).zip(pixels) {
                out[index * colours..(index + 1) * colours].copy_from_slice(pixel);
            }
        }
    }

    pub(super) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<(), BadState> {
        for place in [
            &mut self.older,
            &mut self.newer,
            &mut self.pooled,
            &mut self.frames,
        ] {
            tape.bytes(place)?;
        }
        let num_frames = self.frames.len() / self.frame_bytes;
        tape.within(&mut self.oldest, ..num_frames, "a place")?;
        if tape.reads() {
            self.changed.fill(true);
            self.is_of_both = false;
            self.seen = None;
        }
        Ok(())
    }
}

/// Copies a screen row by row, and sets the flags of those that differ from what was there.
fn copy_changed(screen: &[u8], place: &mut [u8], changed: &mut [bool]) {
    let rows = screen.chunks_exact(WIDTH);
    let rows = rows.zip(place.chunks_exact_mut(WIDTH));
    for ((row, place), changed) in rows.zip(changed) {
        if row != place {
            place.copy_from_slice(row);
            *changed = true;
        }
    }
}
