//! The two queues between a batch and its threads: what is to be done, and what is. Both are rings with a place for
//! every item, and an item is in one of them at most, so that they are never full; nothing locks or allocates.

use std::sync::atomic::{AtomicU32, Ordering};

fn places(count: usize) -> Box<[AtomicU32]> {
    (0..count.next_power_of_two())
        .map(|_| AtomicU32::new(0))
        .collect()
}

/// Items for any thread to take: one thread publishes, all claim.
pub(super) struct Todo {
    places: Box<[AtomicU32]>,
    /// Items published and claimed so far, modulo 2³².
    pub(super) published: AtomicU32,
    claimed: AtomicU32,
}

impl Todo {
    pub(super) fn new(count: usize) -> Self {
        Self {
            places: places(count),
            published: AtomicU32::new(0),
            claimed: AtomicU32::new(0),
        }
    }

    fn place(&self, number: u32) -> &AtomicU32 {
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Publishes items, all at once. One thread may do this at a time.
    pub(super) fn publish(&self, items: impl Iterator<Item = usize>) -> u32 {
        let first = self.published.load(Ordering::Relaxed);
        let mut next = first;
        for item in items {
            self.place(next).store(item as u32, Ordering::Relaxed);
            next = next.wrapping_add(1);
        }
        // Whoever sees this number sees the places, and the items as they are now.
        self.published.store(next, Ordering::SeqCst);
        next.wrapping_sub(first)
    }

    /// Takes an item, if there is one, for this thread alone.
    pub(super) fn claim(&self) -> Option<usize> {
        loop {
            let number = self.claimed.load(Ordering::Acquire);
            if number == self.published.load(Ordering::Acquire) {
                return None;
            }
            // Read before it is claimed: afterwards the place may be used again.
            let item = self.place(number).load(Ordering::Relaxed);
            let next = number.wrapping_add(1);
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            let claim = self
                .claimed
                .compare_exchange_weak(number, next, success, failure);
            if claim.is_ok() {
                return Some(item as usize);
            }
        }
    }
}

/// Items that are done: all threads add, one takes them, in the order in which they were added.
pub(super) struct Done {
    /// An item's number and 1, or 0.
    places: Box<[AtomicU32]>,
    added: AtomicU32,
    /// How many can be taken or were, modulo 2³².
    pub(super) count: AtomicU32,
}

impl Done {
    pub(super) fn new(count: usize) -> Self {
        Self {
            places: places(count),
            added: AtomicU32::new(0),
            count: AtomicU32::new(0),
        }
    }

    fn place(&self, number: u32) -> &AtomicU32 {
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Adds an item; returns the count that it makes.
    pub(super) fn add(&self, item: usize) -> u32 {
        let number = self.added.fetch_add(1, Ordering::Relaxed);
        // Whoever takes it sees the item as it is now.
        self.place(number).store(item as u32 + 1, Ordering::Release);
        self.count.fetch_add(1, Ordering::SeqCst).wrapping_add(1)
    }

    /// Takes the item that was added as `number`-th, if it is there. One thread may do this at a time.
    pub(super) fn take(&self, number: u32) -> Option<usize> {
        let item = self.place(number).swap(0, Ordering::Acquire);
        (item as usize).checked_sub(1)
    }
}
