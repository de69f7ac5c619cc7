//! The two queues between a batch and its threads: what is to be done, and what is ready. Both are rings with a place for
//! every item, and an item is in one of them at most, so that they are never full; nothing locks or allocates.

use std::{
    ptr, slice,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering},
};

/// Keeps what different threads write on cache lines of their own; processors fetch two of 64 bytes at once.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Items for any thread to take: one thread publishes, all claim.
pub(super) struct WorkQueue {
    places: Box<[AtomicU32]>,
    /// Items published and claimed so far, modulo 2³².
    published: Padded<AtomicU32>,
    claimed: Padded<AtomicU32>,
}

impl WorkQueue {
    pub(super) fn new(count: usize) -> Self {
        let places = (0..count.next_power_of_two()).map(|_| AtomicU32::new(0));
        Self {
            places: places.collect(),
            published: Padded::default(),
            claimed: Padded::default(),
        }
    }

    fn place(&self, number: u32) -> &AtomicU32 {
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Publishes items, all at once. One thread may do this at a time.
    pub(super) fn publish(&self, items: impl Iterator<Item = usize>) {
        let mut next = self.published.0.load(Ordering::Relaxed);
        for item in items {
            self.place(next).store(item as u32, Ordering::Relaxed);
            next = next.wrapping_add(1);
        }
        // Whoever sees this number sees the places, and the items as they are now.
        self.published.0.store(next, Ordering::SeqCst);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.claimed.0.load(Ordering::Relaxed) == self.published.0.load(Ordering::Relaxed)
    }

    /// How many items were claimed so far, modulo 2³².
    pub(super) fn num_claimed(&self) -> u32 {
        self.claimed.0.load(Ordering::Relaxed)
    }

    /// Takes an item, if there is one, for this thread alone.
    pub(super) fn claim(&self) -> Option<usize> {
        loop {
            let number = self.claimed.0.load(Ordering::Acquire);
            if number == self.published.0.load(Ordering::Acquire) {
                return None;
            }
            // Read before it is claimed: afterwards the place may be used again.
            let item = self.place(number).load(Ordering::Relaxed);
            let next = number.wrapping_add(1);
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            let claim = self
                .claimed
                .0
                .compare_exchange_weak(number, next, success, failure);
            if claim.is_ok() {
                return Some(item as usize);
            }
        }
    }
}

/// Items that are ready: all threads add, one takes them, in the order in which they got their numbers. Rows are offered
/// by the owner beforehand, so that an item's thread can write the observation there.
pub(super) struct ReadyQueue {
    /// Of each number an item's index and 1, or 0.
    items: Box<[AtomicU32]>,
    /// Where observations go, by items and by numbers: a row is taken by whoever writes it.
    own_rows: Box<[AtomicPtr<u8>]>,
    next_rows: Box<[AtomicPtr<u8>]>,
    row_bytes: usize,
    /// Numbers given out so far, modulo 2³².
    numbered: Padded<AtomicU32>,
    /// How many can be taken or were, modulo 2³².
    pub(super) count: Padded<AtomicU32>,
}

impl ReadyQueue {
    /// For so many items, whose rows have `row_bytes`.
    pub(super) fn new(count: usize, row_bytes: usize) -> Self {
        let places = 0..count.next_power_of_two();
        let rows = || places.clone().map(|_| AtomicPtr::default()).collect();
        Self {
            items: places.clone().map(|_| AtomicU32::new(0)).collect(),
            own_rows: rows(),
            next_rows: rows(),
            row_bytes,
            numbered: Padded::default(),
            count: Padded::default(),
        }
    }

    fn place(&self, number: u32) -> usize {
        number as usize & (self.items.len() - 1)
    }

    /// The number of an item that is ready, for [`ReadyQueue::add`]: from now on the owner waits for it.
    pub(super) fn number(&self) -> u32 {
        self.numbered.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Offers the rows of `memory`: to the items, each its own, or `in_order` to those that get the numbers from `next` on,
    /// which were not taken yet.
    ///
    /// # Safety
    /// The memory stays valid, and nobody else reaches it, until all rows were filled or this is gone.
    #[expect(unsafe_code, reason = "outlives the borrow")]
    pub(super) unsafe fn offer(&self, memory: &mut [u8], in_order: bool, next: u32) {
        for (place, row) in memory.chunks_exact_mut(self.row_bytes).enumerate() {
            let offered = if in_order {
                &self.next_rows[self.place(next.wrapping_add(place as u32))]
            } else {
                &self.own_rows[place]
            };
            offered.store(row.as_mut_ptr(), Ordering::Release);
        }
    }

    /// Lets one thread write the row that was offered for an item, if there is one, and not written yet.
    pub(super) fn fill_row(&self, number: u32, item: usize, write: impl FnOnce(&mut [u8])) {
        let rows = [&self.own_rows[item], &self.next_rows[self.place(number)]];
        // A place that has none is not written to.
        let offered = rows
            .into_iter()
            .find(|row| !row.load(Ordering::Relaxed).is_null());
        let row = offered.map(|row| row.swap(ptr::null_mut(), Ordering::AcqRel));
        if let Some(row) = row.filter(|row| !row.is_null()) {
            #[expect(unsafe_code, reason = "writes where the owner has offered it")]
            // SAFETY: only `offer` puts rows there, all of this length, and the swap lets one thread have each.
            write(unsafe { slice::from_raw_parts_mut(row, self.row_bytes) });
        }
    }

    /// Adds the item that has `number`; returns the count that it makes.
    pub(super) fn add(&self, number: u32, item: usize) -> u32 {
        // Whoever takes it sees the item as it is now.
        self.items[self.place(number)].store(item as u32 + 1, Ordering::Release);
        self.count.0.fetch_add(1, Ordering::SeqCst).wrapping_add(1)
    }

    /// Takes the item with `number`, if it is there. One thread may do this at a time.
    pub(super) fn take(&self, number: u32) -> Option<usize> {
        let item = self.items[self.place(number)].swap(0, Ordering::Acquire);
        (item as usize).checked_sub(1)
    }
}
