//! The Python face of a program: the same `run` as an extension module.

use std::{
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::prelude::*;

/// Hears an event, as text; `false` asks for a stop.
pub type Hear = Box<dyn FnMut(&str) -> bool>;

/// Runs a program, without the GIL, whose events go to a Python callable: `hear(event: str) -> bool`. What that
/// raises asks for a stop, too, and is raised when the program has ended.
///
/// # Errors
/// What `hear` raised first.
pub fn run_heard(
    py: Python<'_>,
    argv: Vec<OsString>,
    hear: Py<PyAny>,
    run: fn(Vec<OsString>, Hear) -> i32,
) -> PyResult<i32> {
    let raised = Arc::new(Mutex::new(None));
    let note = Arc::clone(&raised);
    let call = move |event: &str| {
        let mut note = note.lock().unwrap_or_else(PoisonError::into_inner);
        if note.is_some() {
            return false; // it is asked nothing more
        }
        let answer = Python::attach(|py| hear.call1(py, (event,))?.is_truthy(py));
        answer.unwrap_or_else(|error| {
            *note = Some(error);
            false
        })
    };
    let status = py.detach(|| run(argv, Box::new(call)));
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    raised.map_or(Ok(status), Err)
}

/// Makes the crate a Python extension module `$name` with two functions, which work without the GIL and return an
/// exit code: `main(argv: list[str]) -> int` calls `$run: fn(Vec<OsString>) -> i32`, and
/// `run(argv: list[str], hear: Callable[[str], bool]) -> int` calls `$run_heard: fn(Vec<OsString>, Hear) -> i32` by
/// [`run_heard`].
///
/// The calling crate must be a `cdylib`, name this crate `python_shim`, and be built with `PYO3_BUILD_EXTENSION_MODULE=1`
/// (maturin sets it); the feature `abi3` makes one module for every Python from 3.11 on.
///
/// ```
/// use std::ffi::OsString;
///
/// fn run(argv: Vec<OsString>) -> i32 {
///     argv.len() as i32
/// }
///
/// fn run_heard(argv: Vec<OsString>, mut hear: python_shim::Hear) -> i32 {
///     i32::from(hear("it begins")) + run(argv)
/// }
/// python_shim::extension_module!(trainer, crate::run, crate::run_heard);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! extension_module {
    ($name:ident, $run:path, $run_heard:path) => {
        #[doc = "The program as a Python extension module."]
        #[::python_shim::pyo3::pymodule]
        #[pyo3(crate = "::python_shim::pyo3")]
        mod $name {
            #[::python_shim::pyo3::pyfunction]
            #[pyo3(crate = "::python_shim::pyo3")]
            fn main(
                py: $crate::pyo3::Python<'_>,
                argv: ::std::vec::Vec<::std::ffi::OsString>,
            ) -> i32 {
                py.detach(|| $run(argv))
            }

            #[::python_shim::pyo3::pyfunction]
            #[pyo3(crate = "::python_shim::pyo3")]
            fn run(
                py: $crate::pyo3::Python<'_>,
                argv: ::std::vec::Vec<::std::ffi::OsString>,
                hear: $crate::pyo3::Py<$crate::pyo3::PyAny>,
            ) -> $crate::pyo3::PyResult<i32> {
                $crate::run_heard(py, argv, hear, $run_heard)
            }
        }
    };
}
