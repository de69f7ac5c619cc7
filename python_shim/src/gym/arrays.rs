//! Numbers on their way between numpy arrays and Rust memory.
//!
//! Arrays are reached by the buffer protocol, which the stable ABI has since Python 3.11. Whatever an
//! environment returns is checked before it is read.

use std::slice;

use pyo3::{
    buffer::{Element, PyBuffer, PyUntypedBuffer},
    intern,
    prelude::*,
};
use vec_env::{ActionSpace, Actions, EnvError};

use crate::error::CallError;

/// The numpy array that carries actions to Python: int64, or float32 for real ones.
pub(super) struct ActionArray {
    array: Py<PyAny>,
    buffer: PyUntypedBuffer,
}

impl ActionArray {
    /// For `num_envs` environments: `[num_envs]`, or with an axis for each of an action's own.
    pub fn new(py: Python<'_>, num_envs: usize, space: &ActionSpace) -> PyResult<Self> {
        let zeros = py
            .import(intern!(py, "numpy"))?
            .getattr(intern!(py, "zeros"))?;
        let array = match space {
            ActionSpace::Discrete { .. } => zeros.call1((num_envs, "int64"))?,
            ActionSpace::MultiDiscrete { nvec } => {
                zeros.call1(((num_envs, nvec.len()), "int64"))?
            }
            ActionSpace::Box { shape, .. } => {
                let shape = [&[num_envs], shape.as_slice()].concat();
                zeros.call1((shape, "float32"))?
            }
        };
        Ok(Self {
            buffer: PyUntypedBuffer::get(&array)?,
            array: array.unbind(),
        })
    }

    pub fn array<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.array.bind(py)
    }

    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.buffer.item_count()
    }

    /// `actions` must have [`ActionArray::len`] numbers of the space's kind.
    pub fn write(&self, _py: Python<'_>, actions: Actions<'_>) {
        match actions {
            Actions::Discrete(values) => self.write_items(values),
            Actions::Continuous(values) => self.write_items(values),
        }
    }

    #[expect(unsafe_code, reason = "writes through the pointer of a Python buffer")]
    fn write_items<T: Copy>(&self, values: &[T]) {
        assert_eq!(size_of_val(values), self.buffer.len_bytes(), "actions");
        let target = self.buffer.buf_ptr().cast::<T>();
        // SAFETY: numpy.zeros made the array writable, contiguous and aligned for its items, which are
        // as many bytes as `values`; the attached GIL keeps Python code from reading it meanwhile.
        unsafe { slice::from_raw_parts_mut(target, values.len()).copy_from_slice(values) };
    }
}

/// The bytes of an array that was found contiguous; needs no GIL.
#[expect(unsafe_code, reason = "reads through the pointer of a Python buffer")]
pub(super) fn bytes(buffer: &PyUntypedBuffer) -> &[u8] {
    // SAFETY: callers found the buffer contiguous; it keeps its array alive; the environment does not
    // write to an array that it has returned before the next call.
    unsafe { slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) }
}

/// Reads arrays with one entry, or one for each player, for each environment.
pub(super) struct Fields<'a> {
    pub id: &'a str,
    pub num_rows: usize,
    pub num_players: usize,
}

impl Fields<'_> {
    /// One number a row.
    pub fn numbers<T: Element + Default>(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        out: &mut Vec<T>,
    ) -> Result<(), CallError> {
        self.read(name, array, &[self.num_rows], out)
    }

    /// One number for each player in each row.
    pub fn per_player<T: Element + Default>(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        out: &mut Vec<T>,
    ) -> Result<(), CallError> {
        let shape = [self.num_rows, self.num_players];
        self.read(
            name,
            array,
            &shape[..=usize::from(self.num_players > 1)],
            out,
        )
    }

    fn read<T: Element + Default>(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        shape: &[usize],
        out: &mut Vec<T>,
    ) -> Result<(), CallError> {
        let buffer = PyBuffer::<T>::get(array)
            .map_err(|error| broken(self.id, &format!("`{name}`: {error}")))?;
        self.check_shape(name, &buffer, shape)?;
        out.resize(buffer.item_count(), T::default());
        Ok(buffer.copy_to_slice(array.py(), out)?)
    }

    /// One bool a row.
    pub fn flags(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        out: &mut Vec<bool>,
    ) -> Result<(), CallError> {
        let buffer = PyUntypedBuffer::get(array)?;
        self.check_shape(name, &buffer, &[self.num_rows])?;
        if buffer.format() != c"?" || !buffer.is_c_contiguous() {
            let problem = format!("`{name}` is not a contiguous array of bool");
            return Err(broken(self.id, &problem));
        }
        out.clear();
        out.extend(bytes(&buffer).iter().map(|&byte| byte != 0));
        Ok(())
    }

    fn check_shape(
        &self,
        name: &str,
        buffer: &PyUntypedBuffer,
        expected: &[usize],
    ) -> Result<(), CallError> {
        if buffer.shape() == expected {
            return Ok(());
        }
        let problem = format!("`{name}` has shape {:?}, not {expected:?}", buffer.shape());
        Err(broken(self.id, &problem))
    }
}

/// The error for what an environment returned and should not have.
pub(super) fn broken(env: &str, problem: &str) -> CallError {
    EnvError::Unsupported(format!("`{env}`: {problem}")).into()
}
