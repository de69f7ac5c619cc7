//! Variables that are set for another Python: an embedded one must not see them.

#[cfg(not(feature = "abi3"))]
use std::env;
use std::sync::OnceLock;

/// They would give this Python the folders of another, whose packages it cannot load.
#[cfg(not(feature = "abi3"))]
const OF_ANOTHER_PYTHON: [&str; 2] = ["PYTHONHOME", "PYTHONPATH"];

static IGNORED: OnceLock<Vec<&'static str>> = OnceLock::new();

/// Those that [`remove`] found set.
pub(crate) fn ignored() -> &'static [&'static str] {
    IGNORED.get().map_or(&[], Vec::as_slice)
}

/// Removes them from this process, because the worker processes of environments inherit them.
#[cfg(not(feature = "abi3"))]
#[expect(unsafe_code, reason = "changes the environment of the process")]
pub(crate) fn remove() {
    let is_set = |name: &&str| env::var_os(name).is_some();
    let set: Vec<_> = OF_ANOTHER_PYTHON.into_iter().filter(is_set).collect();
    for name in &set {
        // SAFETY: Rust's own readers are kept away by a lock; C code that reads at this very moment finds a variable
        // or, before glibc 2.41, may miss any: none is freed.
        unsafe { env::remove_var(name) };
    }
    IGNORED.get_or_init(|| set);
}
