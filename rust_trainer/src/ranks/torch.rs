//! `torch.distributed` as the engine: gloo on the CPU, NCCL between GPUs.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use python_shim::distributed::ProcessGroup;
use tch::{Cuda, Device, Tensor};
use vec_env::EnvError;

use super::Engine;

/// A process group of torch's.
#[derive(Debug)]
pub struct TorchDistributed {
    group: ProcessGroup,
    rank: usize,
    /// What lies on GPUs goes by way of the host's memory, and gloo.
    by_host: AtomicBool,
}

impl TorchDistributed {
    /// Imports what [`TorchDistributed::join`] needs.
    pub fn load() -> Result<(), String> {
        ProcessGroup::load().map_err(plain)
    }

    /// Joins the others, as the environment names them.
    pub fn join(
        rank: usize,
        num_ranks: usize,
        attempt: u64,
        timeout: Duration,
    ) -> Result<Self, String> {
        let group = ProcessGroup::join(num_ranks, attempt, timeout, Cuda::is_available());
        let group = group.map_err(plain)?;
        Ok(Self {
            group,
            rank,
            by_host: AtomicBool::new(false),
        })
    }

    /// From now on sends what lies on GPUs by way of the host's memory; all ranks do so, or none.
    pub fn go_by_host(&self) {
        self.by_host.store(true, Ordering::Relaxed);
    }
}

impl Engine for TorchDistributed {
    fn sum(&self, tensor: &mut Tensor) -> Result<(), String> {
        if tensor.device() == Device::Cpu || !self.goes_by_host() {
            return self.group.all_reduce(tensor).map_err(plain);
        }
        let mut on_host = tensor.to_device(Device::Cpu);
        self.group.all_reduce(&mut on_host).map_err(plain)?;
        tensor.copy_(&on_host);
        Ok(())
    }

    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.group.all_gather(bytes).map_err(plain)
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.group.gather(bytes, self.rank).map_err(plain)
    }

    fn is_first_to(&self, name: &str) -> Result<bool, String> {
        self.group.is_first_to(name).map_err(plain)
    }

    fn is_taken(&self, name: &str) -> Result<bool, String> {
        self.group.is_taken(name).map_err(plain)
    }

    fn goes_by_host(&self) -> bool {
        self.by_host.load(Ordering::Relaxed)
    }

    fn leave(&self) {
        // It ends with the process, too.
        let _left = self.group.leave();
    }
}

/// The first line of what torch says, without the place in its sources.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn plain(error: EnvError) -> String {
    let message = error.to_string();
    let line = message.lines().next().unwrap_or_default();
    let line = line.split_once("] ").map_or(line, |(place, rest)| {
        // `RuntimeError: [/…/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:47`
        if place.contains("[/") || place.contains("[..") {
            rest
        } else {
            line
        }
    });
    line.to_owned()
}
