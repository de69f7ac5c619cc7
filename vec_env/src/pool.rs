//! [`Pool`]: items that threads work on, each by one thread at a time, and whoever is free takes the next: items that
//! take longer keep nobody waiting. A step locks and allocates nothing; threads that find nothing to do spin for a
//! moment and then sleep.

mod queues;

use std::{
    any::Any,
    cell::UnsafeCell,
    hint, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use queues::{Padded, ReadyQueue, WorkQueue};

/// What a pool's threads do with an item.
pub trait Work: Send + 'static {
    /// Does what is to be done.
    fn work(&mut self);

    /// Writes the observation that the work brought to a row that was offered for it.
    fn write_to(&self, row: &mut [u8]);
}

/// What the pool's threads share.
struct Shared<T> {
    items: Box<[Item<T>]>,
    todo: WorkQueue,
    ready: ReadyQueue,
    /// How long a thread looks for work before it sleeps.
    spin: Duration,
    /// Rings when something was published, and at the end.
    bell: Padded<AtomicU32>,
    /// Threads that sleep until it rings, or are about to.
    sleepers: Padded<AtomicU32>,
    /// Whether the owner sleeps, and the count of ready items that wakes it.
    owner_sleeps: Padded<AtomicBool>,
    wake_owner_at: AtomicU32,
    /// What work on an item has panicked with, the first time.
    panic: OnceLock<String>,
    stops: AtomicBool,
}

/// An item: the owner's, or, from when it is published until it is taken as ready, of the thread that claims it.
struct Item<T>(Padded<UnsafeCell<T>>);

#[expect(unsafe_code, reason = "items go from thread to thread")]
// SAFETY: an item is reached by one thread at a time (`Shared::work_on`, `Pool::item`), and those hand it on by the
// release and acquire operations of `WorkQueue` and `ReadyQueue`.
unsafe impl<T: Send> Sync for Item<T> {}

impl<T: Work> Shared<T> {
    /// Works on an item that was claimed.
    fn work_on(&self, index: usize) {
        let mut number = None;
        let work = || {
            #[expect(unsafe_code, reason = "the item is this thread's")]
            // SAFETY: an index is published while its item is the owner's, and claimed once; the owner does not reach
            // the item before it has taken the index out of `ready`, where it goes below.
            let item = unsafe { &mut *self.items[index].0.0.get() };
            item.work();
            let own = self.ready.number();
            number = Some(own);
            self.ready.fill_row(own, index, |row| item.write_to(row));
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            self.panic
                .get_or_init(|| format!("environment {index}: {}", message_of(&*payload)));
        }
        let number = number.unwrap_or_else(|| self.ready.number());
        let count = self.ready.add(number, index);
        let wake_at = self.wake_owner_at.load(Ordering::SeqCst);
        if self.owner_sleeps.0.load(Ordering::SeqCst) && is_reached(count, wake_at) {
            atomic_wait::wake_one(&raw const self.ready.count.0);
        }
    }

    fn run(&self) {
        loop {
            let heard = self.bell.0.load(Ordering::SeqCst);
            if self.stops.load(Ordering::SeqCst) {
                return;
            }
            if let Some(index) = self.todo.claim() {
                // Whoever was woken wakes the next, so that the owner need not wake all.
                if !self.todo.is_empty() {
                    self.wake_one();
                }
                self.work_on(index);
                continue;
            }
            if !self.spins_until(|| self.bell.0.load(Ordering::Relaxed) != heard) {
                self.sleepers.0.fetch_add(1, Ordering::SeqCst);
                // Does nothing if it has rung meanwhile.
                atomic_wait::wait(&self.bell.0, heard);
                self.sleepers.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Wakes a thread, if one sleeps.
    fn wake_one(&self) {
        if self.sleepers.0.load(Ordering::SeqCst) > 0 {
            atomic_wait::wake_one(&raw const self.bell.0);
        }
    }

    /// Waits without sleeping, and not for long; says whether it has come.
    fn spins_until(&self, has_come: impl Fn() -> bool) -> bool {
        const LOOKS: usize = 32;
        let start = Instant::now();
        loop {
            let comes = (0..LOOKS).any(|_| {
                hint::spin_loop();
                has_come()
            });
            if comes || start.elapsed() >= self.spin {
                return comes;
            }
        }
    }
}

/// What a panic says.
#[must_use]
pub fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// Whether a count that wraps has come to `goal`.
fn is_reached(count: u32, goal: u32) -> bool {
    count.wrapping_sub(goal).cast_signed() >= 0
}

/// Items and the threads that work on them. The owner's thread works too while it waits.
pub struct Pool<T: Work> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
    is_busy: Vec<bool>,
    num_busy: usize,
    /// Items taken as ready, modulo 2³².
    num_taken: u32,
}

/// How long a thread looks for work before it sleeps, where nothing else is asked for: waking it takes some 30 µs.
pub const SPIN: Duration = Duration::from_micros(50);

/// How a pool's threads run.
pub struct Threads {
    /// Threads beside the owner's.
    pub count: usize,
    /// How long a thread looks for work before it sleeps.
    pub spin: Duration,
}

impl<T: Work> Pool<T> {
    /// A pool whose items write rows of `row_bytes`.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn new(items: Vec<T>, row_bytes: usize, threads: &Threads) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            todo: WorkQueue::new(items.len()),
            ready: ReadyQueue::new(items.len(), row_bytes),
            items: items
                .into_iter()
                .map(|item| Item(Padded(UnsafeCell::new(item))))
                .collect(),
            spin: threads.spin,
            bell: Padded::default(),
            sleepers: Padded::default(),
            owner_sleeps: Padded::default(),
            wake_owner_at: AtomicU32::new(0),
            panic: OnceLock::new(),
            stops: AtomicBool::new(false),
        });
        let mut pool = Self {
            threads: Vec::new(),
            is_busy: vec![false; shared.items.len()],
            num_busy: 0,
            num_taken: 0,
            shared,
        };
        for number in 0..threads.count {
            let shared = pool.shared.clone();
            let thread = thread::Builder::new().name(format!("env-{number}"));
            pool.threads.push(thread.spawn(move || shared.run())?);
        }
        Ok(pool)
    }

    /// Whether others work beside the owner's thread.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Whether an item was begun and not taken as ready.
    #[must_use]
    pub fn is_busy(&self, index: usize) -> bool {
        self.is_busy[index]
    }

    /// An item, unless it is being worked on.
    pub fn item(&mut self, index: usize) -> Option<&mut T> {
        if self.is_busy[index] {
            return None;
        }
        #[expect(unsafe_code, reason = "the item is the owner's")]
        // SAFETY: the item is not busy: it was never published, or taken as ready since. `&mut self` keeps the owner
        // from publishing it, and from reaching it twice.
        Some(unsafe { &mut *self.shared.items[index].0.0.get() })
    }

    /// All items, unless any of them is being worked on.
    pub fn items(&mut self) -> Option<impl Iterator<Item = &mut T>> {
        let items = self.shared.items.iter().map(|item| {
            #[expect(unsafe_code, reason = "the items are the owner's")]
            // SAFETY: as in `Pool::item`; each is reached once.
            unsafe {
                &mut *item.0.0.get()
            }
        });
        (self.num_busy == 0).then_some(items)
    }

    /// Begins work on items, none of which is busy.
    pub fn begin(&mut self, indices: impl Iterator<Item = usize>) {
        let (is_busy, num_busy) = (&mut self.is_busy, &mut self.num_busy);
        self.shared.todo.publish(indices.filter(|&index| {
            let begins = !std::mem::replace(&mut is_busy[index], true);
            *num_busy += usize::from(begins);
            begins
        }));
        self.shared.bell.0.fetch_add(1, Ordering::SeqCst);
        self.shared.wake_one();
    }

    /// Offers rows, one behind the other in `memory`, to all items, each its own, or `in_order` to those that will be taken
    /// next. The thread that works on an item writes there, or, if it is ready already, [`Pool::take`] does.
    ///
    /// # Safety
    /// The memory stays valid, and nobody else reaches it, until an item was taken for each row, or the pool is gone.
    #[expect(unsafe_code, reason = "outlives the borrow")]
    pub unsafe fn offer(&mut self, memory: &mut [u8], in_order: bool) {
        let ready = &self.shared.ready;
        // SAFETY: as this function's.
        unsafe { ready.offer(memory, in_order, self.num_taken) }
    }

    /// Waits until `count` of the items begun are ready, or all; works on items meanwhile.
    pub fn wait(&mut self, count: usize) {
        let shared = &*self.shared;
        let goal = self.num_taken.wrapping_add(count.min(self.num_busy) as u32);
        let is_done = || is_reached(shared.ready.count.0.load(Ordering::SeqCst), goal);
        while !is_done() {
            if self.is_needed(goal)
                && let Some(index) = shared.todo.claim()
            {
                shared.work_on(index);
                continue;
            }
            if shared.spins_until(is_done) {
                return;
            }
            shared.wake_owner_at.store(goal, Ordering::SeqCst);
            shared.owner_sleeps.0.store(true, Ordering::SeqCst);
            let count = shared.ready.count.0.load(Ordering::SeqCst);
            if !is_reached(count, goal) {
                // Does nothing if another is ready meanwhile; the one that reaches the goal wakes.
                atomic_wait::wait(&shared.ready.count.0, count);
            }
            shared.owner_sleeps.0.store(false, Ordering::SeqCst);
        }
    }

    /// Whether the goal needs more items than were claimed. Else the owner stays free to take these: the work on another
    /// one, which may be a reset, can take much longer.
    fn is_needed(&self, goal: u32) -> bool {
        !self.has_threads() || !is_reached(self.shared.todo.num_claimed(), goal)
    }

    /// Takes the item that was ready first and not taken, if there is one. Its observation is in the row that was offered
    /// for it.
    pub fn take(&mut self) -> Option<usize> {
        let ready = &self.shared.ready;
        let number = self.num_taken;
        self.num_taken = number.wrapping_add(1);
        if !is_reached(ready.count.0.load(Ordering::SeqCst), self.num_taken) {
            self.num_taken = number;
            return None;
        }
        let mut looks = 0_u32;
        let index = loop {
            // Another thread may still be between its number and its place, and write the row.
            if let Some(index) = ready.take(number) {
                break index;
            }
            looks += 1;
            if looks.is_multiple_of(1 << 10) {
                thread::yield_now();
            }
            hint::spin_loop();
        };
        self.is_busy[index] = false;
        self.num_busy -= 1;
        #[expect(unsafe_code, reason = "the item is the owner's")]
        // SAFETY: it was just taken as ready.
        let item = unsafe { &*self.shared.items[index].0.0.get() };
        // Where it was ready before a row was offered.
        ready.fill_row(number, index, |row| item.write_to(row));
        Some(index)
    }

    /// What work on an item has panicked with, which left it in between.
    #[must_use]
    pub fn panic(&self) -> Option<&str> {
        self.shared.panic.get().map(String::as_str)
    }
}

impl<T: Work> Drop for Pool<T> {
    /// Ends the threads; what was begun may stay undone.
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::SeqCst);
        self.shared.bell.0.fetch_add(1, Ordering::SeqCst);
        atomic_wait::wake_all(&raw const self.shared.bell.0);
        for thread in self.threads.drain(..) {
            // Work that panicked was caught.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
