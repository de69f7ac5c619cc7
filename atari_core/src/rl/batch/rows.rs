//! [`ObsRow`]: a row of the caller's memory for observations, on its way to the thread that writes it.

use std::{ptr::NonNull, slice};

/// Memory that rows of observations are written to.
pub(super) struct ObsRows {
    start: NonNull<u8>,
    count: usize,
    row_bytes: usize,
}

impl ObsRows {
    /// The rows of `obs`, whole ones only.
    pub(super) fn new(obs: &mut [u8], row_bytes: usize) -> Self {
        Self {
            count: obs.len() / row_bytes,
            start: NonNull::from(obs).cast(),
            row_bytes,
        }
    }

    /// One of the rows, for another thread to write.
    ///
    /// # Safety
    /// The memory stays valid, and nobody else reaches this row, until it was written or the row dropped.
    #[expect(unsafe_code, reason = "outlives the borrow")]
    pub(super) unsafe fn row(&self, row: usize) -> Option<ObsRow> {
        // SAFETY: the row lies within the memory.
        let start = (row < self.count).then(|| unsafe { self.start.add(row * self.row_bytes) });
        start.map(|start| ObsRow(start, self.row_bytes))
    }
}

/// Where an observation goes: memory that its owner keeps, and leaves alone, until the row is received.
pub(super) struct ObsRow(NonNull<u8>, usize);

#[expect(unsafe_code, reason = "a row goes to the thread that writes it")]
// SAFETY: it stands for a `&mut [u8]`, which is `Send`.
unsafe impl Send for ObsRow {}

impl ObsRow {
    /// Where it begins; [`ObsRow::from_raw`] takes it back.
    pub(super) fn into_raw(self) -> *mut u8 {
        self.0.as_ptr()
    }

    /// A row of so many bytes that [`ObsRow::into_raw`] gave away.
    ///
    /// # Safety
    /// It was not taken back before, and had that length.
    #[expect(unsafe_code, reason = "believes the caller")]
    pub(super) unsafe fn from_raw(start: NonNull<u8>, row_bytes: usize) -> Self {
        Self(start, row_bytes)
    }

    pub(super) fn write(self, write: impl FnOnce(&mut [u8])) {
        #[expect(
            unsafe_code,
            reason = "writes where the constructor was promised it may"
        )]
        // SAFETY: as `ObsRows::row` demands.
        write(unsafe { slice::from_raw_parts_mut(self.0.as_ptr(), self.1) });
    }
}
