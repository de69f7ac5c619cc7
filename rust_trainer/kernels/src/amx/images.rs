//! The images that go through a trunk.

/// Images, `[height][width][channels]` bytes each, anywhere among `bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// Where they lie.
    pub bytes: &'a [u8],
    /// Where each begins.
    pub places: &'a [usize],
}

impl Images<'_> {
    /// Where each image of a block begins, of so many bytes; the last one fills it.
    pub(super) fn pointers(&self, block: usize, of_block: usize, image: usize) -> [*const u8; 32] {
        let last = self.places.len() - 1;
        std::array::from_fn(|number| {
            let place = self.places[(block * of_block + number).min(last)];
            self.bytes[place..place + image].as_ptr()
        })
    }
}

/// Up to how many images are acted for in tiles of so many rows.
pub const FEW: usize = 16;
