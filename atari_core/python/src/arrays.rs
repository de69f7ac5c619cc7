//! Numpy arrays: memory of a caller's as the destination of observations, and what a step brought as fresh arrays.

use std::{ptr::NonNull, sync::Arc};

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::{buffer::PyBuffer, exceptions::PyValueError, intern, prelude::*, types::PyDict};
use vec_env::{ObsSlot, StepBatch};

/// A caller's array that observations are written to. It is exported for as long as this or a slot of it lives, so
/// that its memory stays where it is.
#[derive(Clone)]
pub(crate) struct Destination(Arc<PyBuffer<u8>>);

impl Destination {
    /// # Errors
    /// A `BufferError` or `ValueError`: it is no array of bytes, read-only, or not C-contiguous.
    pub(crate) fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(array)?;
        if buffer.readonly() || !buffer.is_c_contiguous() {
            let message = "observations need an array that is writable and C-contiguous";
            return Err(PyValueError::new_err(message));
        }
        Ok(Self(Arc::new(buffer)))
    }

    /// The memory, for the emulator alone. The Python side leaves it alone until it was received; that is the contract of
    /// all backends, as of any array that C code fills while the GIL is free.
    pub(crate) fn slot(&self) -> ObsSlot {
        let start = NonNull::new(self.0.buf_ptr().cast()).unwrap_or(NonNull::dangling());
        #[expect(unsafe_code, reason = "numpy's memory as the destination")]
        // SAFETY: a buffer's bytes are numpy's, initialized as any bytes are; they stay where they are until the export is
        // released with the last clone of the owner. Who else may write to them is said above.
        unsafe {
            ObsSlot::from_raw_parts(start, self.0.len_bytes(), self.clone())
        }
    }
}

/// What a step or a reset brought.
///
/// `(reward, terminated, truncated, info, games, final)`: rewards and flags, info's arrays by name, where true games
/// ended (`None` where none did), and of episodes that ended where they did, their last observations and lives. With two
/// players rewards and returns are `[n, 2]`.
pub(crate) type Results<'py> = (
    Bound<'py, PyArrayDyn<f32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyDict>,
    Option<Bound<'py, PyArray1<bool>>>,
    Option<Finals<'py>>,
);
type Finals<'py> = (
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArrayDyn<u8>>,
    Bound<'py, PyArray1<i32>>,
);

pub(crate) fn results<'py>(
    py: Python<'py>,
    step: &StepBatch,
    obs_shape: &[usize],
) -> PyResult<Results<'py>> {
    let num_rows = step.env_ids.len();
    let info = PyDict::new(py);
    macro_rules! fields {
        ($($name:ident: $array:expr),+) => {
            $(info.set_item(intern!(py, stringify!($name)), $array)?;)+
        };
    }
    fields!(
        raw_reward: of_players(py, &step.raw_reward, num_rows)?,
        lives: PyArray1::from_slice(py, &step.lives),
        game_terminated: PyArray1::from_slice(py, &step.game_terminated),
        game_truncated: PyArray1::from_slice(py, &step.game_truncated),
        episode_return: of_players(py, &step.episode_return, num_rows)?,
        episode_length: PyArray1::from_slice(py, &step.episode_length),
        episode_frames: PyArray1::from_slice(py, &step.episode_frames)
    );
    let ids = step.env_ids.iter().map(|&index| index as i32);
    info.set_item(intern!(py, "env_id"), PyArray1::from_iter(py, ids))?;
    let games = (!step.episodes.is_empty()).then(|| {
        let has_ended = |env: &usize| step.episodes.iter().any(|episode| episode.env == *env);
        PyArray1::from_iter(py, step.env_ids.iter().map(has_ended))
    });
    let finals = (!step.final_obs.is_empty()).then(|| finals(py, step, obs_shape));
    Ok((
        of_players(py, &step.reward, num_rows)?,
        PyArray1::from_slice(py, &step.terminated),
        PyArray1::from_slice(py, &step.truncated),
        info,
        games,
        finals.transpose()?,
    ))
}

/// One value of each row, `[num_rows]`, or one for each of its two players, `[num_rows, 2]`.
fn of_players<'py, T: Element + Copy>(
    py: Python<'py>,
    values: &[T],
    num_rows: usize,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = PyArray1::from_slice(py, values);
    if values.len() == num_rows {
        return Ok(array.to_dyn().clone());
    }
    Ok(array.reshape([num_rows, 2])?.to_dyn().clone())
}

fn finals<'py>(py: Python<'py>, step: &StepBatch, obs_shape: &[usize]) -> PyResult<Finals<'py>> {
    let num_rows = step.env_ids.len();
    let mut is_final = vec![false; num_rows];
    let mut lives = vec![0; num_rows];
    let shape: Vec<usize> = [num_rows].iter().chain(obs_shape).copied().collect();
    let obs = PyArrayDyn::zeros(py, shape, false);
    {
        let mut rows = obs.readwrite();
        let rows = rows.as_slice_mut()?;
        for ((row, last), last_lives) in step.final_obs.iter().zip(&step.final_lives) {
            is_final[*row] = true;
            lives[*row] = *last_lives;
            rows[row * last.len()..][..last.len()].copy_from_slice(last);
        }
    }
    Ok((
        PyArray1::from_vec(py, is_final),
        obs,
        PyArray1::from_vec(py, lives),
    ))
}
