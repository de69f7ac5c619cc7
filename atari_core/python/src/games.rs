//! What is known of games before one is played: their actions, and what keeps them from being played here.

use std::path::PathBuf;

use atari_core::{Action, Cartridge, Simd, rl::game::PoweredOn};
use pyo3::{prelude::*, types::PyDict};

use crate::{errors::Result, recipe::recipe};

/// Says why a game by a recipe might not be what ale-py makes of it, or with two players `multi_agent_ale_py`; `None`
/// where it is proved to be.
#[pyfunction]
#[pyo3(signature = (rom, parts, num_players = 1))]
pub(crate) fn obstacle(
    rom: PathBuf,
    parts: &Bound<'_, PyDict>,
    num_players: usize,
) -> Result<Option<String>> {
    let recipe = recipe(parts)?;
    let cartridge = Cartridge::load(&rom);
    let powered_on = cartridge.and_then(|cartridge| match num_players {
        2 => PoweredOn::for_two(&cartridge, &recipe),
        _ => PoweredOn::new(&cartridge, &recipe),
    });
    Ok(powered_on.err().map(|error| error.to_string()))
}

/// The numbers of the actions that a game answers to, or with `full` of all that it takes, in ale-py's order; those of each
/// of two players.
#[pyfunction]
#[pyo3(signature = (rom, num_players = 1, *, full = false))]
pub(crate) fn actions(rom: PathBuf, num_players: usize, full: bool) -> Result<Vec<u8>> {
    let cartridge = Cartridge::load(&rom)?;
    let game = match num_players {
        2 => cartridge.game_for_two(),
        _ => cartridge.game(),
    }?;
    Ok(numbers(if full {
        game.all_actions()
    } else {
        game.actions
    }))
}

/// The vector instructions in use: `portable`, `avx2` or `avx512`.
#[pyfunction]
pub(crate) fn simd() -> String {
    Simd::detect().to_string()
}

/// ale-py's numbers of actions.
pub(crate) fn numbers(actions: &[Action]) -> Vec<u8> {
    actions.iter().map(|&action| action as u8).collect()
}
