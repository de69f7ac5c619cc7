//! Layer normalization between a layer's sums and its rectified units (Ba et al. 2016), over all outputs of a pixel, or
//! of an image behind the layer that is fully connected.
//!
//! Sums are rounded to bfloat16 before the norm, and what it makes of them behind it; in between all is float32.

use super::{
    blocks::{self, Pixel, Target},
    tiles::Tiles,
};
use crate::tile::Scratch;

/// Numbers by which the rows of a pixel are normalized.
const FACTORS: usize = 2 * 32;

/// What a layer's norm computes with, and what it keeps for the backward pass.
#[derive(Debug)]
pub struct Kept {
    /// Scale and shift.
    params: [Vec<f32>; 2],
    /// Images of a block.
    images: usize,
    /// The rounded sums, `[pixel][outputs / 32][images][32]`.
    sums: Scratch<u16>,
    /// `[pixel][2][32]`.
    factors: Scratch<f32>,
}

/// The norm of a block of images.
#[derive(Clone, Copy)]
pub struct Norm<'a> {
    params: [&'a [f32]; 2],
    images: usize,
    /// Where the rounded sums of the block are, or go.
    pub sums: *mut u16,
    factors: *mut f32,
}

impl Kept {
    /// Room for so many pixels of blocks of so many images.
    pub fn new(params: [&[f32]; 2], pixels: usize, images: usize) -> Self {
        Self {
            params: params.map(<[f32]>::to_vec),
            images,
            sums: Scratch::new(pixels * images * params[0].len()),
            factors: Scratch::new(pixels * FACTORS),
        }
    }

    /// Whether there is that of so many pixels of blocks of 32 images.
    pub fn is_whole(&self, pixels: usize, outputs: usize) -> bool {
        self.images == 32
            && self.params[0].len() == outputs
            && self.sums.len() >= pixels * 32 * outputs
            && self.factors.len() >= pixels * FACTORS
    }

    /// The norm of a block that begins with this pixel.
    pub fn from(&mut self, pixel: usize) -> Norm<'_> {
        let numbers = self.images * self.params[0].len();
        Norm {
            params: self.params.each_ref().map(Vec::as_slice),
            images: self.images,
            sums: self.sums.start().wrapping_add(pixel * numbers),
            factors: self.factors.start().wrapping_add(pixel * FACTORS),
        }
    }
}

impl Norm<'_> {
    /// The sums of a pixel of the block, and by what they are normalized.
    fn pixel(self, number: usize) -> (Pixel, *mut f32) {
        let outputs = self.params[0].len();
        let pixel = Pixel {
            start: self.sums.wrapping_add(number * self.images * outputs),
            blocks: outputs / 32,
            rows: self.images,
        };
        (pixel, self.factors.wrapping_add(number * FACTORS))
    }

    /// A pixel's sums through the norm and the rectified units.
    pub unsafe fn forward<T: Tiles>(self, number: usize, to: Target) {
        let (pixel, factors) = self.pixel(number);
        blocks::moments::<T>(pixel, factors);
        blocks::normalize::<T>(pixel, factors, self.params.map(<[f32]>::as_ptr), to);
    }

    /// Makes of the gradient of a pixel's outputs before their rectified units that of its sums; adds to those of scale
    /// and shift.
    pub unsafe fn backward<T: Tiles>(self, number: usize, of: *mut u16, of_params: [*mut f32; 2]) {
        let (pixel, factors) = self.pixel(number);
        blocks::of_norm::<T>(pixel, factors, self.params[0].as_ptr(), of, of_params);
    }
}
