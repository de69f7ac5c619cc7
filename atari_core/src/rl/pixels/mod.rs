//! Pixels: colours of the console as gray or RGB, their maximum, and pictures made small, equal in every pixel to what
//! ALE and OpenCV make of them.
//!
//! Each kernel has a portable path and faster ones, among which [`Simd::detect`] chooses when the program runs.

mod look_up;
mod palette;
mod resize;

pub use look_up::Simd;
pub use palette::Palette;
pub use resize::Resizer;

/// Takes the pixel-wise maximum of two pictures into the first one.
pub fn maximum(picture: &mut [u8], other: &[u8]) {
    for (pixel, other) in picture.iter_mut().zip(other) {
        *pixel = (*pixel).max(*other);
    }
}

/// Gray of colours as OpenCV's `RGB2GRAY` has it for bytes: weights 0.299, 0.587 and 0.114 in 15 bits, rounded.
pub fn gray_of_rgb(red: &[u8], green: &[u8], blue: &[u8], out: &mut [u8]) {
    for (((out, red), green), blue) in out.iter_mut().zip(red).zip(green).zip(blue) {
        let sum = 9798 * u32::from(*red) + 19235 * u32::from(*green) + 3735 * u32::from(*blue);
        *out = ((sum + (1 << 14)) >> 15) as u8;
    }
}
