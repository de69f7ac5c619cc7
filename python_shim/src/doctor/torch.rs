//! What libtorch can use: devices, and threads that do speed it up.

use std::time::Instant;

use tch::{Cuda, Device, Kind, Tensor};

/// Rows and columns: large enough for the threads to matter, small enough for tenths of a second.
const MATMUL_SIZE: i64 = 1536;

/// libtorch's devices and threads.
#[derive(Clone, Debug)]
pub struct TorchFacts {
    /// Size of the intra-operation thread pool as the program found it.
    pub num_threads: usize,
    /// Time of a large matrix product with one thread over that with one for each CPU.
    pub matmul_speedup: f64,
    /// Whether CUDA works.
    pub cuda_available: bool,
    /// Number of CUDA devices.
    pub num_cuda_devices: i64,
}

impl TorchFacts {
    /// Whether threads hardly help; generous, because the machine may be busy.
    pub(super) fn scales_badly(&self, num_cpus: usize) -> bool {
        num_cpus > 1 && self.matmul_speedup < 1.3
    }
}

/// Measures, and leaves the number of threads as it was.
pub(super) fn torch_facts(num_cpus: usize) -> TorchFacts {
    let num_threads = tch::get_num_threads();
    let matrix = Tensor::rand([MATMUL_SIZE, MATMUL_SIZE], (Kind::Float, Device::Cpu));
    let one = matmul_seconds(&matrix, 1);
    let all = matmul_seconds(&matrix, num_cpus as i32);
    tch::set_num_threads(num_threads);
    TorchFacts {
        num_threads: num_threads as usize,
        matmul_speedup: one / all,
        cuda_available: Cuda::is_available(),
        num_cuda_devices: Cuda::device_count(),
    }
}

/// The best of several, because other programs disturb.
fn matmul_seconds(matrix: &Tensor, num_threads: i32) -> f64 {
    tch::set_num_threads(num_threads);
    let seconds = (0..5).map(|_| {
        let start = Instant::now();
        let _product = matrix.matmul(matrix);
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min)
}
