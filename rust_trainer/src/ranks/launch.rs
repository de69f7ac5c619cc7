//! How a program learns that it is one of several ranks: from the variables that `torchrun` and Ray Train
//! set, the same on Slurm.

use std::{
    env,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use tch::Cuda;

use super::{Ranks, torch::TorchDistributed};
use crate::{error::TrainerError, files::host_name, stop::StopRequest};

/// How much longer than it is told to torch may take to find nobody. Where a program listens that is not rank
/// 0 and says nothing, it would wait for ever.
const GRACE: Duration = Duration::from_secs(5);

/// Which of how many ranks the environment says that this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Which one.
    pub rank: usize,
    /// Of how many.
    pub num_ranks: usize,
    /// How often torchrun has started all of them anew.
    pub restarts: u64,
    /// Which of the starts that share a store: where several torchruns meet, each counts its own restarts, and
    /// every meeting has a new store.
    attempt: u64,
}

impl Launch {
    /// `None` for a process on its own.
    ///
    /// # Errors
    /// Variables that are no numbers, or do not fit together.
    pub fn from_env() -> Result<Option<Self>, TrainerError> {
        Self::from_variables(|name| env::var(name).ok())
    }

    fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, TrainerError> {
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => text.parse::<usize>().map(Some).map_err(|_| {
                TrainerError::Usage(format!("the variable {name} = `{text}` is no number"))
            }),
        };
        let (Some(rank), Some(num_ranks)) = (number("RANK")?, number("WORLD_SIZE")?) else {
            return Ok(None);
        };
        if rank >= num_ranks {
            return Err(TrainerError::Usage(format!(
                "the variables RANK = {rank} and WORLD_SIZE = {num_ranks} do not fit together"
            )));
        }
        let restarts = number("TORCHELASTIC_RESTART_COUNT")?.unwrap_or(0) as u64;
        let is_one_torchrun = number("GROUP_WORLD_SIZE")?.is_none_or(|torchruns| torchruns == 1);
        let attempt = if is_one_torchrun { restarts } else { 0 };
        Ok((num_ranks > 1).then_some(Self {
            rank,
            num_ranks,
            restarts,
            attempt,
        }))
    }

    /// Waits for all others, at most for `timeout`; so long each later exchange waits at most, too.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for others that do not come, at the first rank of each machine, with
    /// [`TrainerError::Told`] at the other ones; for a port in use, and for what keeps this rank from asking;
    /// [`TrainerError::Stopped`].
    pub fn join(self, timeout: Duration, stop: &StopRequest) -> Result<Ranks, TrainerError> {
        let Self {
            rank,
            num_ranks,
            attempt,
            ..
        } = self;
        python_shim::interpreter::start()?;
        let join = move || {
            TorchDistributed::load().map_err(|reason| (reason, false))?;
            let began = Instant::now();
            let (sender, joined) = mpsc::channel();
            thread::spawn(move || {
                sender.send(TorchDistributed::join(rank, num_ranks, attempt, timeout))
            });
            let joined = joined.recv_timeout(timeout + GRACE);
            let joined =
                joined.unwrap_or_else(|_| Err("what listens there is not rank 0".to_owned()));
            joined.map_err(|reason| (reason, began.elapsed() >= timeout / 2))
        };
        let joined = stop.unless_asked(None, join).ok_or(TrainerError::Stopped)?;
        let not_joined =
            |(reason, has_waited): (String, _)| self.not_joined(timeout, has_waited, &reason);
        let engine = Arc::new(joined.map_err(not_joined)?);
        let alone = Ranks::new(rank, vec![String::new(); num_ranks], engine.clone());
        let places = alone.tell(&own_place())?;
        if are_gpus_shared(&places) {
            engine.go_by_host();
        }
        let hosts = places.into_iter().map(|(host, ..)| host).collect();
        Ok(Ranks::new(rank, hosts, engine))
    }
}

/// Where a rank is: the machine, which of its GPUs the rank is shown (Ray shows each its own), and how many those are.
type Place = (String, String, i64);

fn own_place() -> Place {
    let has_any = Cuda::is_available();
    let shown = env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    let num_gpus = if has_any { Cuda::device_count() } else { 0 };
    (host_name(), shown, num_gpus)
}

/// Whether any ranks that see the same GPUs are more than those: NCCL refuses two on one.
fn are_gpus_shared(places: &[Place]) -> bool {
    places.iter().any(|place| {
        let beside = places.iter().filter(|other| *other == place).count() as i64;
        place.2 > 0 && beside > place.2
    })
}

impl Launch {
    /// What is said of a rank that did not join. Where it has waited in vain, the first one of its machine says
    /// so: the others there see the same.
    fn not_joined(self, timeout: Duration, has_waited: bool, reason: &str) -> TrainerError {
        if has_waited && rank_here() > 0 {
            return TrainerError::Told;
        }
        let Self {
            rank, num_ranks, ..
        } = self;
        let at = |name: &str| env::var(name).unwrap_or_default();
        let address = format!("{}:{}", at("MASTER_ADDR"), at("MASTER_PORT"));
        let name = format!("rank {rank} of {num_ranks} ({})", host_name());
        TrainerError::Usage(if reason.contains("EADDRINUSE") {
            format!(
                "{name} cannot listen at {address}: the port is in use by another program; choose another one"
            )
        } else if !has_waited {
            format!("{name} cannot ask for the others at {address}: {reason}")
        } else {
            let seconds = timeout.as_secs_f64();
            format!("{name} did not find the others at {address} within {seconds} s: {reason}")
        })
    }
}

/// How many ranks share this machine, 1 for a process on its own: they share its cores, too.
pub(crate) fn ranks_here() -> usize {
    of_machine("LOCAL_WORLD_SIZE").unwrap_or(1).max(1)
}

/// Which rank of this machine this is; its GPU has the same number.
pub(crate) fn rank_here() -> usize {
    of_machine("LOCAL_RANK").unwrap_or(0)
}

/// A variable that counts the ranks of this machine; none for a process on its own.
fn of_machine(name: &str) -> Option<usize> {
    Launch::from_env().ok()??;
    env::var(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_shared_where_more_ranks_see_the_same_ones() {
        let place = |host: &str, shown: &str, num_gpus| -> Place {
            (host.to_owned(), shown.to_owned(), num_gpus)
        };
        let (two, none) = (place("a", "", 2), place("a", "", 0));
        let by_ray = [place("a", "0", 1), place("a", "1", 1), place("b", "0", 1)];
        for (places, are_shared) in [
            (vec![two.clone(); 2], false),
            (vec![two; 3], true),
            (vec![none; 4], false),
            (by_ray.to_vec(), false),
            ([&by_ray[..], &by_ray[1..]].concat(), true),
        ] {
            assert_eq!(are_gpus_shared(&places), are_shared, "{places:?}");
        }
    }

    #[test]
    fn torchruns_variables_are_read_and_nonsense_is_named() {
        let launch = |variables: &[(&str, &str)]| {
            let variables: Vec<(String, String)> = variables
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect();
            Launch::from_variables(move |name| {
                let found = variables.iter().find(|(other, _)| other == name);
                found.map(|(_, text)| text.clone())
            })
        };
        assert_eq!(launch(&[]).unwrap(), None);
        assert_eq!(launch(&[("RANK", "0"), ("WORLD_SIZE", "1")]).unwrap(), None);
        let third = [
            ("RANK", "2"),
            ("WORLD_SIZE", "4"),
            ("TORCHELASTIC_RESTART_COUNT", "1"),
        ];
        let expected = Launch {
            rank: 2,
            num_ranks: 4,
            restarts: 1,
            attempt: 1,
        };
        assert_eq!(launch(&third).unwrap(), Some(expected));
        let of_two = [&third[..], &[("GROUP_WORLD_SIZE", "2")]].concat();
        let expected = Launch {
            attempt: 0,
            ..expected
        };
        assert_eq!(launch(&of_two).unwrap(), Some(expected));
        for (rank, size, named) in [("two", "4", "RANK = `two`"), ("4", "4", "WORLD_SIZE = 4")] {
            let error = launch(&[("RANK", rank), ("WORLD_SIZE", size)]).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
