//! What a CUDA device can do beyond what tch knows: streams and events, and work that is recorded once and
//! replayed (CUDA graphs). Behind it `csrc/cuda.cpp`, compiled against the same libtorch.
//!
//! On the CPU work is done as it comes; on a CUDA device, too, in libtorch's plain way, where the settings forbid
//! `cuda_graphs` and `cuda_streams`.

mod ffi;
mod recording;
mod upload;

use tch::Device;

pub(crate) use ffi::{CudaError, Stream, allow_tf32};
use ffi::{Event, Graph};
pub use recording::Recording;
#[cfg(test)]
pub(crate) use recording::places;
pub(crate) use upload::Upload;

/// Whether this program was built with CUDA graphs.
pub(crate) const HAS_GRAPHS: bool = cfg!(cuda_graphs);

/// Lets this thread's work on a CUDA device run on a stream of its own, which what is recorded demands. Nothing on the
/// CPU.
pub(crate) fn enter_stream(device: Device) -> Result<(), CudaError> {
    match device {
        Device::Cuda(index) => Stream::new(index)?.enter(),
        _ => Ok(()),
    }
}
