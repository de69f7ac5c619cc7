//! `csrc/cuda.cpp` in safe Rust: streams, events and graphs of CUDA. What fails gives what libtorch or CUDA says.

#![expect(unsafe_code, reason = "foreign functions")]

use std::{
    ffi::{c_int, c_void},
    ptr::{self, NonNull},
};

use tch::Tensor;

use crate::{error::TrainerError, tensors::torch_error};

/// What libtorch or CUDA says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CudaError(pub String);

impl From<CudaError> for TrainerError {
    fn from(error: CudaError) -> Self {
        Self::libtorch(&error.0)
    }
}

#[repr(C)]
struct RawEvent {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn trainer_cuda_stream_new(device: c_int, id: *mut i64) -> c_int;
    fn trainer_cuda_stream_current(device: c_int, id: *mut i64) -> c_int;
    fn trainer_cuda_stream_enter(device: c_int, id: i64) -> c_int;
    fn trainer_cuda_event_new(event: *mut *mut RawEvent) -> c_int;
    fn trainer_cuda_event_free(event: *mut RawEvent);
    fn trainer_cuda_event_record(event: *mut RawEvent, device: c_int, stream: i64) -> c_int;
    fn trainer_cuda_event_block(event: *mut RawEvent, device: c_int, stream: i64) -> c_int;
    fn trainer_cuda_event_synchronize(event: *mut RawEvent) -> c_int;
    fn trainer_cuda_copy(to: *const c_void, from: *const c_void) -> c_int;
    fn trainer_cuda_allow_tf32(allow: bool) -> c_int;
}

/// The result of a call that returned `status`.
fn check(status: c_int) -> Result<(), CudaError> {
    if status == 0 {
        return Ok(());
    }
    let text = torch_error();
    // What follows in the next lines is advice on environment variables.
    let first = text.lines().next().unwrap_or_default();
    Err(CudaError(first.to_owned()))
}

/// Whether products and convolutions in float32 on a CUDA device may round their factors to 10 bits of
/// mantissa (`TensorFloat32`).
pub fn allow_tf32(allow: bool) -> Result<(), CudaError> {
    // SAFETY: sets flags of libtorch's.
    check(unsafe { trainer_cuda_allow_tf32(allow) })
}

/// Copies on this thread's stream from or to pinned memory, without waiting for it.
pub(super) fn copy(to: &mut Tensor, from: &Tensor) -> Result<(), CudaError> {
    // SAFETY: both are tensors of libtorch's, which is what tch's pointers point to.
    check(unsafe { trainer_cuda_copy(to.as_ptr().cast(), from.as_ptr().cast()) })
}

/// A queue of work of a CUDA device. libtorch has 32 of them for each device, used in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    device: c_int,
    id: i64,
}

impl Stream {
    pub fn new(device: usize) -> Result<Self, CudaError> {
        let (device, mut id) = (device as c_int, 0);
        // SAFETY: `id` is a valid place.
        check(unsafe { trainer_cuda_stream_new(device, &raw mut id) })?;
        Ok(Self { device, id })
    }

    /// The one of the same device on which this thread's work runs.
    pub fn current(self) -> Result<Self, CudaError> {
        let mut id = 0;
        // SAFETY: `id` is a valid place.
        check(unsafe { trainer_cuda_stream_current(self.device, &raw mut id) })?;
        Ok(Self { id, ..self })
    }

    /// Lets this thread's work run on it from now on.
    pub fn enter(self) -> Result<(), CudaError> {
        // SAFETY: the stream was given by libtorch.
        check(unsafe { trainer_cuda_stream_enter(self.device, self.id) })
    }
}

/// A point in the work of a stream; it is over as long as it is nowhere recorded.
#[derive(Debug)]
pub struct Event(NonNull<RawEvent>);

// SAFETY: events may be recorded and waited for in any thread; this one is in one at a time.
unsafe impl Send for Event {}

impl Event {
    pub fn new() -> Result<Self, CudaError> {
        let mut event = ptr::null_mut();
        // SAFETY: `event` is a valid place.
        check(unsafe { trainer_cuda_event_new(&raw mut event) })?;
        let event = NonNull::new(event).ok_or_else(|| CudaError("no event".to_owned()))?;
        Ok(Self(event))
    }

    /// Marks the end of what is queued on `stream` now.
    pub fn record(&mut self, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: the event lives until it is dropped.
        check(unsafe { trainer_cuda_event_record(self.0.as_ptr(), stream.device, stream.id) })
    }

    /// Lets what is queued on `stream` from now on begin after it.
    pub fn block(&self, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: as above.
        check(unsafe { trainer_cuda_event_block(self.0.as_ptr(), stream.device, stream.id) })
    }

    /// Waits for it; says also what failed on the device before.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: as above.
        check(unsafe { trainer_cuda_event_synchronize(self.0.as_ptr()) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `trainer_cuda_event_new`, and nobody has it afterwards.
        unsafe { trainer_cuda_event_free(self.0.as_ptr()) }
    }
}

#[cfg(cuda_graphs)]
mod graph {
    use std::mem::ManuallyDrop;

    use super::{CudaError, NonNull, c_int, check, ptr};
    use crate::panics::catch_panics;

    #[repr(C)]
    struct RawGraph {
        _private: [u8; 0],
    }

    unsafe extern "C" {
        fn trainer_cuda_graph_new(graph: *mut *mut RawGraph) -> c_int;
        fn trainer_cuda_graph_free(graph: *mut RawGraph);
        fn trainer_cuda_graph_begin(graph: *mut RawGraph) -> c_int;
        fn trainer_cuda_graph_end(graph: *mut RawGraph) -> c_int;
        fn trainer_cuda_graph_replay(graph: *mut RawGraph) -> c_int;
    }

    /// Work of a stream, taken down once and done any number of times.
    #[derive(Debug)]
    pub struct Graph(NonNull<RawGraph>);

    // SAFETY: used in one thread at a time, and CUDA's graphs belong to none.
    unsafe impl Send for Graph {}

    impl Graph {
        /// Takes down what `work` queues on this thread's stream, which must not be the default one; nothing
        /// of it is done. The memory of tensors made in it stays theirs as long as the graph lives. Work that
        /// cannot be taken down, such as a transfer to the host, is an error.
        pub fn record<Made>(work: impl FnOnce() -> Made) -> Result<(Self, Made), CudaError> {
            let mut graph = ptr::null_mut();
            // SAFETY: `graph` is a valid place.
            check(unsafe { trainer_cuda_graph_new(&raw mut graph) })?;
            let graph = NonNull::new(graph).ok_or_else(|| CudaError("no graph".to_owned()))?;
            // From its begin to an end that succeeds libtorch's allocators hold its address: a graph whose recording fails
            // is never freed.
            let graph = ManuallyDrop::new(Self(graph));
            // SAFETY: the graph lives until it is dropped, here and below.
            check(unsafe { trainer_cuda_graph_begin(graph.0.as_ptr()) })?;
            let made = catch_panics(|| Ok(work()));
            // SAFETY: as above; a recording that failed is ended all the same.
            let ended = check(unsafe { trainer_cuda_graph_end(graph.0.as_ptr()) });
            let made = made.map_err(|error| CudaError(error.to_string()));
            if let Err(problem) = ended {
                return Err(made.err().unwrap_or(problem));
            }
            let graph = ManuallyDrop::into_inner(graph);
            Ok((graph, made?))
        }

        /// Queues the work on this thread's stream.
        pub fn replay(&mut self) -> Result<(), CudaError> {
            // SAFETY: as above.
            check(unsafe { trainer_cuda_graph_replay(self.0.as_ptr()) })
        }
    }

    impl Drop for Graph {
        fn drop(&mut self) {
            // SAFETY: made by `trainer_cuda_graph_new`, and nobody has it afterwards.
            unsafe { trainer_cuda_graph_free(self.0.as_ptr()) }
        }
    }
}

#[cfg(not(cuda_graphs))]
mod graph {
    use super::CudaError;

    /// What a build without CUDA's headers has in the place of graphs: none can be made.
    #[derive(Debug)]
    pub enum Graph {}

    impl Graph {
        /// Says why there are none.
        pub fn record<Made>(_work: impl FnOnce() -> Made) -> Result<(Self, Made), CudaError> {
            let problem = "this program was built without CUDA's headers (nvidia-cuda-crt)";
            Err(CudaError(problem.to_owned()))
        }

        pub fn replay(&mut self) -> Result<(), CudaError> {
            match *self {}
        }
    }
}

pub use graph::Graph;

#[cfg(test)]
mod tests {
    use super::*;

    /// With a GPU or without: there are not so many devices, and graphs are not of the default stream.
    #[test]
    fn what_fails_is_an_error_of_one_line() {
        let missing = Stream { device: 99, id: 0 };
        let problems = [
            Stream::new(99).unwrap_err(),
            missing.current().unwrap_err(),
            Graph::record(|| ()).map(|_| ()).unwrap_err(),
        ];
        for CudaError(problem) in problems {
            assert!(problem.len() > 10, "{problem}");
            assert!(!problem.contains('\n'), "{problem}");
        }
    }

    #[test]
    fn tf32_is_a_choice_of_libtorchs() {
        for allowed in [true, false] {
            allow_tf32(allowed).unwrap();
        }
    }
}
