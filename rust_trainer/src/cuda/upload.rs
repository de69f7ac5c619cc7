//! Transfers from pinned host memory to a CUDA device, on a stream of their own, beside its work.

use tch::Tensor;

use super::{CudaError, Event, Stream, ffi::copy};

/// A place on the device, and the transfers to it.
#[derive(Debug)]
pub struct Upload {
    stream: Stream,
    /// What comes over, as it lies on the host.
    target: Tensor,
    /// The end of the work that reads the target.
    read: Event,
    /// The end of the newest transfer.
    done: Event,
}

impl Upload {
    /// Transfers on `stream` to `target`, a tensor on its device.
    pub fn new(stream: Stream, target: Tensor) -> Result<Self, CudaError> {
        Ok(Self {
            stream,
            target,
            read: Event::new()?,
            done: Event::new()?,
        })
    }

    /// Begins a transfer from `source`, pinned host memory of the target's shape; what is queued on this
    /// thread's stream so far may still read the target, and what is queued from now on finds it changed.
    pub fn begin(&mut self, source: &Tensor) -> Result<&Tensor, CudaError> {
        let work = self.stream.current()?;
        self.read.record(work)?;
        self.read.block(self.stream)?;
        self.stream.enter()?;
        let copied = copy(&mut self.target, source);
        work.enter()?;
        copied?;
        self.done.record(self.stream)?;
        self.done.block(work)?;
        Ok(&self.target)
    }

    /// Waits until the host's memory of the newest transfer is no longer read; says also what failed on the device
    /// before.
    pub fn finish(&self) -> Result<(), CudaError> {
        self.done.synchronize()
    }
}
