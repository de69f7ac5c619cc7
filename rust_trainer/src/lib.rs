//! Trains reinforcement-learning agents on vectorized environments, with libtorch.
//!
//! A [`run`]'s loop is in `run/train_loop.rs`: it steps environments and lets one of the [`algorithms`]
//! learn, without knowing which. An algorithm is a file, its settings are in [`settings`]; what it uses is apart: a
//! [`policy`], a net ([`nn`]), the [`data`] of a rollout, an [`optimizer`]. Where environments come from
//! is said in [`envs`], and only there.

pub mod algorithms;
mod alike;
pub mod cli;
mod cuda;
pub mod data;
pub mod device;
pub mod distributions;
pub mod envs;
pub mod error;
mod files;
pub mod heap;
mod league;
pub mod listener;
mod memory;
pub mod nn;
pub mod normalize;
pub mod optimizer;
mod page;
mod panics;
pub mod parallel;
mod pictures;
mod play;
pub mod policy;
pub mod processor;
pub mod random;
pub mod ranks;
pub mod report;
pub mod run;
pub mod seeds;
pub mod settings;
pub mod stop;
mod tensors;
mod terminal;
mod watch;
