// What tch lacks of CUDA: streams, events and graphs, and the choice of TF32. Each function returns 0, or 1
// where libtorch threw: trainer_error() then says what. Who calls them: src/cuda/ffi.rs.
//
// Streams and events go through c10's interface to any device, so that this builds with a libtorch without
// CUDA; graphs need CUDA's own headers, and WITH_CUDA_GRAPHS says that they are there.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#ifdef WITH_CUDA_GRAPHS
#include <ATen/cuda/CUDAGraph.h>
#endif

#include "guarded.h"

namespace {

constexpr auto CUDA = c10::DeviceType::CUDA;

c10::Device device_of(int index) {
  return {CUDA, static_cast<c10::DeviceIndex>(index)};
}

c10::Stream stream_of(int device, int64_t id) {
  return c10::Stream(c10::Stream::UNSAFE, device_of(device), id);
}

}  // namespace

extern "C" {

const char* trainer_error() { return error.c_str(); }

// A stream of libtorch's pool; they are never freed.
int trainer_cuda_stream_new(int device, int64_t* id) {
  return guarded([&] {
    *id = c10::impl::VirtualGuardImpl(CUDA).getStreamFromGlobalPool(device_of(device)).id();
  });
}

int trainer_cuda_stream_current(int device, int64_t* id) {
  return guarded([&] {
    *id = c10::impl::VirtualGuardImpl(CUDA).getStream(device_of(device)).id();
  });
}

// Makes a stream the one on which this thread's work runs, and its device the present one: graphs are of
// the present device's stream.
int trainer_cuda_stream_enter(int device, int64_t id) {
  return guarded([&] {
    const c10::impl::VirtualGuardImpl guard(CUDA);
    guard.setDevice(device_of(device));
    guard.exchangeStream(stream_of(device, id));
  });
}

int trainer_cuda_event_new(c10::Event** event) {
  return guarded([&] { *event = new c10::Event(CUDA); });
}

void trainer_cuda_event_free(c10::Event* event) { delete event; }

int trainer_cuda_event_record(c10::Event* event, int device, int64_t stream) {
  return guarded([&] { event->record(stream_of(device, stream)); });
}

// What is queued on the stream from now on begins after the event.
int trainer_cuda_event_block(c10::Event* event, int device, int64_t stream) {
  return guarded([&] { event->block(stream_of(device, stream)); });
}

// Waits on the host.
int trainer_cuda_event_synchronize(c10::Event* event) {
  return guarded([&] { event->synchronize(); });
}

// Copies on this thread's stream without waiting; one of the two lies in pinned memory.
int trainer_cuda_copy(const at::Tensor* to, const at::Tensor* from) {
  return guarded([&] { to->copy_(*from, /*non_blocking=*/true); });
}

// Whether products and convolutions in float32 may round their factors to 10 bits of mantissa.
int trainer_cuda_allow_tf32(bool allow) {
  return guarded([&] {
    at::globalContext().setAllowTF32CuBLAS(allow);
    at::globalContext().setAllowTF32CuDNN(allow);
  });
}

#ifdef WITH_CUDA_GRAPHS

// A wheel is built once, for libtorch with CUDA and without, where there is no device to record on either. What only
// the former has must not keep the latter from loading it.
asm(
    ".weak _ZN2at4cuda9CUDAGraphC1Eb; "
    ".weak _ZN2at4cuda9CUDAGraphD1Ev; "
    ".weak _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode; "
    ".weak _ZN2at4cuda9CUDAGraph11capture_endEv; "
    ".weak _ZN2at4cuda9CUDAGraph6replayEv; ");

int trainer_cuda_graph_new(at::cuda::CUDAGraph** graph) {
  return guarded([&] { *graph = new at::cuda::CUDAGraph(); });
}

void trainer_cuda_graph_free(at::cuda::CUDAGraph* graph) {
  guarded([&] { delete graph; });
}

// From here to the end, what this thread and its backward passes queue on its present stream, which must
// not be the default one, is taken down and not done.
int trainer_cuda_graph_begin(at::cuda::CUDAGraph* graph) {
  return guarded([&] { graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal); });
}

int trainer_cuda_graph_end(at::cuda::CUDAGraph* graph) {
  return guarded([&] { graph->capture_end(); });
}

int trainer_cuda_graph_replay(at::cuda::CUDAGraph* graph) {
  return guarded([&] { graph->replay(); });
}

#endif
}
