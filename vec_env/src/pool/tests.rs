//! Every item is worked on once, by one thread, and comes back; rows are written once, by whoever is there.

use std::time::Duration;

use super::{Pool, Threads, Work};

/// Rounds to play; Miri takes a thousand times as long.
const ROUNDS: usize = if cfg!(miri) { 8 } else { 300 };
const ROW_BYTES: usize = 16;

#[derive(Default)]
struct Counter {
    index: usize,
    steps: usize,
    sum: u64,
    panics: bool,
}

impl Work for Counter {
    /// Takes longer for some items than for others.
    fn work(&mut self) {
        self.steps += 1;
        let rounds = if cfg!(miri) { 2 } else { 200 };
        for round in 0..(self.index as u64 % 5) * rounds {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(round);
        }
        assert!(!self.panics, "as it should");
    }

    fn write_to(&self, row: &mut [u8]) {
        let (index, steps) = row.split_at_mut(8);
        // A row that was written twice differs from one that was written once.
        index.copy_from_slice(&(self.index as u64 + 1).to_le_bytes());
        let before = u64::from_le_bytes(steps.try_into().unwrap());
        steps.copy_from_slice(&(before + self.steps as u64).to_le_bytes());
    }
}

fn pool(count: usize, num_threads: usize, spin: Duration) -> Pool<Counter> {
    let counter = |index| Counter {
        index,
        ..Counter::default()
    };
    let threads = Threads {
        count: num_threads,
        spin,
    };
    let items = (0..count).map(counter).collect();
    Pool::new(items, ROW_BYTES, &threads).unwrap()
}

fn taken(pool: &mut Pool<Counter>) -> Vec<usize> {
    std::iter::from_fn(|| pool.take()).collect()
}

/// Offers `memory`, begun or not, and takes an item for each of its rows.
fn fill(pool: &mut Pool<Counter>, memory: &mut [u8], in_order: bool) -> Vec<usize> {
    #[expect(unsafe_code, reason = "as a batch does")]
    // SAFETY: the memory is looked into when all items were taken.
    unsafe {
        pool.offer(memory, in_order);
    }
    let count = memory.len() / ROW_BYTES;
    pool.wait(count);
    (0..count).map(|_| pool.take().unwrap()).collect()
}

/// The numbers in a row: the index of the item that wrote it and 1, and its steps.
fn numbers(row: &[u8; ROW_BYTES]) -> Vec<u64> {
    let numbers = row.as_chunks().0.iter();
    numbers.map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

#[test]
fn every_item_is_worked_on_once_for_each_time_that_it_is_begun() {
    for (num_threads, spin) in [(0, 0), (1, 0), (3, 0), (3, 50)] {
        let spin = Duration::from_micros(spin);
        let mut pool = pool(17, num_threads, spin);
        for round in 0..ROUNDS {
            let mut memory = [0; 17 * ROW_BYTES];
            pool.begin(0..17);
            assert!(pool.item(3).is_none());
            let mut taken = fill(&mut pool, &mut memory, false);
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..17), "round {round}");
            for (index, row) in (1..).zip(memory.as_chunks().0) {
                assert_eq!(numbers(row), [index, round as u64 + 1]);
            }
        }
        assert!((0..17).all(|index| pool.item(index).unwrap().steps == ROUNDS));
    }
}

#[test]
fn those_that_are_ready_first_fill_the_rows_and_may_be_begun_again() {
    const BATCH: usize = 3;
    for num_threads in [0, 2] {
        let mut pool = pool(8, num_threads, Duration::from_micros(5));
        let mut steps = [0; 8];
        pool.begin(0..8);
        for round in 0..2 * ROUNDS {
            let mut memory = [0; BATCH * ROW_BYTES];
            let ready = fill(&mut pool, &mut memory, true);
            for (&index, row) in ready.iter().zip(memory.as_chunks().0) {
                steps[index] += 1;
                assert_eq!(numbers(row), [index as u64 + 1, steps[index]], "{round}");
            }
            pool.begin(ready.into_iter());
        }
        pool.wait(8);
        assert_eq!(taken(&mut pool).len(), 8);
    }
}

#[test]
fn work_that_panics_is_told_with_its_message_and_ends_no_thread() {
    let mut pool = pool(3, 1, Duration::ZERO);
    assert_eq!(pool.panic(), None);
    pool.item(1).unwrap().panics = true;
    for _ in 0..3 {
        pool.begin(0..3);
        pool.wait(3);
        assert_eq!(taken(&mut pool).len(), 3);
    }
    assert_eq!(pool.panic(), Some("environment 1: as it should"));
}
