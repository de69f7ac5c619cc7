//! Rows of host memory, lent to whoever writes observations.

use std::{
    ops::Range,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tch::{Device, Kind, Tensor};
use vec_env::ObsSlot;

use crate::error::TrainerError;

/// Rows of equal size, each lent to one writer at a time and not read meanwhile: who lends or reads one that is lent, or not
/// there, panics.
#[derive(Debug)]
pub(super) struct HostRows {
    memory: Arc<Memory>,
}

/// Kept alive by every row that is lent.
#[derive(Debug)]
struct Memory {
    /// `[num_rows, ...]`, contiguous, never resized.
    tensor: Tensor,
    start: NonNull<u8>,
    row_bytes: usize,
    lent: Box<[AtomicBool]>,
}

#[expect(
    unsafe_code,
    reason = "rows are written in other threads than the one that reads"
)]
// SAFETY: the tensor and its pointer are used by `HostRows` alone, which never reads a row that is lent;
// what is shared with other threads is the flags.
unsafe impl Send for Memory {}
#[expect(
    unsafe_code,
    reason = "rows are written in other threads than the one that reads"
)]
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Rows that are lent; dropping it gives them back.
struct Lent {
    memory: Arc<Memory>,
    rows: Range<usize>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        for lent in &self.memory.lent[self.rows.clone()] {
            lent.store(false, Ordering::Release);
        }
    }
}

impl HostRows {
    /// Zeros of this `shape`, `[num_rows, ...]`; pinned where they are to travel to a CUDA `device`.
    pub fn new(shape: &[i64], kind: Kind, device: Device) -> Result<Self, TrainerError> {
        let mut tensor = Tensor::f_zeros(shape, (kind, Device::Cpu))?;
        if device.is_cuda() {
            tensor = tensor.f_pin_memory(device)?;
        }
        let num_rows = shape[0] as usize;
        let start = NonNull::new(tensor.data_ptr().cast()).unwrap_or(NonNull::dangling());
        let memory = Memory {
            row_bytes: tensor.numel() / num_rows.max(1) * kind.elt_size_in_bytes(),
            tensor,
            start,
            lent: (0..num_rows).map(|_| AtomicBool::new(false)).collect(),
        };
        Ok(Self {
            memory: Arc::new(memory),
        })
    }

    /// Lends rows to be written to, one after another in memory, until the slot is dropped.
    pub fn lend(&mut self, rows: Range<usize>) -> ObsSlot {
        let memory = &self.memory;
        for row in rows.clone() {
            let was_lent = memory.lent[row].swap(true, Ordering::Acquire);
            assert!(!was_lent, "row {row} of the observations is lent already");
        }
        let (first, numel) = (rows.start, rows.len() * memory.row_bytes);
        let owner = Lent {
            memory: Arc::clone(memory),
            rows,
        };
        #[expect(unsafe_code, reason = "tch has no safe view of a tensor's bytes")]
        // SAFETY: the rows lie inside the tensor's memory, for their flags exist; the memory is initialized
        // and lives as long as `owner`; until that is dropped the flags keep it from being lent or changed again, and
        // views of it are not read (see `view` and `views`).
        unsafe {
            let start = memory.start.add(first * memory.row_bytes);
            ObsSlot::from_raw_parts(start, numel, owner)
        }
    }

    /// A view of a row. It must not be used once the row is lent again.
    pub fn view(&self, row: usize) -> Tensor {
        self.check_readable(row);
        self.memory.tensor.get(row as i64)
    }

    /// A view of all rows, `[num_rows, ...]`; those that are lent must not be read.
    pub fn views(&self) -> &Tensor {
        &self.memory.tensor
    }

    /// The bytes of a row, to be changed in place.
    pub fn bytes(&mut self, row: usize) -> &mut [u8] {
        self.check_readable(row);
        let memory = &self.memory;
        #[expect(unsafe_code, reason = "tch has no safe view of a tensor's bytes")]
        // SAFETY: as in `lend`; the row is not lent, nor can it be while this borrows.
        unsafe {
            let start = memory.start.add(row * memory.row_bytes);
            std::slice::from_raw_parts_mut(start.as_ptr(), memory.row_bytes)
        }
    }

    pub fn check_readable(&self, row: usize) {
        let is_lent = self.memory.lent[row].load(Ordering::Acquire);
        assert!(
            !is_lent,
            "row {row} of the observations is lent: it cannot be read before its slot is dropped"
        );
    }
}
