//! `atari_core`'s environments against those of `atari_wrappers` on the backend `sync`, which is proved against ALE,
//! gymnasium, stable-baselines3 and EnvPool: the same recipe, seeds and actions give the same observations, rewards,
//! flags, records and last observations, with all randomness on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batches;
#[path = "../common/mod.rs"]
mod common;
mod pair;
mod preprocessing;
mod recipes;
mod two_players;
