//! [`OfProcess`]: what has threads, which a fork of its process has not.

use std::{
    mem, process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::{exceptions::PyRuntimeError, prelude::*, sync::MutexExt};

/// A batch of environments for the calls of Python's threads, one after another, in the process that has its threads.
pub struct OfProcess<T> {
    // Nobody ends threads that another process has: there it is never dropped.
    batch: Arc<Mutex<T>>,
    /// None where there are no threads, so that any process does.
    process: Option<u32>,
}

impl<T> OfProcess<T> {
    /// Of this process, if it has threads.
    pub fn new(batch: T, has_threads: bool) -> Self {
        Self {
            batch: Arc::new(Mutex::new(batch)),
            process: has_threads.then(process::id),
        }
    }

    /// The batch, once no other thread is in a call of it, for which the GIL is free.
    ///
    /// # Errors
    /// A `RuntimeError` in another process, which would wait for ever.
    pub fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, T>> {
        if self.is_elsewhere() {
            let message = "the environments were made in another process, which has their threads";
            return Err(PyRuntimeError::new_err(message));
        }
        // What a panic has left in between, batches hand out to nobody.
        let locked = self.batch.lock_py_attached(py);
        Ok(locked.unwrap_or_else(PoisonError::into_inner))
    }

    fn is_elsewhere(&self) -> bool {
        self.process.is_some_and(|own| own != process::id())
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.is_elsewhere() {
            mem::forget(Arc::clone(&self.batch));
        }
    }
}
