//! A trunk's weights, rounded and in the orders in which they are multiplied.

use std::{
    hint,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use crate::tile::Scratch;

/// Weights of a [`Trunk`](crate::Trunk) as its passes read them, packed once by any number of threads: [`Trunk::pack`](crate::Trunk::pack).
#[derive(Debug)]
pub struct PackedTrunk {
    start: *mut u16,
    /// Where those of each layer begin, for the forward pass and for the backward pass.
    places: Vec<[usize; 2]>,
    /// Those of the trunk that it was made for.
    lengths: Vec<usize>,
    num_pieces: usize,
    /// The piece that is packed next, and how many are packed.
    next: AtomicUsize,
    done: AtomicUsize,
    /// A thread panicked, so that a piece that was drawn will never be packed.
    failed: AtomicBool,
    _memory: Scratch<u16>,
}

// SAFETY: each piece is written to by the one thread that has drawn its number, and nobody reads before all are packed.
unsafe impl Send for PackedTrunk {}
// SAFETY: as above.
unsafe impl Sync for PackedTrunk {}

impl PackedTrunk {
    /// Room for the weights of parameters of these lengths, so many numbers of each layer for the forward pass and for the
    /// backward pass, which are packed in so many pieces.
    pub(super) fn new(lengths: Vec<usize>, layers: &[[usize; 2]], num_pieces: usize) -> Self {
        let mut end = 0;
        let mut place = |weights: usize| {
            let start = end;
            end += weights;
            start
        };
        let places = layers
            .iter()
            .map(|weights| weights.map(&mut place))
            .collect();
        let mut memory = Scratch::new(end);
        Self {
            start: memory.start(),
            places,
            lengths,
            num_pieces,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            _memory: memory,
        }
    }

    /// As it was made: to be packed anew.
    pub fn clear(&mut self) {
        *self.next.get_mut() = 0;
        *self.done.get_mut() = 0;
        *self.failed.get_mut() = false;
    }

    /// Whether packing them panicked: they can only be cleared.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Weights of a layer for the forward pass and for the backward pass.
    pub(super) fn layer(&self, layer: usize) -> [*mut u16; 2] {
        self.places[layer].map(|place| self.start.wrapping_add(place))
    }

    /// Whether there is room for the weights of a trunk whose parameters have these lengths and are packed in so many
    /// pieces.
    pub(super) fn is_for(&self, lengths: &[usize], num_pieces: usize) -> bool {
        self.lengths == lengths && self.num_pieces == num_pieces
    }

    pub(super) fn is_whole(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.num_pieces
    }

    /// Has pieces packed that nobody else has begun with, and waits for those of others.
    ///
    /// # Panics
    /// Where `pack` does, here or in another thread.
    pub(super) fn take_part(&self, mut pack: impl FnMut(usize)) {
        let _failing = Failing(&self.failed);
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.num_pieces {
                break;
            }
            pack(piece);
            self.done.fetch_add(1, Ordering::Release);
        }
        let mut turns = 0;
        while !self.is_whole() {
            assert!(!self.has_failed(), "a thread failed to pack weights");
            turns += 1;
            if turns % 1000 == 0 {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
    }
}

/// Notes a panic of the thread that holds it.
struct Failing<'a>(&'a AtomicBool);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_one_thread_ends_all_and_clearing_begins_anew() {
        let mut packed = PackedTrunk::new(vec![], &[], 8);
        let failing = |piece| assert_ne!(piece, 3);
        thread::scope(|scope| {
            let threads = [0; 3].map(|_| scope.spawn(|| packed.take_part(failing)));
            for thread in threads {
                assert!(thread.join().is_err());
            }
        });
        assert!(packed.has_failed() && !packed.is_whole());
        packed.clear();
        packed.take_part(|_| {});
        assert!(packed.is_whole() && !packed.has_failed());
    }
}
