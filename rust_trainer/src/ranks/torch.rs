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
    /// Joins the others, as the environment names them.
    ///
    /// # Errors
    /// What torch says; a torch that is not installed.
    pub fn join(
        rank: usize,
        num_ranks: usize,
        attempt: u64,
        timeout: Duration,
    ) -> Result<Self, String> {
        let group = ProcessGroup::join(num_ranks, attempt, timeout, Cuda::is_available());
        let group = group.map_err(|error| plain(&error))?;
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
            let summed = self.group.all_reduce(tensor);
            return summed.map_err(|error| plain(&error));
        }
        let mut on_host = tensor.to_device(Device::Cpu);
        let summed = self.group.all_reduce(&mut on_host);
        summed.map_err(|error| plain(&error))?;
        tensor.copy_(&on_host);
        Ok(())
    }

    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let gathered = self.group.all_gather(bytes);
        gathered.map_err(|error| plain(&error))
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let gathered = self.group.gather(bytes, self.rank);
        gathered.map_err(|error| plain(&error))
    }

    fn is_first_to(&self, name: &str) -> Result<bool, String> {
        let is_first = self.group.is_first_to(name);
        is_first.map_err(|error| plain(&error))
    }

    fn is_taken(&self, name: &str) -> Result<bool, String> {
        let is_taken = self.group.is_taken(name);
        is_taken.map_err(|error| plain(&error))
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
fn plain(error: &EnvError) -> String {
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
