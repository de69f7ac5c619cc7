//! Variables that libraries read while they are loaded, before `main`: setting them takes a fresh start
//! of the program.
//!
//! How long an idle OpenMP thread spins before it sleeps: after each parallel operation of libtorch, GNU
//! OpenMP lets its threads spin for up to 300,000 rounds, several milliseconds, in case another follows.
//! The environments' threads need those cores then, and on a machine that does anything else besides,
//! operations wait for threads that are not scheduled. With 10,000 rounds stepping 8 environments on 4
//! cores took 0.6 of the time, and acting did not get slower (`docs/results/README.md`).
//!
//! The size of pages: libtorch gets the memory of each large result anew, and the kernel maps it page by
//! page. In pages of 2 MiB a gradient step of PPO takes nine tenths of the CPU time. Other threads than the
//! first have arenas of their own, without such pages and given back at once: 4,000 page faults a gradient
//! step.

use std::{env, os::unix::process::CommandExt, process::Command};

/// The variable of GNU OpenMP, in rounds.
pub const SPIN_COUNT: &str = "GOMP_SPINCOUNT";
const ROUNDS: &str = "10000";

/// The variable of glibc; malloc advises the kernel to use huge pages, and all threads share one arena.
const TUNABLES: &str = "GLIBC_TUNABLES";
const OF_MALLOC: &str = "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1";

/// Starts the program again, as the same process, with a short spin and huge pages, unless the
/// environment already says something about them. Does nothing where that fails: it is a matter of speed
/// alone.
pub fn prepare() {
    if !cfg!(target_os = "linux") {
        return;
    }
    if env::var_os(TUNABLES).is_some_and(|value| value == OF_MALLOC) {
        #[expect(unsafe_code, reason = "there is no safe way to forget a variable")]
        // SAFETY: called at the start of `main`, when there is no other thread.
        // Python's worker processes are small and many: with huge pages they took more memory.
        unsafe {
            env::remove_var(TUNABLES);
        }
        return;
    }
    let says_spin = env::var_os(SPIN_COUNT).is_some() || env::var_os("OMP_WAIT_POLICY").is_some();
    let says_pages = env::var_os(TUNABLES).is_some();
    if says_spin && says_pages {
        return;
    }
    if let Ok(program) = env::current_exe() {
        let mut command = Command::new(program);
        command.args(env::args_os().skip(1));
        if !says_spin {
            command.env(SPIN_COUNT, ROUNDS);
        }
        if !says_pages {
            command.env(TUNABLES, OF_MALLOC);
        }
        let _failed = command.exec();
    }
}
