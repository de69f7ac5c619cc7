//! Flat observations against PyTorch: Gaussian policies with normalization, deterministic ones, several agents.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod deterministic;
mod gaussian;
mod maddpg;
#[path = "../support/mod.rs"]
mod support;
