//! What is known of games before one is played: their actions, and what keeps them from being played here.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use atari_core::{Cartridge, rl::game::PoweredOn};
use pyo3::{prelude::*, types::PyDict};

use crate::{errors::core_exception, recipe::recipe};

pub(crate) fn cartridge(rom: &Path) -> PyResult<Arc<Cartridge>> {
    Cartridge::load(rom).map_err(|error| core_exception(&error))
}

/// Says why a game by a recipe might not be what ale-py makes of it; `None` where it is proved to be.
#[pyfunction]
pub(crate) fn obstacle(rom: PathBuf, parts: &Bound<'_, PyDict>) -> PyResult<Option<String>> {
    let recipe = recipe(parts)?;
    let game = cartridge(&rom).and_then(|cartridge| {
        let console = PoweredOn::new(&cartridge, &recipe);
        console.map_err(|error| core_exception(&error))
    });
    Ok(match game {
        Ok(_) => None,
        Err(error) => Some(error.value(parts.py()).to_string()),
    })
}

/// The numbers of the actions that a game answers to, in ale-py's order.
#[pyfunction]
pub(crate) fn actions(rom: PathBuf) -> PyResult<Vec<u8>> {
    let cartridge = cartridge(&rom)?;
    let game = cartridge.game().map_err(|error| core_exception(&error))?;
    Ok(game.actions.iter().map(|&action| action as u8).collect())
}
