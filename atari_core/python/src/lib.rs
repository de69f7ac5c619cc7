//! The Python module `atari_core`: batches of Atari games that are emulated while the GIL is free, and whose
//! observations are written once, in the memory of numpy arrays.
//!
//! A thin layer over the crate of the same name. Gymnasium's words, checks of what users say and recordings are the
//! matter of `atari_wrappers`, whose backend `native` this is.

// pyo3 hands over what it has extracted.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod batch;
mod errors;
mod games;
mod recipe;

#[pyo3::pymodule]
mod _atari_core {
    #[pymodule_export]
    use super::batch::AtariVecEnv;
    #[pymodule_export]
    use super::games::{actions, obstacle, simd};
}
