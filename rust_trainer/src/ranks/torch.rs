//! `torch.distributed` as the engine: gloo on the CPU, NCCL between GPUs.

use std::time::Duration;

use python_shim::distributed::ProcessGroup;
use tch::{Cuda, Tensor};
use vec_env::EnvError;

use super::Engine;

/// A process group of torch's.
#[derive(Debug)]
pub struct TorchDistributed {
    group: ProcessGroup,
    rank: usize,
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
        Ok(Self { group, rank })
    }
}

impl Engine for TorchDistributed {
    fn sum(&self, tensor: &mut Tensor) -> Result<(), String> {
        let summed = self.group.all_reduce(tensor);
        summed.map_err(|error| plain(&error))
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
