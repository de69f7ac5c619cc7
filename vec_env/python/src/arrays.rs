//! What crosses to Python and back: spaces, pictures, actions, and memory of a caller's as the destination of observations.

use std::{ptr::NonNull, sync::Arc};

use numpy::{IntoPyArray, PyArray3, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use vec_env::{ActionSpace, Actions, Dtype, EnvError, ObsSlot, ObsSpec, Picture};

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

    /// The memory, for the batch alone.
    ///
    /// # Safety
    /// There is one slot of the array at a time, and the Python side leaves the array alone until it was received; that is
    /// the contract of all batches, as of any array that C code fills while the GIL is free.
    #[must_use]
    #[expect(unsafe_code, reason = "numpy's memory as the destination")]
    pub unsafe fn slot(&self) -> ObsSlot {
        let start = NonNull::new(self.0.buf_ptr().cast()).unwrap_or(NonNull::dangling());
        // SAFETY: a buffer's bytes are numpy's, initialized as any bytes are; they stay where they are until the export is
        // released with the last clone of the owner. Nobody else reaches them: as this function's.
        unsafe { ObsSlot::from_raw_parts(start, self.0.len_bytes(), self.clone()) }
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
    // `as_slice` alone takes an array in Fortran's order, too: the actions would be others.
    let called = if let Ok(actions) = actions.extract::<PyReadonlyArrayDyn<'_, i64>>()
        && actions.is_c_contiguous()
    {
        call(Actions::Discrete(actions.as_slice()?))
    } else if let Ok(actions) = actions.extract::<PyReadonlyArrayDyn<'_, f32>>()
        && actions.is_c_contiguous()
    {
        call(Actions::Continuous(actions.as_slice()?))
    } else {
        let message = "actions must be an array of int64, or of float32 with continuous actions, and \
                       C-contiguous";
        return Err(PyTypeError::new_err(message));
    };
    called.map_err(|error| exception(&error))
}

/// What is observed, within bounds if they are known, and the actions: a dict of plain values.
pub(crate) fn describe_spaces<'py>(
    py: Python<'py>,
    obs_spec: &ObsSpec,
    bounds: Option<[Vec<f32>; 2]>,
    action_space: &ActionSpace,
) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(py);
    let dtype = match obs_spec.dtype {
        Dtype::Uint8 => "uint8",
        Dtype::Float32 => "float32",
    };
    about.set_item("obs_shape", &obs_spec.shape)?;
    about.set_item("obs_dtype", dtype)?;
    about.set_item("obs_bounds", bounds.map(Vec::from))?;
    match action_space {
        ActionSpace::Discrete { n } => about.set_item("discrete", n)?,
        ActionSpace::MultiDiscrete { nvec } => about.set_item("multi_discrete", nvec)?,
        ActionSpace::Box { shape, low, high } => about.set_item("box", (shape, low, high))?,
    }
    Ok(about)
}

/// A picture as numpy has them: uint8 `[height, width, 3]`.
pub(crate) fn picture_array(py: Python<'_>, picture: Picture) -> PyResult<Bound<'_, PyArray3<u8>>> {
    let shape = [picture.height, picture.width, 3];
    picture.rgb.into_pyarray(py).reshape(shape)
}
