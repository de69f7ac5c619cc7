//! Transfers from pinned host memory to a CUDA device, on a stream of their own, beside its work.

use tch::Tensor;

use super::{CudaError, Event, Stream, ffi::copy};

/// The stream of transfers to a device.
#[derive(Clone, Copy, Debug)]
pub struct Uploader {
    device: usize,
    stream: Stream,
}

/// A place on the device, and the transfers to it.
#[derive(Debug)]
pub struct Upload {
    uploader: Uploader,
    /// What comes over, as it lies on the host.
    target: Tensor,
    /// The end of the work that reads the target.
    read: Event,
    /// The end of the newest transfer.
    done: Event,
}

impl Uploader {
    /// For the CUDA device of this index.
    ///
    /// # Errors
    /// What CUDA says.
    pub fn new(device: usize) -> Result<Self, CudaError> {
        let stream = Stream::new(device)?;
        Ok(Self { device, stream })
    }

    /// Transfers to `target`, a tensor on the device.
    ///
    /// # Errors
    /// What CUDA says.
    pub fn to(self, target: Tensor) -> Result<Upload, CudaError> {
        Ok(Upload {
            uploader: self,
            target,
            read: Event::new()?,
            done: Event::new()?,
        })
    }
}

impl Upload {
    /// Begins a transfer from `source`, pinned host memory of the target's shape; what is queued on this
    /// thread's stream so far may still read the target, and what is queued from now on finds it changed.
    ///
    /// # Errors
    /// What CUDA says.
    pub fn begin(&mut self, source: &Tensor) -> Result<&Tensor, CudaError> {
        let Uploader { device, stream } = self.uploader;
        let work = Stream::current(device)?;
        self.read.record(work)?;
        self.read.block(stream)?;
        stream.enter()?;
        let copied = copy(&mut self.target, source);
        work.enter()?;
        copied?;
        self.done.record(stream)?;
        self.done.block(work)?;
        Ok(&self.target)
    }

    /// Waits until the host's memory of the newest transfer is no longer read.
    ///
    /// # Errors
    /// What CUDA says; also what failed on the device before.
    pub fn finish(&self) -> Result<(), CudaError> {
        self.done.synchronize()
    }
}
