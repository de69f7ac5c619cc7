//! What a step brought, as fresh numpy arrays.

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::{intern, prelude::*, types::PyDict};
use vec_env::StepBatch;

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
