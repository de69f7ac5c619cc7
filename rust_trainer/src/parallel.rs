//! Dividing a batch among threads, each of which computes its part from beginning to end.
//!
//! libtorch's own threads share every operation instead, and wait for one another at its end: beside
//! anything else that wants a core they wait long, and small operations have one thread anyway. So on the
//! CPU libtorch is told to use one thread ([`limit_torch_to_one_thread`](crate::device::limit_torch_to_one_thread)),
//! and here are the others.

use std::{panic::resume_unwind, thread};

use tch::Device;

use crate::{device, panics, settings::MachineSettings};

/// Among how many threads a batch is divided.
///
/// It decides where sums begin and end, and so their last bits; which thread is faster does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// The least that a part is worth, in rows times weights: a thread is there within 0.05 ms, and the
    /// gradient of so much takes several times as long.
    const LEAST_WORK: usize = 1 << 22;

    /// As many as the settings say; a GPU divides its work by itself.
    #[must_use]
    pub fn new(settings: &MachineSettings, device: Device) -> Self {
        match device {
            Device::Cpu => Self(device::num_threads(settings.torch_threads).max(1) as usize),
            _ => Self(1),
        }
    }

    /// How many they are at most.
    #[must_use]
    pub fn count(self) -> usize {
        self.0
    }

    /// The thread that asks, and no other.
    pub const ONE: Self = Self(1);

    /// Into how many parts `numel` numbers are split that are each computed by itself.
    pub(crate) fn num_chunks(self, numel: usize) -> usize {
        self.0.min(numel >> 18).max(1)
    }

    /// In how many parts `rows` of a batch for a network of `num_params` weights are computed.
    pub(crate) fn num_parts(self, rows: usize, num_params: i64) -> usize {
        let worth = rows * num_params as usize / Self::LEAST_WORK;
        self.0.min(worth).clamp(1, rows.max(1))
    }

    /// The same for a forward pass alone: a third of a gradient's work, and done at every step, so that a
    /// thread that starts late is waited for more often.
    pub(crate) fn num_forward_parts(self, rows: usize, num_params: i64) -> usize {
        self.num_parts(rows / 8, num_params)
    }
}

/// What `work` makes of each of the `parts`, in their order: the first in this thread, the others in one
/// each.
pub fn map<Part: Send, Made: Send>(
    parts: Vec<Part>,
    work: impl Fn(Part) -> Made + Sync,
) -> Vec<Made> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else {
        return Vec::new();
    };
    let (work, are_caught) = (&work, panics::are_caught());
    thread::scope(|scope| {
        let others = parts.map(|part| {
            scope.spawn(move || {
                // OpenMP asks each thread anew, and threads of its own would spin beside ours.
                device::limit_torch_to_one_thread();
                if are_caught {
                    panics::held(|| work(part))
                } else {
                    Ok(work(part))
                }
            })
        });
        let others: Vec<_> = others.collect();
        let mut made = vec![work(first)];
        for other in others {
            let joined = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            made.push(joined.unwrap_or_else(|panic| panic.resume()));
        }
        made
    })
}

/// `items` in `count` parts, the first ones longer by one where it does not divide them, as
/// `torch.tensor_split` has it.
pub fn split<Item>(items: &[Item], count: usize) -> impl Iterator<Item = &[Item]> {
    let (size, longer) = (items.len() / count, items.len() % count);
    let start = move |part| part * size + longer.min(part);
    (0..count).map(move |part| &items[start(part)..start(part + 1)])
}

/// Tensors that several threads read at once: a network, what it draws.
pub(crate) struct Shared<'a, Tensors>(&'a Tensors);

impl<'a, Tensors: ReadOnly> Shared<'a, Tensors> {
    pub fn new(tensors: &'a Tensors) -> Self {
        Self(tensors)
    }

    pub fn get(&self) -> &'a Tensors {
        self.0
    }
}

/// Tensors and plain data that nobody writes to through `&`, as tch would allow.
///
/// # Safety
/// All that a value holds beside tensors of tch may be read by several threads at once: no `Cell`, no `Rc`,
/// no pointer to what others change. Its methods that take `&self` write to no tensor that it holds.
#[expect(unsafe_code, reason = "the promise that `Shared` rests on")]
pub unsafe trait ReadOnly {}

#[expect(
    unsafe_code,
    reason = "tch's tensors are not Sync, for they can be written to through `&`"
)]
// SAFETY: what is `ReadOnly` is not written to while it is shared, and beside its tensors any number of threads
// may read it. libtorch lets them read a tensor and build graphs on it, and counts references atomically.
unsafe impl<Tensors: ReadOnly> Sync for Shared<'_, Tensors> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_many_as_asked_for_and_balanced() {
        for (num_samples, count) in [(12, 4), (10, 4), (13, 4), (9, 8), (4, 4)] {
            let samples: Vec<i64> = (0..num_samples).collect();
            let parts: Vec<&[i64]> = split(&samples, count).collect();
            assert_eq!(parts.len(), count);
            assert_eq!(parts.concat(), samples);
            let sizes = parts.iter().map(|part| part.len());
            let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
            assert!(
                most - least <= 1,
                "{num_samples} in {count}: {least} to {most}"
            );
        }
    }

    #[test]
    fn results_come_in_the_order_of_the_parts_and_panics_come_through() {
        let slow_first = |part: u64| {
            thread::sleep(std::time::Duration::from_millis(20 - 10 * part));
            (part, thread::current().id())
        };
        let made = map(vec![0, 1, 2], slow_first);
        assert_eq!(
            made.iter().map(|made| made.0).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(made[0].1, thread::current().id());
        assert!(made[1].1 != made[2].1 && made[1].1 != made[0].1);
        let panic = std::panic::catch_unwind(|| map(vec![1, 0], |part| 1 / part));
        assert!(panic.is_err());
        let caught = panics::catch_panics(|| Ok(map(vec![1, 0], |part| 1 / part)));
        let message = caught.unwrap_err().to_string();
        assert!(message.contains("divide by zero"), "{message}");
        assert!(message.contains("parallel.rs:"), "{message}");
    }

    #[test]
    fn what_is_too_small_to_divide_is_computed_in_one_part() {
        let threads = Threads(3);
        let of_cartpole = threads.num_parts(256, 9_155);
        let of_atari = threads.num_parts(256, 1_687_719);
        assert_eq!((of_cartpole, of_atari), (1, 3));
        assert_eq!(threads.num_parts(2, 1 << 30), 2, "no part without a row");
        let acting = [8, 32, 64, 256].map(|rows| threads.num_forward_parts(rows, 1_687_719));
        assert_eq!(acting, [1, 1, 3, 3]);
    }
}
