//! An input of the fuzzer's, taken off piece by piece; zeros once it is used up.
#![allow(dead_code)]

/// What is left of an input.
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    /// A byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// One of `0..count`.
    pub fn below(&mut self, count: usize) -> usize {
        let number = u32::from_le_bytes(std::array::from_fn(|_| self.byte()));
        number as usize % count
    }

    /// Changes some bytes from `first` on.
    pub fn damage(&mut self, bytes: &mut [u8], first: usize) {
        for _ in 0..=self.byte() % 8 {
            let place = first + self.below(bytes.len() - first);
            bytes[place] = self.byte();
        }
    }
}
