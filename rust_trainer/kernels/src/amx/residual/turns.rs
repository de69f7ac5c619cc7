//! Two blocks of sums in turns: those of a product are finished while the next product is added up.

use std::iter;

use crate::{
    amx::{
        blocks::{BLOCK, BYTES},
        tiles::Sums,
    },
    tile::Scratch,
};

/// Cells of which a product makes the sums: the first one, and how many there are.
pub type Made = (usize, usize);

/// The blocks, and what is done with the sums of a cell.
pub struct Turns<'a, D: FnMut(*const f32, usize)> {
    sums: &'a mut Scratch<f32>,
    done: D,
    before: Option<(*const f32, Made)>,
    turn: usize,
}

/// Memory for them.
pub fn room() -> Scratch<f32> {
    Scratch::new(2 * BLOCK)
}

impl<'a, D: FnMut(*const f32, usize)> Turns<'a, D> {
    pub fn new(sums: &'a mut Scratch<f32>, done: D) -> Self {
        Self {
            sums,
            done,
            before: None,
            turn: 0,
        }
    }

    /// Where the next sums go.
    pub fn sums(&mut self) -> Sums {
        Sums::block(self.sums.start().wrapping_add(self.turn * BLOCK))
    }

    /// They are there: `made` are one cell, or two, of which each has one tile.
    pub fn made(&mut self, made: Made) {
        let sums = self.sums().start.cast_const();
        self.turn = 1 - self.turn;
        if let Some(before) = self.before.replace((sums, made)) {
            self.finish(before);
        }
    }

    /// Nothing follows.
    pub fn end(mut self) {
        if let Some(before) = self.before.take() {
            self.finish(before);
        }
    }

    fn finish(&mut self, (sums, (first, count)): (*const f32, Made)) {
        for number in 0..count {
            (self.done)(sums.wrapping_add(number * BLOCK / 2), first + number);
        }
    }
}

/// The cells of a row whose products are made one after the other: of 32 images each by itself; of fewer, two together
/// that have neighbours on both sides.
pub fn of_row(width: usize, images: usize) -> Vec<Made> {
    let together = if images > 16 { 1 } else { 2 };
    let inner = (1..width.max(2) - 1).step_by(together);
    let inner = inner.map(|column| (column, together.min(width - 1 - column)));
    let last = (width > 1).then(|| (width - 1, 1));
    iter::once((0, 1)).chain(inner).chain(last).collect()
}

/// Bytes from the first tile of so many images of one or two cells to the second: the other half of the images, or the
/// cell beside; or the same once more.
pub fn second_tile(images: usize, cells: usize) -> usize {
    match (images, cells) {
        (32, _) => BYTES / 2,
        (_, 2) => images * 64,
        _ => 0,
    }
}
