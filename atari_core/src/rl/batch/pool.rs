//! [`Pool`]: items that threads work on, each by one thread at a time, and whoever is free takes the next: items that
//! take longer keep nobody waiting. A step locks and allocates nothing; threads that find nothing to do spin for some
//! microseconds and then sleep.

use std::{
    cell::UnsafeCell,
    hint, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::{
    affinity::pin_to_core,
    rings::{Done, Todo},
};

/// Looks for work before a thread sleeps: some microseconds.
const SPINS: u32 = 100;

/// What the pool's threads share.
struct Shared<T> {
    items: Box<[Item<T>]>,
    work: fn(&mut T),
    todo: Todo,
    done: Done,
    /// Rings when something was published, and at the end.
    bell: AtomicU32,
    /// Threads that sleep until it rings, or are about to.
    sleepers: AtomicU32,
    /// Whether the owner sleeps, and the count of done items that wakes it.
    owner_sleeps: AtomicBool,
    wake_owner_at: AtomicU32,
    /// Work on an item panicked.
    has_panicked: AtomicBool,
    stops: AtomicBool,
}

/// An item: the owner's, or, from when it is published until it is taken as done, of the thread that claims it.
struct Item<T>(UnsafeCell<T>);

#[expect(unsafe_code, reason = "items go from thread to thread")]
// SAFETY: an item is reached by one thread at a time (`Shared::work_on`, `Pool::item`), and those hand it on by the
// release and acquire operations of `Todo` and `Done`.
unsafe impl<T: Send> Sync for Item<T> {}

impl<T> Shared<T> {
    /// Works on an item that was claimed.
    fn work_on(&self, index: usize) {
        let item = &self.items[index].0;
        let work = || {
            #[expect(unsafe_code, reason = "the item is this thread's")]
            // SAFETY: an index is published while its item is the owner's, and claimed once; the owner does not reach
            // the item before it has taken the index out of `done`, where it goes below.
            (self.work)(unsafe { &mut *item.get() });
        };
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.has_panicked.store(true, Ordering::Relaxed);
        }
        let count = self.done.add(index);
        let wake_at = self.wake_owner_at.load(Ordering::SeqCst);
        if self.owner_sleeps.load(Ordering::SeqCst) && is_reached(count, wake_at) {
            atomic_wait::wake_one(&raw const self.done.count);
        }
    }

    fn run(&self) {
        loop {
            let heard = self.bell.load(Ordering::SeqCst);
            if self.stops.load(Ordering::SeqCst) {
                return;
            }
            if let Some(index) = self.todo.claim() {
                self.work_on(index);
                continue;
            }
            let rings = (0..SPINS).any(|_| {
                hint::spin_loop();
                self.bell.load(Ordering::Relaxed) != heard
            });
            if !rings {
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                // Does nothing if it has rung meanwhile.
                atomic_wait::wait(&self.bell, heard);
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Whether a count that wraps has come to `goal`.
fn is_reached(count: u32, goal: u32) -> bool {
    count.wrapping_sub(goal).cast_signed() >= 0
}

/// Items and the threads that work on them. The owner's thread works too while it waits.
pub(super) struct Pool<T: Send + 'static> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
    is_busy: Vec<bool>,
    num_busy: usize,
    /// Items taken as done, modulo 2³².
    num_taken: u32,
}

impl<T: Send + 'static> Pool<T> {
    /// A pool with `num_threads` threads beside the owner's, each pinned to one of `cores` in turn, if there are any.
    ///
    /// # Errors
    /// The system refuses a thread, or to pin one.
    pub(super) fn new(
        items: Vec<T>,
        work: fn(&mut T),
        num_threads: usize,
        cores: &[usize],
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            todo: Todo::new(items.len()),
            done: Done::new(items.len()),
            items: items
                .into_iter()
                .map(|item| Item(UnsafeCell::new(item)))
                .collect(),
            work,
            bell: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            owner_sleeps: AtomicBool::new(false),
            wake_owner_at: AtomicU32::new(0),
            has_panicked: AtomicBool::new(false),
            stops: AtomicBool::new(false),
        });
        let mut pool = Self {
            threads: Vec::new(),
            is_busy: vec![false; shared.items.len()],
            num_busy: 0,
            num_taken: 0,
            shared,
        };
        for number in 0..num_threads {
            let shared = pool.shared.clone();
            let thread = thread::Builder::new().name(format!("atari-{number}"));
            let handle = thread.spawn(move || shared.run())?;
            // Known to the pool first, which ends it if it cannot be pinned.
            pool.threads.push(handle);
            if !cores.is_empty() {
                pin_to_core(&pool.threads[number], cores[number % cores.len()])?;
            }
        }
        Ok(pool)
    }

    /// Whether an item was begun and not taken as done.
    pub(super) fn is_busy(&self, index: usize) -> bool {
        self.is_busy[index]
    }

    /// An item, unless it is being worked on.
    pub(super) fn item(&mut self, index: usize) -> Option<&mut T> {
        if self.is_busy[index] {
            return None;
        }
        #[expect(unsafe_code, reason = "the item is the owner's")]
        // SAFETY: the item is not busy: it was never published, or taken as done since. `&mut self` keeps the owner
        // from publishing it, and from reaching it twice.
        Some(unsafe { &mut *self.shared.items[index].0.get() })
    }

    /// Begins work on items, none of which is busy.
    pub(super) fn begin(&mut self, indices: impl Iterator<Item = usize>) {
        let (is_busy, num_busy) = (&mut self.is_busy, &mut self.num_busy);
        let count = self.shared.todo.publish(indices.filter(|&index| {
            let begins = !std::mem::replace(&mut is_busy[index], true);
            *num_busy += usize::from(begins);
            begins
        }));
        let bell = &self.shared.bell;
        bell.fetch_add(1, Ordering::SeqCst);
        let sleepers = self.shared.sleepers.load(Ordering::SeqCst);
        if count >= sleepers && sleepers > 1 {
            atomic_wait::wake_all(bell);
        } else {
            (0..count.min(sleepers)).for_each(|_| atomic_wait::wake_one(bell));
        }
    }

    /// Waits until `count` of the items begun are done, or all; works on items meanwhile.
    pub(super) fn wait(&mut self, count: usize) {
        let shared = &*self.shared;
        let goal = self.num_taken.wrapping_add(count.min(self.num_busy) as u32);
        let is_done = || is_reached(shared.done.count.load(Ordering::SeqCst), goal);
        while !is_done() {
            if let Some(index) = shared.todo.claim() {
                shared.work_on(index);
                continue;
            }
            let is_soon_done = (0..SPINS).any(|_| {
                hint::spin_loop();
                is_done()
            });
            if is_soon_done {
                return;
            }
            shared.wake_owner_at.store(goal, Ordering::SeqCst);
            shared.owner_sleeps.store(true, Ordering::SeqCst);
            let count = shared.done.count.load(Ordering::SeqCst);
            if !is_reached(count, goal) {
                // Does nothing if another is done meanwhile; the one that reaches the goal wakes.
                atomic_wait::wait(&shared.done.count, count);
            }
            shared.owner_sleeps.store(false, Ordering::SeqCst);
        }
    }

    /// Takes the item that was done first and not taken, if there is one.
    pub(super) fn take(&mut self) -> Option<usize> {
        let shared = &*self.shared;
        if !is_reached(
            shared.done.count.load(Ordering::SeqCst),
            self.num_taken.wrapping_add(1),
        ) {
            return None;
        }
        let index = loop {
            // Another thread may still be between its number and its place.
            match shared.done.take(self.num_taken) {
                Some(index) => break index,
                None => hint::spin_loop(),
            }
        };
        self.num_taken = self.num_taken.wrapping_add(1);
        self.is_busy[index] = false;
        self.num_busy -= 1;
        Some(index)
    }

    /// Whether work on an item has panicked, and left it in between.
    pub(super) fn has_panicked(&self) -> bool {
        self.shared.has_panicked.load(Ordering::Relaxed)
    }
}

impl<T: Send + 'static> Drop for Pool<T> {
    /// Ends the threads; what was begun may stay undone.
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::SeqCst);
        self.shared.bell.fetch_add(1, Ordering::SeqCst);
        atomic_wait::wake_all(&raw const self.shared.bell);
        for thread in self.threads.drain(..) {
            // Work that panicked was caught.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[derive(Default)]
    struct Counter {
        index: usize,
        steps: u64,
        sum: u64,
    }

    /// Takes longer for some items than for others.
    fn work(counter: &mut Counter) {
        counter.steps += 1;
        for round in 0..(counter.index as u64 % 5) * 200 {
            counter.sum = counter.sum.wrapping_mul(31).wrapping_add(round);
        }
    }

    fn counters(count: usize) -> Vec<Counter> {
        let counter = |index| Counter {
            index,
            ..Counter::default()
        };
        (0..count).map(counter).collect()
    }

    #[test]
    fn every_item_is_worked_on_once_for_each_time_that_it_is_begun() {
        for num_threads in [0, 1, 3] {
            let mut pool = Pool::new(counters(17), work, num_threads, &[]).unwrap();
            for round in 0..300 {
                pool.begin(0..17);
                assert!(pool.item(3).is_none());
                pool.wait(17);
                let mut taken: Vec<usize> = std::iter::from_fn(|| pool.take()).collect();
                taken.sort_unstable();
                assert!(taken.into_iter().eq(0..17), "round {round}");
            }
            assert!((0..17).all(|index| pool.item(index).unwrap().steps == 300));
        }
    }

    #[test]
    fn those_that_are_done_first_come_first_and_may_be_begun_again() {
        let mut pool = Pool::new(counters(8), work, 2, &[]).unwrap();
        pool.begin(0..8);
        let mut begun = 8;
        while begun < 2000 {
            pool.wait(3);
            let ready: Vec<usize> = (0..3).filter_map(|_| pool.take()).collect();
            assert_eq!(ready.len(), 3);
            pool.begin(ready.into_iter());
            begun += 3;
        }
        pool.wait(8);
        while pool.take().is_some() {}
        let steps: u64 = (0..8).map(|index| pool.item(index).unwrap().steps).sum();
        assert_eq!(steps, begun);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_run_on_cores_that_there_are() {
        assert!(Pool::new(counters(2), work, 1, &[0]).is_ok());
        for core in [1_000, 1_000_000] {
            let error = Pool::new(counters(2), work, 1, &[core]).err().unwrap();
            assert!(
                error.to_string().contains(&format!("core {core}")),
                "{error}"
            );
        }
    }

    #[test]
    fn work_that_panics_is_told_and_ends_no_thread() {
        let panics = |number: &mut u32| assert!(*number != 1, "as it should");
        let mut pool = Pool::new(vec![0, 1, 2], panics, 1, &[]).unwrap();
        assert!(!pool.has_panicked());
        for _ in 0..3 {
            pool.begin(0..3);
            pool.wait(3);
            while pool.take().is_some() {}
        }
        assert!(pool.has_panicked());
    }
}
