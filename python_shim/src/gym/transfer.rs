//! Numbers on their way between numpy arrays and Rust memory.
//!
//! Arrays are reached by the buffer protocol, which the stable ABI has since Python 3.11. Whatever an
//! environment returns is checked before it is read.

use std::slice;

use pyo3::{
    buffer::{Element, PyBuffer, PyUntypedBuffer},
    intern,
    prelude::*,
    types::PyDict,
};
use tch::Kind;

use super::spaces::Spaces;
use crate::{EnvError, Episode, StepBatch};

/// The int64 array that carries every step's actions to Python.
pub(super) struct ActionArray {
    array: Py<PyAny>,
    buffer: PyBuffer<i64>,
}

impl ActionArray {
    pub fn new(py: Python<'_>, num_envs: usize) -> PyResult<Self> {
        let array = py
            .import(intern!(py, "numpy"))?
            .call_method1(intern!(py, "zeros"), (num_envs, "int64"))?;
        Ok(Self {
            buffer: PyBuffer::get(&array)?,
            array: array.unbind(),
        })
    }

    pub fn array<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.array.bind(py)
    }

    /// `actions` must have one entry for each environment.
    #[expect(unsafe_code, reason = "writes through the pointer of a Python buffer")]
    pub fn write(&self, _py: Python<'_>, actions: &[i64]) {
        debug_assert_eq!(actions.len(), self.buffer.item_count());
        let target = self.buffer.buf_ptr().cast::<i64>();
        // SAFETY: numpy.zeros made the array writable, contiguous and aligned, with as many int64 as
        // there are environments; the attached GIL keeps Python code from reading it meanwhile.
        unsafe {
            slice::from_raw_parts_mut(target, self.buffer.item_count()).copy_from_slice(actions);
        };
    }
}

/// Borrows a batch of observations, after checking its size and type.
pub(super) fn observations(
    id: &str,
    spaces: &Spaces,
    obs: &Bound<'_, PyAny>,
) -> Result<PyUntypedBuffer, EnvError> {
    let buffer = PyUntypedBuffer::get(obs)?;
    let format_fits = match spaces.obs.kind {
        Kind::Uint8 => buffer.as_typed::<u8>().is_ok(),
        _ => buffer.as_typed::<f32>().is_ok(),
    };
    let shape_fits = buffer
        .shape()
        .iter()
        .map(|&size| size as i64)
        .eq(spaces.batch_shape.iter().copied());
    if format_fits && shape_fits && buffer.is_c_contiguous() {
        return Ok(buffer);
    }
    Err(broken(
        id,
        format!(
            "observations are {:?} of shape {:?}, not C-contiguous {:?} of shape {:?}",
            buffer.format(),
            buffer.shape(),
            spaces.obs.kind,
            spaces.batch_shape,
        ),
    ))
}

/// Copies a batch of observations; needs no GIL.
///
/// # Panics
/// If `obs` has another length than the buffer, which callers check before a step.
#[expect(unsafe_code, reason = "reads through the pointer of a Python buffer")]
pub(super) fn copy(buffer: &PyUntypedBuffer, obs: &mut [u8]) {
    // SAFETY: `observations` found the buffer contiguous; it keeps its array alive; the environment
    // never writes to an array that it has returned.
    let source =
        unsafe { slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) };
    obs.copy_from_slice(source);
}

/// Fills `batch` from the tuple `(obs, reward, terminated, truncated, info)` and borrows `obs`.
pub(super) fn step(
    id: &str,
    spaces: &Spaces,
    result: &Bound<'_, PyAny>,
    batch: &mut StepBatch,
) -> Result<PyUntypedBuffer, EnvError> {
    let (obs, reward, terminated, truncated, info) = result.extract::<(
        Bound<'_, PyAny>,
        Bound<'_, PyAny>,
        Bound<'_, PyAny>,
        Bound<'_, PyAny>,
        Bound<'_, PyDict>,
    )>()?;
    let py = result.py();
    let buffer = observations(id, spaces, &obs)?;
    let fields = Fields {
        id,
        num_envs: spaces.num_envs,
    };
    fields.numbers("reward", &reward, &mut batch.reward)?;
    fields.flags("terminated", &terminated, &mut batch.terminated)?;
    fields.flags("truncated", &truncated, &mut batch.truncated)?;
    fields.numbers(
        "raw_reward",
        &fields.get(&info, intern!(py, "raw_reward"))?,
        &mut batch.raw_reward,
    )?;
    fields.numbers(
        "lives",
        &fields.get(&info, intern!(py, "lives"))?,
        &mut batch.lives,
    )?;
    batch.episodes.clear();
    if let Some(ended) = info.get_item(intern!(py, "_episode"))? {
        fields.episodes(
            &ended,
            &fields.get(&info, intern!(py, "episode"))?,
            &mut batch.episodes,
        )?;
    }
    batch.final_obs.clear();
    if batch.truncated.contains(&true) {
        let last = observations(id, spaces, &fields.get(&info, intern!(py, "final_obs"))?)?;
        final_observations(&last, spaces.obs.num_bytes(), batch);
    }
    Ok(buffer)
}

/// Copies the rows of the environments whose episodes were cut.
#[expect(unsafe_code, reason = "reads through the pointer of a Python buffer")]
fn final_observations(buffer: &PyUntypedBuffer, row_bytes: usize, batch: &mut StepBatch) {
    // SAFETY: `observations` found the buffer contiguous; it keeps its array alive; the environment
    // never writes to an array that it has returned.
    let bytes = unsafe { slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes()) };
    for env in (0..batch.truncated.len()).filter(|&env| batch.truncated[env]) {
        batch
            .final_obs
            .push((env, bytes[env * row_bytes..][..row_bytes].to_vec()));
    }
}

/// Reads arrays with one entry for each environment.
struct Fields<'a> {
    id: &'a str,
    num_envs: usize,
}

impl Fields<'_> {
    fn get<'py>(
        &self,
        dict: &Bound<'py, PyDict>,
        key: &Bound<'py, pyo3::types::PyString>,
    ) -> Result<Bound<'py, PyAny>, EnvError> {
        dict.get_item(key)?
            .ok_or_else(|| broken(self.id, format!("the step's info has no {key:?}")))
    }

    fn numbers<T: Element + Default>(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        out: &mut Vec<T>,
    ) -> Result<(), EnvError> {
        let buffer = PyBuffer::<T>::get(array)
            .map_err(|error| broken(self.id, format!("`{name}`: {error}")))?;
        self.check_count(name, &buffer)?;
        out.resize(self.num_envs, T::default());
        Ok(buffer.copy_to_slice(array.py(), out)?)
    }

    #[expect(unsafe_code, reason = "reads through the pointer of a Python buffer")]
    fn flags(
        &self,
        name: &str,
        array: &Bound<'_, PyAny>,
        out: &mut Vec<bool>,
    ) -> Result<(), EnvError> {
        let buffer = PyUntypedBuffer::get(array)?;
        self.check_count(name, &buffer)?;
        if buffer.format() != c"?" || !buffer.is_c_contiguous() {
            return Err(broken(
                self.id,
                format!("`{name}` is not a contiguous array of bool"),
            ));
        }
        // SAFETY: the format says one byte for each item; the GIL is attached, so nobody writes.
        let bytes = unsafe { slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), self.num_envs) };
        out.clear();
        out.extend(bytes.iter().map(|&byte| byte != 0));
        Ok(())
    }

    fn episodes(
        &self,
        ended: &Bound<'_, PyAny>,
        episode: &Bound<'_, PyAny>,
        out: &mut Vec<Episode>,
    ) -> Result<(), EnvError> {
        let py = ended.py();
        let (mut mask, mut raw_return, mut length, mut frames) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.flags("_episode", ended, &mut mask)?;
        self.numbers(
            "episode.r",
            &episode.get_item(intern!(py, "r"))?,
            &mut raw_return,
        )?;
        self.numbers(
            "episode.l",
            &episode.get_item(intern!(py, "l"))?,
            &mut length,
        )?;
        self.numbers(
            "episode.frames",
            &episode.get_item(intern!(py, "frames"))?,
            &mut frames,
        )?;
        out.extend(
            (0..self.num_envs)
                .filter(|&env| mask[env])
                .map(|env| Episode {
                    env,
                    raw_return: raw_return[env],
                    length: length[env],
                    frames: frames[env],
                }),
        );
        Ok(())
    }

    fn check_count(&self, name: &str, buffer: &PyUntypedBuffer) -> Result<(), EnvError> {
        if buffer.shape() == [self.num_envs] {
            return Ok(());
        }
        Err(broken(
            self.id,
            format!(
                "`{name}` has shape {:?} for {} environments",
                buffer.shape(),
                self.num_envs
            ),
        ))
    }
}

fn broken(env: &str, what: String) -> EnvError {
    EnvError::Unsupported {
        env: env.to_owned(),
        what,
    }
}
