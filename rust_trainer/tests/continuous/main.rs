//! Continuous actions against PyTorch: Gaussian policies with normalization, and deterministic ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod deterministic;
mod gaussian;
#[path = "../support/mod.rs"]
mod support;
