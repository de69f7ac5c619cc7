//! The Python face of a program: the same `run` as an extension module.

/// Makes the crate a Python extension module `$name` with one function,
/// `main(argv: list[str]) -> int`, which calls `$run: fn(Vec<OsString>) -> i32` without the GIL and
/// returns its exit code.
///
/// The calling crate must be a `cdylib`, name this crate `python_shim`, and be built with the feature
/// `extension-module` and `PYO3_BUILD_EXTENSION_MODULE=1` (maturin sets it).
///
/// ```
/// use std::ffi::OsString;
///
/// fn run(argv: Vec<OsString>) -> i32 {
///     argv.len() as i32
/// }
/// python_shim::extension_module!(trainer, crate::run);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! extension_module {
    ($name:ident, $run:path) => {
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
        }
    };
}
