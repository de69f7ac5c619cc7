//! [`AtariRequest`]: what an id and settings ask for, decided by `atari_wrappers`, for whoever plays the game without it.

use std::path::PathBuf;

use pyo3::{intern, prelude::*};
use vec_env::EnvError;

use crate::{
    error::CallError,
    interpreter,
    value::{self, MakeOptions, Value},
};

/// An Atari game and its recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct AtariRequest {
    /// The ROM: in the folder that `ALE_ROMS_DIR` names, else as ale-py ships it.
    pub rom: PathBuf,
    /// Every part of the recipe with its value, what presets and the id say included.
    pub recipe: Vec<(String, Value)>,
}

impl AtariRequest {
    /// What `make_vec` would make of an id and settings; `None` where that is no Atari game. Python is asked this once,
    /// and nothing is made.
    ///
    /// # Errors
    /// [`EnvError::Backend`] when Python, a package or the ROM is missing, and for an id or a setting that
    /// `atari_wrappers` refuses.
    pub fn resolve(env_id: &str, options: &MakeOptions) -> Result<Option<Self>, EnvError> {
        interpreter::start()?;
        Ok(Python::attach(|py| Self::ask(py, env_id, options))?)
    }

    fn ask(py: Python<'_>, env_id: &str, options: &MakeOptions) -> Result<Option<Self>, CallError> {
        let package = interpreter::atari_wrappers(py)?;
        let kwargs = value::to_dict(py, options.settings())?;
        let settings = package
            .getattr(intern!(py, "Settings"))?
            .call((), Some(&kwargs))?;
        let requests = py.import(intern!(py, "atari_wrappers.request"))?;
        let request = requests.call_method1(intern!(py, "request_env"), (env_id, settings))?;
        let recipe = request.getattr(intern!(py, "recipe"))?;
        if recipe.is_none() {
            return Ok(None);
        }
        let dataclasses = py.import(intern!(py, "dataclasses"))?;
        let parts = dataclasses.call_method1(intern!(py, "asdict"), (recipe,))?;
        let Value::Map(recipe) = value::from_python(&parts)? else {
            return Ok(None); // `asdict` returns a dict of plain values
        };
        let game = request
            .getattr(intern!(py, "env_id"))?
            .getattr(intern!(py, "rom"))?;
        let ids = py.import(intern!(py, "atari_wrappers.ids"))?;
        let rom = ids.call_method1(intern!(py, "rom_path"), (game,))?;
        let rom = rom.extract()?;
        Ok(Some(Self { rom, recipe }))
    }
}
