//! [`ObsSlot`]: where a step's observations are to be written, and [`ObsBuffer`], the simplest owner of one.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes that a step's observations are written to. Whoever holds the slot is the only one who can
/// reach them; dropping it gives them back to their owner.
pub struct ObsSlot {
    start: NonNull<u8>,
    len: usize,
    /// Keeps the bytes alive, and hears by its drop that they are given back.
    _owner: Box<dyn Send + Sync>,
}

impl ObsSlot {
    /// A slot of `len` bytes at `start`.
    ///
    /// # Safety
    /// The bytes are initialized, stay valid until `owner` is dropped, and nobody else reads or writes
    /// them before that.
    #[must_use]
    #[expect(
        unsafe_code,
        reason = "vouches for memory of any kind, such as a tensor's"
    )]
    pub unsafe fn from_raw_parts(
        start: NonNull<u8>,
        len: usize,
        owner: impl Send + Sync + 'static,
    ) -> Self {
        Self {
            start,
            len,
            _owner: Box::new(owner),
        }
    }

    /// How many bytes there are. Unlike `len`, it makes no reference to them: others may be writing to rows that were lent.
    #[must_use]
    pub fn num_bytes(&self) -> usize {
        self.len
    }
}

#[expect(unsafe_code, reason = "a slot owns its bytes as a Vec does")]
// SAFETY: the slot alone reaches its bytes, and its owner may be dropped in any thread.
unsafe impl Send for ObsSlot {}

#[expect(unsafe_code, reason = "a slot owns its bytes as a Vec does")]
// SAFETY: a shared slot only reads its bytes.
unsafe impl Sync for ObsSlot {}

impl Deref for ObsSlot {
    type Target = [u8];

    #[expect(
        unsafe_code,
        reason = "reads the bytes that the constructor vouched for"
    )]
    fn deref(&self) -> &[u8] {
        // SAFETY: as `from_raw_parts` demands; `&self` keeps this slot from writing meanwhile.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for ObsSlot {
    #[expect(
        unsafe_code,
        reason = "writes the bytes that the constructor vouched for"
    )]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as `from_raw_parts` demands; `&mut self` keeps every other access away.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl fmt::Debug for ObsSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ObsSlot({} bytes)", self.len)
    }
}

/// Memory for the observations of one batch, whose slot may be taken again and again.
#[derive(Clone, Debug, Default)]
pub struct ObsBuffer(Arc<Mutex<Vec<u8>>>);

impl ObsBuffer {
    /// Zeros, `len` of them.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![0; len])))
    }

    /// All bytes, to be written to; the buffer is empty until the slot is dropped.
    #[must_use]
    #[expect(unsafe_code, reason = "moves a Vec's memory into the slot")]
    pub fn slot(&self) -> ObsSlot {
        let mut bytes = self.take();
        let (start, len) = (NonNull::from(bytes.as_mut_slice()).cast(), bytes.len());
        let owner = GiveBack {
            bytes,
            buffer: self.clone(),
        };
        // SAFETY: the bytes are the Vec's, whose memory does not move with it; `owner` alone has it,
        // and reads nothing before it is dropped.
        unsafe { ObsSlot::from_raw_parts(start, len, owner) }
    }

    /// Takes the bytes out, none while a slot has them.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Puts the bytes back into their buffer when a slot is dropped.
struct GiveBack {
    bytes: Vec<u8>,
    buffer: ObsBuffer,
}

impl Drop for GiveBack {
    fn drop(&mut self) {
        // A slot that was taken while another had the bytes has none to give back.
        if !self.bytes.is_empty() {
            let mut buffer = self.buffer.0.lock().unwrap_or_else(PoisonError::into_inner);
            *buffer = std::mem::take(&mut self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ObsBuffer;

    #[test]
    fn a_second_slot_is_empty_and_does_not_lose_the_bytes_of_the_first() {
        let buffer = ObsBuffer::new(2);
        let (mut first, second) = (buffer.slot(), buffer.slot());
        assert!(second.is_empty());
        assert_eq!([first.num_bytes(), second.num_bytes()], [2, 0]);
        first.copy_from_slice(&[3, 4]);
        drop(first);
        drop(second);
        assert_eq!(buffer.take(), [3, 4]);
    }
}
