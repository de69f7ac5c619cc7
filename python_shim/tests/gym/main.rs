//! `VecGymEnv` beside the same environments in Python: each call gives and refuses the same.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod actions;
#[path = "../common/mod.rs"]
mod common;
mod inspect;
mod resets;
mod tensors;
mod vec_env;
