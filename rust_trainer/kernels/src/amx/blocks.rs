//! Blocks of 32 by 32 bfloat16 in the orders in which tiles want them, and what comes before and after products.
//!
//! - rows: `[32 rows][32 columns]`, an `a` whose terms are the columns;
//! - pairs: `[2][16 pairs of rows][16 columns][2]`, a `b` whose terms are the rows;
//! - turned pairs: `[2][16 columns][32 rows]`, an `a` whose terms are the rows.
//!
//! To turn tiles of 16 by 16 units of two numbers makes turned pairs of pairs, and of rows that `b` whose terms are the
//! columns.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

use std::mem::MaybeUninit;

use super::tiles::Tiles;

mod plain;
#[cfg(target_arch = "x86_64")]
mod vectors;

/// Numbers in a block, in a tile, and in a row of a tile.
pub const BLOCK: usize = 32 * 32;
const TILE: usize = BLOCK / 2;
const ROW: usize = 32;

/// Bytes of a block.
pub const BYTES: usize = 2 * BLOCK;

/// A block on cache lines of its own, for what is only written down for the next function.
#[repr(align(64))]
struct Block(MaybeUninit<[u16; BLOCK]>);

impl Block {
    fn start(&mut self) -> *mut u16 {
        self.0.as_mut_ptr().cast()
    }
}

/// Where 32 numbers of each image begin that come as bytes: 16 of them, 16 more, and how far behind them lies what is
/// wanted soon.
#[derive(Clone, Copy)]
pub struct Bytes {
    pub halves: [usize; 2],
    pub ahead: usize,
}

/// A pixel's sums of a block of images, `[blocks][rows][32]`: a row for each image.
#[derive(Clone, Copy)]
pub struct Pixel {
    pub start: *mut u16,
    pub blocks: usize,
    pub rows: usize,
}

/// Where `rows` rows of a pixel go: numbers from one to the next, and from one block of 32 to the next.
#[derive(Clone, Copy)]
pub struct Target {
    pub start: *mut u16,
    pub rows: usize,
    pub to_row: usize,
    pub to_block: usize,
}

/// Where both halves of rows of 32 numbers begin, of which the largest are looked for, and the places that these count as.
#[derive(Clone, Copy)]
pub struct Seen {
    pub halves: [*const u16; 2],
    pub places: [u8; 2],
}

impl Seen {
    pub const NOTHING: Self = Self {
        halves: [std::ptr::null(); 2],
        places: [0; 2],
    };
}

/// What layer normalization adds to the variance under the root.
pub const EPS: f64 = 1e-6;

/// Functions for the processor, or in plain Rust where tiles are emulated.
macro_rules! functions {
    ($($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        /// What is read and written is there; the processor has what `T` needs.
        #[inline]
        pub unsafe fn $name<T: Tiles>($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            if T::HARDWARE {
                return vectors::$name($($argument),*);
            }
            plain::$name($($argument),*);
        }
    )*};
}

functions! {
    /// Rows → pairs.
    to_pairs(from: *const u16, to: *mut u16);
    /// Both tiles of a block turned.
    turn(from: *const u16, to: *mut u16);
    /// Rows from those of float32, which are `stride` numbers apart, divided by `divisor`.
    round(from: *const f32, stride: usize, divisor: f32, to: *mut u16);
    /// Rows of the numbers of `images`, a pointer each.
    bytes_to_rows(images: &[*const u8], bytes: Bytes, to: *mut u16);
    /// The same of 32 images as pairs.
    bytes_to_pairs(images: &[*const u8], bytes: Bytes, to: *mut u16);
    /// Rounds `count` rows of 32 sums, of which none is less than `least`, to rows that are `stride` numbers apart.
    finish(sums: *const f32, count: usize, least: f32, to: *mut u16, stride: usize);
    /// Rounds a block of sums, zero where `outputs` of rectified units are not above it.
    pass(sums: *const f32, outputs: *const u16, to: *mut u16);
    /// The same, added to what is there.
    pass_onto(sums: *const f32, outputs: *const u16, to: *mut u16);
    /// Adds `count` rows of `x` to as many of 32 sums; rounds what that makes to the first of `to`, and before that,
    /// rectified, to the second.
    join(sums: *const f32, x: *const u16, count: usize, to: [*mut u16; 2]);
    /// Makes of rows of 32 numbers, so many, integers that are larger for larger numbers, and the largest for NaNs; 0 is
    /// larger than -0.
    to_keys(rows: *mut u16, count: usize);
    /// The largest of what is seen in each row of so many images, from such integers: as numbers, and rectified, and the
    /// place of the first that has it.
    pool(seen: &[Seen], images: usize, to: [*mut u16; 2], chosen: *mut u8);
    /// The sums of the halves of 32 rows that begin `from` there, of those whose number was chosen.
    of_pool(from: &[(*const u16, *const u8, u8)], to: *mut u16);
    /// Adds to each of `to` the 32 numbers of its column, from a block of pairs.
    add_columns(pairs: *const u16, to: *mut f32);
    /// By what each row of a pixel gets the mean 0 and the variance 1: `[2][32]`, a factor and what is added behind it.
    /// Up to a multiple of 16, rows that are not there count as the last one.
    moments(sums: Pixel, to: *mut f32);
    /// Rows of a pixel normalized by these `factors`, times scale, plus shift, through rectified units.
    normalize(sums: Pixel, factors: *const f32, params: [*const f32; 2], to: Target);
    /// From the gradient of 32 rows before rectified units, `[blocks][32][32]`, that of the sums, in its place; adds to
    /// those of scale and shift.
    of_norm(sums: Pixel, factors: *const f32, scale: *const f32, of: *mut u16, of_params: [*mut f32; 2]);
    /// `[rows][columns]` → `[columns][rows]`; the next such matrix lies so far `ahead`.
    transpose(from: *const f32, rows: usize, columns: usize, to: *mut f32, ahead: usize);
}

/// A block of weights in the orders of the forward and backward pass.
///
/// # Safety
/// As the functions above.
pub unsafe fn pack<T: Tiles>(
    from: *const f32,
    stride: usize,
    divisor: f32,
    forward: *mut u16,
    backward: *mut u16,
) {
    let mut rows = Block(MaybeUninit::uninit());
    round::<T>(from, stride, divisor, rows.start());
    turn::<T>(rows.start(), forward);
    to_pairs::<T>(rows.start(), backward);
}

/// Rows → turned pairs; adds the sums of columns to `of_bias`.
///
/// # Safety
/// As the functions above.
pub unsafe fn turn_rows<T: Tiles>(from: *const u16, to: *mut u16, of_bias: *mut f32) {
    let mut pairs = Block(MaybeUninit::uninit());
    to_pairs::<T>(from, pairs.start());
    add_columns::<T>(pairs.start(), of_bias);
    turn::<T>(pairs.start(), to);
}

/// What cache lines are fetched for: to be read soon, later, or to be written to.
#[derive(Clone, Copy)]
pub enum For {
    Reading,
    Later,
    Writing,
}

/// Has the processor fetch so many lines; they may lie anywhere.
#[inline]
pub fn fetch<T: Tiles>(aim: For, from: *const u16, lines: usize) {
    for line in 0..if T::HARDWARE { lines } else { 0 } {
        fetch_line(aim, from.wrapping_add(line * ROW));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch_line(aim: For, line: *const u16) {
    // SAFETY: nothing is read.
    unsafe {
        match aim {
            For::Reading => _mm_prefetch::<_MM_HINT_T0>(line.cast()),
            For::Later => _mm_prefetch::<_MM_HINT_T1>(line.cast()),
            For::Writing => _mm_prefetch::<_MM_HINT_ET0>(line.cast()),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch_line(_: For, _: *const u16) {}
