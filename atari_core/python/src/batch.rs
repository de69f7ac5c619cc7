//! [`AtariVecEnv`]: a batch of games.

use std::{
    num::NonZeroU64,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use atari_core::rl::{
    self, BatchOptions,
    batch::Asked,
    game::{FilmEvent, FilmedGames},
    pixels::Palette,
};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    sync::MutexExt,
    types::{PyBytes, PyBytesMethods, PyDict, PyString},
};
use vec_env::{Actions, AutoresetMode, EnvError, StepBatch, VecEnv};

use crate::{
    arrays::{Destination, Results, results},
    errors::exception,
    games::cartridge,
    recipe::recipe,
};

/// A batch of Atari games, emulated by threads of its own while the GIL is free. See `_atari_core.pyi`.
///
/// Several threads of Python may call it: each waits for the others' calls to end, with the GIL free.
#[pyclass(module = "atari_core", frozen)]
pub(crate) struct AtariVecEnv(Mutex<Batch>);

/// What the calls work on.
struct Batch {
    // Dropped first: its threads may be writing to what `obs` keeps.
    env: rl::AtariVecEnv,
    step: StepBatch,
    obs_shape: Vec<usize>,
    all: Vec<usize>,
    /// The array that the step in flight writes to, and its memory, which is let go of with the GIL in hand.
    obs: Option<(Py<PyAny>, Destination)>,
    /// Where the caller wants the next results.
    out: Option<Py<PyAny>>,
}

/// A film's events as Python has them: of a frame `(whether it is its game's first, whether the game before ended in a
/// reset, whether it has a picture)`, or whether the game was over where a step ends.
#[derive(IntoPyObject)]
pub(crate) enum Event {
    Frame((bool, bool, bool)),
    Step(bool),
}

#[pymethods]
impl AtariVecEnv {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "in Python they are keywords")]
    #[pyo3(signature = (roms, num_envs, recipe, *, num_players = 1, autoreset = "same-step", num_threads = 0, film_every = 0, film_unfinished = true))]
    fn new(
        roms: Vec<PathBuf>,
        num_envs: usize,
        recipe: &Bound<'_, PyDict>,
        num_players: usize,
        autoreset: &str,
        num_threads: usize,
        film_every: u64,
        film_unfinished: bool,
    ) -> PyResult<Self> {
        let (py, recipe) = (recipe.py(), self::recipe(recipe)?);
        let cartridges: PyResult<Vec<_>> = roms.iter().map(|rom| cartridge(rom)).collect();
        let options = BatchOptions {
            num_players,
            autoreset: match autoreset {
                "same-step" => AutoresetMode::SameStep,
                "next-step" => AutoresetMode::NextStep,
                "disabled" => AutoresetMode::Disabled,
                other => {
                    let message =
                        format!("autoreset must be same-step, next-step or disabled, not {other}");
                    return Err(PyValueError::new_err(message));
                }
            },
            num_threads,
            film: NonZeroU64::new(film_every).map(|every| FilmedGames {
                every,
                unfinished: film_unfinished,
            }),
            ..BatchOptions::new(recipe)
        };
        let cartridges = cartridges?;
        let env = py.detach(|| rl::AtariVecEnv::new(&cartridges, num_envs, &options));
        let env = env.map_err(|error| exception(&error))?;
        let batch = Batch {
            obs_shape: env.obs_spec().shape.clone(),
            all: (0..num_envs).collect(),
            env,
            step: StepBatch::default(),
            obs: None,
            out: None,
        };
        Ok(Self(Mutex::new(batch)))
    }

    #[getter]
    fn num_envs(&self, py: Python<'_>) -> usize {
        let batch = &mut *self.lock(py);
        batch.all.len()
    }

    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Option<&'py Bound<'py, PyString>> {
        Some(match self.lock(py).env.ticket().asked()? {
            Asked::Step => intern!(py, "step"),
            Asked::Reset => intern!(py, "reset"),
        })
    }

    #[getter]
    fn count(&self, py: Python<'_>) -> usize {
        self.lock(py).env.ticket().count()
    }

    #[getter]
    fn obs(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let batch = self.lock(py);
        batch.obs.as_ref().map(|(array, _)| array.clone_ref(py))
    }

    #[getter]
    fn out(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.lock(py).out.as_ref().map(|array| array.clone_ref(py))
    }

    #[setter]
    fn set_out(&self, py: Python<'_>, out: Option<Py<PyAny>>) {
        self.lock(py).out = out;
    }

    fn busy(&self, py: Python<'_>, env_ids: Vec<usize>) -> Vec<usize> {
        self.lock(py).env.busy(&env_ids)
    }

    fn begin_reset(
        &self,
        py: Python<'_>,
        env_ids: Vec<usize>,
        seeds: Vec<Option<u64>>,
        new_game: bool,
    ) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        batch
            .env
            .begin_reset(&env_ids, &seeds, new_game)
            .map_err(|error| exception(&error))
    }

    fn begin_step(
        &self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        env_ids: Vec<usize>,
    ) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        with_actions(actions, |actions| batch.env.begin_step(actions, &env_ids))
    }

    fn send(
        &self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        obs: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        let destination = Destination::new(obs)?;
        with_actions(actions, |actions| {
            let slot = destination.slot();
            batch.env.send_to(actions, Some(&batch.all), slot)
        })?;
        batch.obs = Some((obs.clone().unbind(), destination));
        Ok(())
    }

    fn recv<'py>(&self, py: Python<'py>) -> PyResult<Results<'py>> {
        let batch = &mut *self.lock(py);
        let (env, step) = (&mut batch.env, &mut batch.step);
        let received = py.detach(|| env.recv(step));
        batch.after_receiving(received)?;
        results(py, &batch.step, &batch.obs_shape)
    }

    fn offer(&self, py: Python<'_>, obs: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        let destination = Destination::new(obs)?;
        let offered = batch.env.offer(destination.slot());
        offered.map_err(|error| exception(&error))?;
        batch.obs = Some((obs.clone().unbind(), destination));
        Ok(())
    }

    fn receive(&self, py: Python<'_>, count: usize) -> PyResult<Vec<usize>> {
        let batch = &mut *self.lock(py);
        let env = &mut batch.env;
        let received = py.detach(|| env.receive(count));
        batch.after_receiving(received)
    }

    fn drain(&self, py: Python<'_>) {
        let batch = &mut *self.lock(py);
        let env = &mut batch.env;
        py.detach(|| env.drain());
        (batch.obs, batch.out) = (None, None);
    }

    #[pyo3(signature = (env_ids, obs = None, took_part = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        env_ids: Vec<usize>,
        obs: Option<&Bound<'py, PyAny>>,
        took_part: Option<Vec<bool>>,
    ) -> PyResult<Results<'py>> {
        let batch = &mut *self.lock(py);
        let mut slot = match obs {
            Some(obs) => Some(Destination::new(obs)?.slot()),
            None => None,
        };
        let (env, step) = (&mut batch.env, &mut batch.step);
        env.read(&env_ids, took_part.as_deref(), slot.as_deref_mut(), step)
            .map_err(|error| exception(&error))?;
        results(py, &batch.step, &batch.obs_shape)
    }

    fn save_states<'py>(
        &self,
        py: Python<'py>,
        env_ids: Vec<usize>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let batch = &mut *self.lock(py);
        let states = batch.env.save_states(&env_ids);
        let states = states.map_err(|error| exception(&error))?;
        Ok(states.iter().map(|state| PyBytes::new(py, state)).collect())
    }

    fn restore_states(
        &self,
        py: Python<'_>,
        env_ids: Vec<usize>,
        states: Vec<Bound<'_, PyBytes>>,
    ) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        let states: Vec<&[u8]> = states.iter().map(PyBytesMethods::as_bytes).collect();
        batch
            .env
            .restore_states(&env_ids, &states)
            .map_err(|error| exception(&error))
    }

    fn actions(&self, py: Python<'_>, index: usize) -> PyResult<Vec<u8>> {
        let batch = &mut *self.lock(py);
        let actions = batch.look(index)?.actions();
        Ok(actions.iter().map(|&action| action as u8).collect())
    }

    fn rgb<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let batch = &mut *self.lock(py);
        let env = batch.drawn(index)?;
        let size = [env.console().height(), atari_core::WIDTH, 3];
        PyArray1::from_vec(py, env.render()).reshape(size)
    }

    fn screen<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let batch = &mut *self.lock(py);
        let env = batch.drawn(index)?;
        let size = [env.console().height(), atari_core::WIDTH];
        PyArray1::from_slice(py, env.console().screen()).reshape(size)
    }

    fn rgb_palette<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let batch = &mut *self.lock(py);
        let palette = Palette::of(batch.look(index)?.console().game());
        let colour = |entry| palette.rgb.each_ref().map(|part| part.at(entry)).to_vec();
        let entries: Vec<Vec<u8>> = (0..=255).map(colour).collect();
        Ok(PyArray2::from_vec2(py, &entries)?)
    }

    fn gray_palette<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let batch = &mut *self.lock(py);
        let gray = Palette::of(batch.look(index)?.console().game()).gray;
        Ok(PyArray1::from_iter(
            py,
            (0..=255).map(|entry| gray.at(entry)),
        ))
    }

    fn ram<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let batch = &mut *self.lock(py);
        Ok(PyArray1::from_slice(py, batch.look(index)?.console().ram()))
    }

    fn set_ram(&self, py: Python<'_>, index: usize, address: u8, value: u8) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        batch.drawn(index)?.set_ram(address, value);
        Ok(())
    }

    fn lives(&self, py: Python<'_>, index: usize) -> PyResult<i32> {
        let batch = &mut *self.lock(py);
        Ok(batch.look(index)?.lives())
    }

    fn game_over(&self, py: Python<'_>, index: usize) -> PyResult<bool> {
        let batch = &mut *self.lock(py);
        Ok(batch.look(index)?.console().game_over())
    }

    fn is_in_play(&self, py: Python<'_>, index: usize) -> PyResult<bool> {
        let batch = &mut *self.lock(py);
        Ok(batch.look(index)?.is_in_play())
    }

    fn frame_number(&self, py: Python<'_>, index: usize) -> PyResult<i64> {
        let batch = &mut *self.lock(py);
        Ok(batch.look(index)?.frame_number())
    }

    fn take_film<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<(Vec<Event>, Bound<'py, PyArray3<u8>>)> {
        let batch = &mut *self.lock(py);
        let env = batch.look(index)?;
        let (height, film) = (env.console().height(), env.take_film());
        let events = film.events.iter().map(|event| match *event {
            FilmEvent::Frame {
                is_first,
                ended_in_reset,
                is_filmed,
            } => Event::Frame((is_first, ended_in_reset, is_filmed)),
            FilmEvent::Step { game_over } => Event::Step(game_over),
        });
        let count = film.pictures.len() / (height * atari_core::WIDTH);
        let pictures = PyArray1::from_vec(py, film.pictures);
        let pictures = pictures.reshape([count, height, atari_core::WIDTH])?;
        Ok((events.collect(), pictures))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let batch = &mut *self.lock(py);
        let env = &mut batch.env;
        let closed = py.detach(|| env.close());
        batch.after_receiving(closed)
    }
}

impl AtariVecEnv {
    /// The batch, once no other thread is in a call of it.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Batch> {
        // What a panic has left in between, the core hands out to nobody.
        self.0
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    /// Lets go of where results went, once they are there.
    fn after_receiving<T>(&mut self, received: Result<T, EnvError>) -> PyResult<T> {
        if !self.env.ticket().has_slot() {
            (self.obs, self.out) = (None, None);
        }
        received.map_err(|error| exception(&error))
    }

    /// An environment that is not in flight, its last frame drawn.
    fn drawn(&mut self, index: usize) -> PyResult<&mut rl::AtariEnv> {
        let env = self.look(index)?;
        env.draw_last();
        Ok(env)
    }

    /// An environment that is not in flight.
    fn look(&mut self, index: usize) -> PyResult<&mut rl::AtariEnv> {
        self.env.env(index).map_err(|error| exception(&error))
    }
}

/// Hands actions on: int64 `[n]`, with two players `[n, 2]`, or float32 `[n, 3]`, C-contiguous.
fn with_actions(
    actions: &Bound<'_, PyAny>,
    call: impl FnOnce(Actions<'_>) -> Result<(), EnvError>,
) -> PyResult<()> {
    let done = if let Ok(actions) = actions.extract::<PyReadonlyArrayDyn<'_, i64>>() {
        call(Actions::Discrete(actions.as_slice()?))
    } else if let Ok(actions) = actions.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        call(Actions::Continuous(actions.as_slice()?))
    } else {
        let message = "actions must be an array of int64, or of float32 with continuous actions";
        return Err(PyTypeError::new_err(message));
    };
    done.map_err(|error| exception(&error))
}
