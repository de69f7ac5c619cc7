//! [`AtariVecEnv`]: a batch of games.

use std::{num::NonZeroU64, path::PathBuf};

use atari_core::{
    Cartridge, WIDTH,
    rl::{
        self, AtariEnv, BatchOptions,
        batch::Asked,
        game::{FilmEvent, FilmedGames},
        pixels::Palette,
    },
};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::{
    exceptions::PyValueError,
    intern,
    prelude::*,
    types::{PyBytes, PyBytesMethods, PyDict, PyString},
};
use vec_env::{EnvError, ObsSlot, StepBatch, VecEnv};
use vec_env_python::{Destination, OfProcess, with_actions};

use crate::{
    arrays::{Results, results},
    errors::Result,
    games::numbers,
    recipe::recipe,
};

/// A batch of Atari games, emulated by threads of its own while the GIL is free. See `_atari_core.pyi`.
///
/// Several threads of Python may call it: each waits for the others' calls to end, with the GIL free.
#[pyclass(module = "atari_core", frozen)]
pub(crate) struct AtariVecEnv(OfProcess<Batch>);

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
    ) -> Result<Self> {
        let (py, recipe) = (recipe.py(), self::recipe(recipe)?);
        let cartridges = roms.iter().map(|rom| Cartridge::load(rom));
        let cartridges = cartridges.collect::<std::result::Result<Vec<_>, _>>()?;
        let options = BatchOptions {
            num_players,
            autoreset: autoreset.parse()?,
            num_threads,
            film: NonZeroU64::new(film_every).map(|every| FilmedGames {
                every,
                unfinished: film_unfinished,
            }),
            ..BatchOptions::new(recipe)
        };
        let env = py.detach(|| rl::AtariVecEnv::new(&cartridges, num_envs, &options))?;
        let batch = Batch {
            obs_shape: env.obs_spec().shape.clone(),
            all: (0..num_envs).collect(),
            env,
            step: StepBatch::default(),
            obs: None,
            out: None,
        };
        let has_threads = batch.env.has_threads();
        Ok(Self(OfProcess::new(batch, has_threads)))
    }

    #[getter]
    fn num_envs(&self, py: Python<'_>) -> Result<usize> {
        Ok(self.0.lock(py)?.all.len())
    }

    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Result<Option<&'py Bound<'py, PyString>>> {
        let asked = self.0.lock(py)?.env.ticket().asked();
        Ok(asked.map(|asked| match asked {
            Asked::Step => intern!(py, "step"),
            Asked::Reset => intern!(py, "reset"),
        }))
    }

    #[getter]
    fn count(&self, py: Python<'_>) -> Result<usize> {
        Ok(self.0.lock(py)?.env.ticket().count())
    }

    #[getter]
    fn obs(&self, py: Python<'_>) -> Result<Option<Py<PyAny>>> {
        let batch = self.0.lock(py)?;
        Ok(batch.obs.as_ref().map(|(array, _)| array.clone_ref(py)))
    }

    #[getter]
    fn out(&self, py: Python<'_>) -> Result<Option<Py<PyAny>>> {
        let batch = self.0.lock(py)?;
        Ok(batch.out.as_ref().map(|array| array.clone_ref(py)))
    }

    #[setter]
    fn set_out(&self, py: Python<'_>, out: Option<Py<PyAny>>) -> Result<()> {
        self.0.lock(py)?.out = out;
        Ok(())
    }

    fn busy(&self, py: Python<'_>, env_ids: Vec<usize>) -> Result<Vec<usize>> {
        Ok(self.0.lock(py)?.env.busy(&env_ids))
    }

    fn begin_reset(
        &self,
        py: Python<'_>,
        env_ids: Vec<usize>,
        seeds: Vec<Option<u64>>,
        new_game: bool,
    ) -> Result<()> {
        let env = &mut self.0.lock(py)?.env;
        Ok(env.begin_reset(&env_ids, &seeds, new_game)?)
    }

    fn begin_step(
        &self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        env_ids: Vec<usize>,
    ) -> Result<()> {
        let env = &mut self.0.lock(py)?.env;
        with_actions(actions, |actions| env.begin_step(actions, &env_ids, None))?;
        Ok(())
    }

    fn send(
        &self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        obs: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let batch = &mut *self.0.lock(py)?;
        let (destination, slot) = lend(obs)?;
        with_actions(actions, |actions| {
            batch.env.begin_step(actions, &batch.all, Some(slot))
        })?;
        batch.obs = Some((obs.clone().unbind(), destination));
        Ok(())
    }

    fn recv<'py>(&self, py: Python<'py>) -> Result<Results<'py>> {
        let batch = &mut *self.0.lock(py)?;
        let (env, step) = (&mut batch.env, &mut batch.step);
        let received = py.detach(|| env.recv(step));
        batch.after_receiving(received)?;
        Ok(results(py, &batch.step, &batch.obs_shape)?)
    }

    fn offer(&self, py: Python<'_>, obs: &Bound<'_, PyAny>) -> Result<()> {
        let batch = &mut *self.0.lock(py)?;
        let (destination, slot) = lend(obs)?;
        batch.env.offer(slot)?;
        batch.obs = Some((obs.clone().unbind(), destination));
        Ok(())
    }

    fn receive(&self, py: Python<'_>, count: usize) -> Result<Vec<usize>> {
        let batch = &mut *self.0.lock(py)?;
        let env = &mut batch.env;
        let received = py.detach(|| env.receive(count));
        batch.after_receiving(received)
    }

    fn drain(&self, py: Python<'_>) -> Result<()> {
        let batch = &mut *self.0.lock(py)?;
        let env = &mut batch.env;
        py.detach(|| env.drain());
        (batch.obs, batch.out) = (None, None);
        Ok(())
    }

    #[pyo3(signature = (env_ids, obs = None, took_part = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        env_ids: Vec<usize>,
        obs: Option<&Bound<'py, PyAny>>,
        took_part: Option<Vec<bool>>,
    ) -> Result<Results<'py>> {
        let batch = &mut *self.0.lock(py)?;
        let mut lent = obs.map(lend).transpose()?;
        let obs = lent.as_mut().map(|(_, slot)| &mut **slot);
        let (env, step) = (&mut batch.env, &mut batch.step);
        env.read(&env_ids, took_part.as_deref(), obs, step)?;
        Ok(results(py, &batch.step, &batch.obs_shape)?)
    }

    fn save_states<'py>(
        &self,
        py: Python<'py>,
        env_ids: Vec<usize>,
    ) -> Result<Vec<Bound<'py, PyBytes>>> {
        let states = self.0.lock(py)?.env.save_states(&env_ids)?;
        Ok(states.iter().map(|state| PyBytes::new(py, state)).collect())
    }

    fn restore_states(
        &self,
        py: Python<'_>,
        env_ids: Vec<usize>,
        states: Vec<Bound<'_, PyBytes>>,
    ) -> Result<()> {
        let states: Vec<&[u8]> = states.iter().map(PyBytesMethods::as_bytes).collect();
        Ok(self.0.lock(py)?.env.restore_states(&env_ids, &states)?)
    }

    fn actions(&self, py: Python<'_>, index: usize) -> Result<Vec<u8>> {
        self.look(py, index, |env| numbers(env.actions()))
    }

    fn rgb<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyArray3<u8>>> {
        let rgb = self.look(py, index, AtariEnv::render)?;
        let size = [rgb.len() / (3 * WIDTH), WIDTH, 3];
        Ok(PyArray1::from_vec(py, rgb).reshape(size)?)
    }

    fn screen<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyArray2<u8>>> {
        let screen = self.look(py, index, |env| {
            env.draw_last();
            PyArray1::from_slice(py, env.console().screen())
        })?;
        Ok(screen.reshape([screen.len()? / WIDTH, WIDTH])?)
    }

    fn rgb_palette<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyArray2<u8>>> {
        let rgb = self.palette(py, index)?.rgb;
        let colour = |entry| rgb.each_ref().map(|part| part.at(entry)).to_vec();
        let entries: Vec<Vec<u8>> = (0..=255).map(colour).collect();
        Ok(PyArray2::from_vec2(py, &entries).map_err(PyErr::from)?)
    }

    fn gray_palette<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyArray1<u8>>> {
        let gray = self.palette(py, index)?.gray;
        let entries = (0..=255).map(|entry| gray.at(entry));
        Ok(PyArray1::from_iter(py, entries))
    }

    fn ram<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyArray1<u8>>> {
        let copy = |env: &mut AtariEnv| PyArray1::from_slice(py, env.console().ram());
        self.look(py, index, copy)
    }

    fn set_ram(&self, py: Python<'_>, index: usize, address: i64, value: i64) -> Result<()> {
        // The console has no more, and takes the address modulo 128.
        let address = byte("addresses are", address, 0x7f)?;
        let value = byte("a value is", value, 0xff)?;
        self.look(py, index, |env| {
            env.draw_last();
            env.set_ram(address, value);
        })
    }

    fn lives(&self, py: Python<'_>, index: usize) -> Result<i32> {
        self.look(py, index, |env| env.lives())
    }

    fn game_over(&self, py: Python<'_>, index: usize) -> Result<bool> {
        self.look(py, index, |env| env.console().game_over())
    }

    fn is_in_play(&self, py: Python<'_>, index: usize) -> Result<bool> {
        self.look(py, index, |env| env.is_in_play())
    }

    fn frame_number(&self, py: Python<'_>, index: usize) -> Result<i64> {
        self.look(py, index, |env| env.frame_number())
    }

    fn take_film<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> Result<(Vec<Event>, Bound<'py, PyArray3<u8>>)> {
        let (height, film) =
            self.look(py, index, |env| (env.console().height(), env.take_film()))?;
        let events = film.events.iter().map(|event| match *event {
            FilmEvent::Frame {
                is_first,
                ended_in_reset,
                is_filmed,
            } => Event::Frame((is_first, ended_in_reset, is_filmed)),
            FilmEvent::Step { game_over } => Event::Step(game_over),
        });
        let size = [film.pictures.len() / (height * WIDTH), height, WIDTH];
        let pictures = PyArray1::from_vec(py, film.pictures).reshape(size)?;
        Ok((events.collect(), pictures))
    }

    fn close(&self, py: Python<'_>) -> Result<()> {
        let batch = &mut *self.0.lock(py)?;
        let env = &mut batch.env;
        let closed = py.detach(|| env.close());
        batch.after_receiving(closed)
    }
}

impl AtariVecEnv {
    /// Looks at an environment that is not in flight.
    fn look<T>(
        &self,
        py: Python<'_>,
        index: usize,
        look: impl FnOnce(&mut AtariEnv) -> T,
    ) -> Result<T> {
        Ok(look(self.0.lock(py)?.env.env(index)?))
    }

    fn palette(&self, py: Python<'_>, index: usize) -> Result<Palette> {
        self.look(py, index, |env| Palette::of(env.console().game()))
    }
}

/// A caller's array for observations, and its memory for the batch.
fn lend(array: &Bound<'_, PyAny>) -> Result<(Destination, ObsSlot)> {
    let destination = Destination::new(array)?;
    #[expect(unsafe_code, reason = "numpy's memory as the destination")]
    // SAFETY: it is the only slot of the array, which callers leave alone until it was received, as `_atari_core.pyi` says.
    let slot = unsafe { destination.slot() };
    Ok((destination, slot))
}

impl Batch {
    /// Lets go of where results went, once they are there.
    fn after_receiving<T>(&mut self, received: std::result::Result<T, EnvError>) -> Result<T> {
        if !self.env.ticket().has_slot() {
            (self.obs, self.out) = (None, None);
        }
        Ok(received?)
    }
}

/// What `set_ram` was given, if it is at `most` that.
fn byte(what: &str, given: i64, most: u8) -> PyResult<u8> {
    let byte = u8::try_from(given).ok().filter(|byte| *byte <= most);
    byte.ok_or_else(|| PyValueError::new_err(format!("set_ram: {what} 0 to {most}, not {given}")))
}
