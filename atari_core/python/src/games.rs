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

/// Says why a game by a recipe might not be what ale-py makes of it, or with two players `multi_agent_ale_py`; `None`
/// where it is proved to be.
#[pyfunction]
#[pyo3(signature = (rom, parts, num_players = 1))]
pub(crate) fn obstacle(
    rom: PathBuf,
    parts: &Bound<'_, PyDict>,
    num_players: usize,
) -> PyResult<Option<String>> {
    let recipe = recipe(parts)?;
    let game = cartridge(&rom).and_then(|cartridge| {
        let console = match num_players {
            2 => PoweredOn::for_two(&cartridge, &recipe),
            _ => PoweredOn::new(&cartridge, &recipe),
        };
        console.map_err(|error| core_exception(&error))
    });
    Ok(match game {
        Ok(_) => None,
        Err(error) => Some(error.value(parts.py()).to_string()),
    })
}

/// The numbers of the actions that a game answers to, or with `full` of all that it takes, in ale-py's order; those of each
/// of two players.
#[pyfunction]
#[pyo3(signature = (rom, num_players = 1, *, full = false))]
pub(crate) fn actions(rom: PathBuf, num_players: usize, full: bool) -> PyResult<Vec<u8>> {
    let cartridge = cartridge(&rom)?;
    let game = match num_players {
        2 => cartridge.game_for_two(),
        _ => cartridge.game(),
    };
    let game = game.map_err(|error| core_exception(&error))?;
    let actions = if full {
        game.all_actions()
    } else {
        game.actions
    };
    Ok(actions.iter().map(|&action| action as u8).collect())
}
