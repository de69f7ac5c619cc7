//! How long an idle OpenMP thread spins before it sleeps.
//!
//! After each parallel operation of libtorch, GNU OpenMP lets its threads spin for up to 300,000 rounds,
//! several milliseconds, in case another follows. The environments' threads need those cores then, and on
//! a machine that does anything else besides, operations wait for threads that are not scheduled. With
//! 10,000 rounds stepping 8 environments on 4 cores took 0.6 of the time, and acting did not get slower
//! (`docs/results/README.md`). The runtime reads the variable while it is loaded, before `main`; setting
//! it takes a fresh start of the program.

use std::{env, os::unix::process::CommandExt, process::Command};

/// The variable of GNU OpenMP, in rounds.
pub const SPIN_COUNT: &str = "GOMP_SPINCOUNT";
const ROUNDS: &str = "10000";

/// Starts the program again, as the same process, with a short spin, unless the environment already says
/// how long. Does nothing where that fails: it is a matter of speed alone.
pub fn limit_spinning() {
    let is_chosen = env::var_os(SPIN_COUNT).is_some() || env::var_os("OMP_WAIT_POLICY").is_some();
    if is_chosen || !cfg!(target_os = "linux") {
        return;
    }
    if let Ok(program) = env::current_exe() {
        let _failed = Command::new(program)
            .args(env::args_os().skip(1))
            .env(SPIN_COUNT, ROUNDS)
            .exec();
    }
}
