//! What a CUDA device can do beyond what tch knows: streams and events, and work that is recorded once and
//! replayed (CUDA graphs). Behind it `csrc/cuda.cpp`, compiled against the same libtorch.
//!
//! Elsewhere all of this is in the way of nothing: on the CPU work is done as it comes.

mod ffi;
mod recording;
mod upload;

use tch::Device;

pub use ffi::{CudaError, Event, Graph, HAS_GRAPHS, Stream, allow_tf32};
#[cfg(test)]
pub(crate) use recording::Places;
pub use recording::{Recorder, Recording, Tape};
pub use upload::{Upload, Uploader};

/// Lets the work of this thread on a CUDA device run on a stream of its own, as recording demands, with TF32
/// or without. Nothing on the CPU.
///
/// # Errors
/// What CUDA says.
pub fn prepare(device: Device, tf32: bool) -> Result<(), CudaError> {
    if let Device::Cuda(index) = device {
        allow_tf32(tf32)?;
        Stream::new(index)?.enter()?;
    }
    Ok(())
}
