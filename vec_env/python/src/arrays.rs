//! Numpy arrays: memory of a caller's as the destination of observations, and actions.

use std::{ptr::NonNull, sync::Arc};

use numpy::PyReadonlyArrayDyn;
use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use vec_env::{Actions, EnvError, ObsSlot};

use crate::errors::exception;

/// A caller's array that observations are written to. It is exported for as long as this or a slot of it lives, so
/// that its memory stays where it is.
#[derive(Clone)]
pub struct Destination(Arc<PyBuffer<u8>>);

impl Destination {
    /// # Errors
    /// A `BufferError` or `ValueError`: it is no array of bytes, read-only, or not C-contiguous.
    pub fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(array)?;
        if buffer.readonly() || !buffer.is_c_contiguous() {
            let message = "observations need an array that is writable and C-contiguous";
            return Err(PyValueError::new_err(message));
        }
        Ok(Self(Arc::new(buffer)))
    }

    /// The memory, for the batch alone. The Python side leaves it alone until it was received; that is the contract of
    /// all batches, as of any array that C code fills while the GIL is free.
    #[must_use]
    pub fn slot(&self) -> ObsSlot {
        let start = NonNull::new(self.0.buf_ptr().cast()).unwrap_or(NonNull::dangling());
        #[expect(unsafe_code, reason = "numpy's memory as the destination")]
        // SAFETY: a buffer's bytes are numpy's, initialized as any bytes are; they stay where they are until the export is
        // released with the last clone of the owner. Who else may write to them is said above.
        unsafe {
            ObsSlot::from_raw_parts(start, self.0.len_bytes(), self.clone())
        }
    }
}

/// Hands actions on: an array of int64 or of float32, C-contiguous.
///
/// # Errors
/// A `TypeError` for any other array, those of `call` as [`exception`] says.
pub fn with_actions(
    actions: &Bound<'_, PyAny>,
    call: impl FnOnce(Actions<'_>) -> Result<(), EnvError>,
) -> PyResult<()> {
    let called = if let Ok(actions) = actions.extract::<PyReadonlyArrayDyn<'_, i64>>() {
        call(Actions::Discrete(actions.as_slice()?))
    } else if let Ok(actions) = actions.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        call(Actions::Continuous(actions.as_slice()?))
    } else {
        let message = "actions must be an array of int64, or of float32 with continuous actions";
        return Err(PyTypeError::new_err(message));
    };
    called.map_err(|error| exception(&error))
}
