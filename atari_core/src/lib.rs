//! An Atari 2600 for reinforcement learning. It plays as the Arcade Learning Environment does, in every byte of RAM and
//! every pixel for the games of which `docs/results/atari_core` says so, about three to five times as fast (the same place
//! has the measurements).
//!
//! Here live the console (6507, TIA, RIOT, controllers, cartridges), the table of games, and in [`rl`] what stands
//! between a console and a batch of observations. Python, libtorch and the ROMs themselves do not.
//!
//! ```no_run
//! use atari_core::{Action, Cartridge, Console};
//! # fn main() -> Result<(), atari_core::CoreError> {
//! let cartridge = Cartridge::load("roms/breakout.bin".as_ref())?;
//! let mut console = Console::new(cartridge.clone(), cartridge.game()?)?;
//! while !console.game_over() {
//!     let reward = console.act(Action::Fire, true);
//!     let _ = (reward, console.screen());
//! }
//! # Ok(())
//! # }
//! ```

// The interpreter is one loop of small pieces, and each must be in it: see `cpu`.
#![allow(clippy::inline_always)]
// Flags are tested as what they are: `result & 0xff == 0` is Z.
#![allow(clippy::verbose_bit_mask)]

mod action;
mod cartridge;
mod console;
mod cpu;
mod error;
pub mod games;
mod input;
mod machine;
mod mapper;
mod mersenne_twister;
mod power_on;
mod riot;
pub mod rl;
mod simd;
mod start;
mod state;
mod tia;

pub use action::Action;
pub use cartridge::Cartridge;
pub use console::Console;
pub use error::CoreError;
pub use games::Game;
pub use input::Controller;
pub use mapper::Mapper;
pub use mersenne_twister::MersenneTwister;
pub use simd::Simd;
pub use start::StartDraws;
pub use tia::WIDTH;

/// The README, whose example is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
