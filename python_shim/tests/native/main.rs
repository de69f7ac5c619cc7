//! `atari_core`'s environments by themselves: batches, states, refusals; and what they share with Python: presets,
//! pixels, random numbers. That they play as the backend `sync` does is tested in Python (`tests/native`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batches;
#[path = "../common/mod.rs"]
mod common;
mod preprocessing;
mod recipes;
mod two_players;

use std::{path::PathBuf, sync::Arc};

use atari_core::Cartridge;
use python_shim::pyo3::prelude::*;

/// The ROM of a game, as ale-py ships it.
fn cartridge(game: &str) -> Arc<Cartridge> {
    common::start();
    let path: PathBuf = Python::attach(|py| {
        let roms = py.import("ale_py.roms").unwrap();
        let path = roms.call_method1("get_rom_path", (game,)).unwrap();
        path.str().unwrap().to_string().into()
    });
    Cartridge::load(&path).unwrap()
}
