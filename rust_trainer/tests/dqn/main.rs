//! DQN and everything that was added to it: against PyTorch, and learning.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod learning;
mod record;
#[path = "../support/mod.rs"]
mod support;
mod updates;
