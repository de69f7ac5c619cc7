//! `doctor`: what this program runs on, and what is wrong with it.

use super::{EXIT_ERROR, EXIT_OK, say};

/// Prints the facts; the exit status tells whether there are problems.
pub(super) fn doctor() -> i32 {
    let facts = python_shim::doctor::facts();
    say(facts.to_string().trim_end());
    if facts.problems.is_empty() {
        say("no problem found");
        EXIT_OK
    } else {
        EXIT_ERROR
    }
}
