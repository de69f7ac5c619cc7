//! [`AtariVecEnv`]: a batch of games.

use std::{num::NonZeroU64, path::PathBuf};

use atari_core::rl::{
    self, BatchOptions,
    game::{FilmEvent, FilmedGames},
    pixels::Palette,
};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::{
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyBytesMethods, PyDict},
};
use vec_env::{Actions, AutoresetMode, EnvError, StepBatch, VecEnv};

use crate::{
    arrays::{Destination, Results, results},
    errors::exception,
    games::cartridge,
    recipe::recipe,
};

/// A batch of Atari games, emulated by threads of its own while the GIL is free. See `_atari_core.pyi`.
#[pyclass(module = "atari_core")]
pub(crate) struct AtariVecEnv {
    // Dropped first: its threads may be writing to what `destination` keeps.
    env: rl::AtariVecEnv,
    step: StepBatch,
    obs_shape: Vec<usize>,
    all: Vec<usize>,
    is_open: bool,
    /// Where a whole step in flight writes to; held here as well, so that it is let go of with the GIL in hand.
    destination: Option<Destination>,
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
        Ok(Self {
            obs_shape: env.obs_spec().shape.clone(),
            all: (0..num_envs).collect(),
            env,
            step: StepBatch::default(),
            is_open: true,
            destination: None,
        })
    }

    #[getter]
    fn num_envs(&self) -> usize {
        self.all.len()
    }

    fn begin_reset(
        &mut self,
        env_ids: Vec<usize>,
        seeds: Vec<Option<u64>>,
        new_game: bool,
    ) -> PyResult<()> {
        self.env
            .begin_reset(&env_ids, &seeds, new_game)
            .map_err(|error| exception(&error))
    }

    fn begin_step(&mut self, actions: &Bound<'_, PyAny>, env_ids: Vec<usize>) -> PyResult<()> {
        with_actions(actions, |actions| self.env.begin_step(actions, &env_ids))
    }

    fn send(&mut self, actions: &Bound<'_, PyAny>, obs: &Bound<'_, PyAny>) -> PyResult<()> {
        let destination = Destination::new(obs)?;
        with_actions(actions, |actions| {
            let slot = destination.slot();
            self.env.send_to(actions, Some(&self.all), slot)
        })?;
        self.destination = Some(destination);
        Ok(())
    }

    fn recv<'py>(&mut self, py: Python<'py>) -> PyResult<Results<'py>> {
        let (env, step) = (&mut self.env, &mut self.step);
        let received = py.detach(|| env.recv(step));
        self.destination = None;
        received.map_err(|error| exception(&error))?;
        results(py, &self.step, &self.obs_shape)
    }

    fn offer(&mut self, obs: &Bound<'_, PyAny>) -> PyResult<()> {
        let destination = Destination::new(obs)?;
        let offered = self.env.offer(destination.slot());
        offered.map_err(|error| exception(&error))?;
        self.destination = Some(destination);
        Ok(())
    }

    fn receive(&mut self, py: Python<'_>, count: usize) -> PyResult<Vec<usize>> {
        let env = &mut self.env;
        let received = py.detach(|| env.receive(count));
        let received = received.map_err(|error| exception(&error))?;
        self.destination = None;
        Ok(received)
    }

    #[pyo3(signature = (env_ids, obs = None, took_part = None))]
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        env_ids: Vec<usize>,
        obs: Option<&Bound<'py, PyAny>>,
        took_part: Option<Vec<bool>>,
    ) -> PyResult<Results<'py>> {
        let mut slot = match obs {
            Some(obs) => Some(Destination::new(obs)?.slot()),
            None => None,
        };
        let (env, step) = (&mut self.env, &mut self.step);
        env.read(&env_ids, took_part.as_deref(), slot.as_deref_mut(), step)
            .map_err(|error| exception(&error))?;
        results(py, &self.step, &self.obs_shape)
    }

    fn save_states<'py>(
        &mut self,
        py: Python<'py>,
        env_ids: Vec<usize>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        for &index in &env_ids {
            self.drawn(index)?; // a state has the picture
        }
        let states = self.env.save_states(&env_ids);
        let states = states.map_err(|error| exception(&error))?;
        Ok(states.iter().map(|state| PyBytes::new(py, state)).collect())
    }

    fn restore_states(
        &mut self,
        env_ids: Vec<usize>,
        states: Vec<Bound<'_, PyBytes>>,
    ) -> PyResult<()> {
        let states: Vec<&[u8]> = states.iter().map(PyBytesMethods::as_bytes).collect();
        self.env
            .restore_states(&env_ids, &states)
            .map_err(|error| exception(&error))
    }

    fn actions(&mut self, index: usize) -> PyResult<Vec<u8>> {
        let actions = self.look(index)?.actions();
        Ok(actions.iter().map(|&action| action as u8).collect())
    }

    fn rgb<'py>(&mut self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let env = self.drawn(index)?;
        let size = [env.console().height(), atari_core::WIDTH, 3];
        PyArray1::from_vec(py, env.render()).reshape(size)
    }

    fn screen<'py>(&mut self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let env = self.drawn(index)?;
        let size = [env.console().height(), atari_core::WIDTH];
        PyArray1::from_slice(py, env.console().screen()).reshape(size)
    }

    fn rgb_palette<'py>(
        &mut self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let palette = Palette::of(self.look(index)?.console().game());
        let colour = |entry| palette.rgb.each_ref().map(|part| part.at(entry)).to_vec();
        let entries: Vec<Vec<u8>> = (0..=255).map(colour).collect();
        Ok(PyArray2::from_vec2(py, &entries)?)
    }

    fn gray_palette<'py>(
        &mut self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let gray = Palette::of(self.look(index)?.console().game()).gray;
        Ok(PyArray1::from_iter(
            py,
            (0..=255).map(|entry| gray.at(entry)),
        ))
    }

    fn ram<'py>(&mut self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        Ok(PyArray1::from_slice(py, self.look(index)?.console().ram()))
    }

    fn set_ram(&mut self, index: usize, address: u8, value: u8) -> PyResult<()> {
        self.drawn(index)?.set_ram(address, value);
        Ok(())
    }

    fn lives(&mut self, index: usize) -> PyResult<i32> {
        Ok(self.look(index)?.lives())
    }

    fn game_over(&mut self, index: usize) -> PyResult<bool> {
        Ok(self.look(index)?.console().game_over())
    }

    fn is_in_play(&mut self, index: usize) -> PyResult<bool> {
        Ok(self.look(index)?.is_in_play())
    }

    fn frame_number(&mut self, index: usize) -> PyResult<i64> {
        Ok(self.look(index)?.frame_number())
    }

    fn take_film<'py>(
        &mut self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<(Vec<Event>, Bound<'py, PyArray3<u8>>)> {
        let env = self.look(index)?;
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

    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let env = &mut self.env;
        let closed = py.detach(|| env.close());
        self.destination = None;
        self.is_open = false;
        closed.map_err(|error| exception(&error))
    }
}

impl AtariVecEnv {
    /// An environment that is not in flight, its last frame drawn.
    fn drawn(&mut self, index: usize) -> PyResult<&mut rl::AtariEnv> {
        let env = self.look(index)?;
        env.draw_last();
        Ok(env)
    }

    /// An environment that is not in flight.
    fn look(&mut self, index: usize) -> PyResult<&mut rl::AtariEnv> {
        let num_envs = self.num_envs();
        if index >= num_envs {
            return Err(exception(&EnvError::NoSuchEnv { index, num_envs }));
        }
        if !self.is_open {
            return Err(exception(&EnvError::Closed));
        }
        self.env.env_mut(index).ok_or_else(|| {
            let message = format!("environment {index} is in flight: call recv or receive first");
            PyRuntimeError::new_err(message)
        })
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
