//! `doctor`: what this program runs on, and what is wrong with it.

use super::output::{EXIT_ERROR, EXIT_OK, say};
use crate::cuda::HAS_GRAPHS;

/// Prints the facts; the exit status tells whether there are problems.
pub(super) fn doctor() -> i32 {
    let facts = python_shim::doctor::facts();
    say(format_args!(
        "{:<24}{}",
        "rust_trainer",
        build_commit::VERSION
    ));
    say(facts.to_string().trim_end());
    say(format_args!(
        "CUDA graphs: {}",
        if HAS_GRAPHS {
            "built in"
        } else {
            "not built in: CUDA's headers were not there (nvidia-cuda-crt)"
        }
    ));
    if facts.problems.is_empty() {
        say("no problem found");
        EXIT_OK
    } else {
        EXIT_ERROR
    }
}
