//! What a CUDA device can do beyond what tch knows: streams and events, and work that is recorded once and
//! replayed (CUDA graphs). Behind it `csrc/cuda.cpp`, compiled against the same libtorch.
//!
//! On the CPU work is done as it comes; on a CUDA device, too, in libtorch's plain way, where the settings forbid
//! `cuda_graphs` and `cuda_streams`.

mod ffi;
mod recording;
mod upload;

use tch::Device;

pub(crate) use ffi::{CudaError, Stream};
use ffi::{Event, Graph, allow_tf32};
pub use recording::Recording;
#[cfg(test)]
pub(crate) use recording::places;
pub(crate) use upload::Upload;

/// Whether this program was built with CUDA graphs.
pub(crate) const HAS_GRAPHS: bool = cfg!(cuda_graphs);

/// Lets this thread's work on a CUDA device compute with TF32 or without, and run on a stream of its own where it
/// `is_recorded`, which demands that. Nothing on the CPU.
pub(crate) fn prepare(device: Device, tf32: bool, is_recorded: bool) -> Result<(), CudaError> {
    if let Device::Cuda(index) = device {
        allow_tf32(tf32)?;
        if is_recorded {
            Stream::new(index)?.enter()?;
        }
    }
    Ok(())
}
