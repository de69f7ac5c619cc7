//! Several processes that train one network: each is a rank, steps its own environments and computes the
//! gradient of its own samples; gradients are added up before each step of the optimizer.
//!
//! What a run does is what one process would do, but for rounding: settings count environments and
//! minibatches of all ranks together; rank r of W has the environments `r·N/W..(r+1)·N/W` with the seeds
//! that they have in one process; all ranks draw the same random numbers and use their own part of them.
//! So every rank holds the same weights, and nothing has to be handed out.
//!
//! Here is what ranks say to one another ([`Ranks`]), what carries it ([`Engine`]; `torch.distributed` is
//! [`torch`]), how a program learns that it is one of several ([`launch`]), and who tells of errors
//! (`failure`).

mod exchange;
mod failure;
pub mod launch;
pub mod torch;
mod work_times;

use std::{
    fmt::Debug,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rand_pcg::Pcg64;
use tch::Tensor;

use crate::{error::TrainerError, stop::LOOK, tensors::bytes_of};
pub(crate) use exchange::RankReport;
pub use launch::Launch;
pub(crate) use work_times::WorkTimes;

/// The name that the rank takes which tells of an error.
const TELLER: &str = "rust_trainer/teller";

/// What carries words and numbers between ranks. All ranks make the same calls in the same order. An error says why the
/// others cannot be reached.
pub trait Engine: Debug + Send + Sync {
    /// Adds up a contiguous tensor of one number or more over all ranks, in its place; the sum is the same bits
    /// at each of them.
    fn sum(&self, tensor: &mut Tensor) -> Result<(), String>;

    /// The bytes of every rank, at every rank, in the order of the ranks.
    fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String>;

    /// The bytes of every rank, at rank 0; elsewhere nothing.
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String>;

    /// Whether this rank is the first to take this name. Waits for nobody.
    fn is_first_to(&self, name: &str) -> Result<bool, String>;

    /// Whether any rank has taken this name. Waits for nobody.
    fn is_taken(&self, name: &str) -> Result<bool, String>;

    /// Whether what lies on GPUs goes by way of the host's memory, for ranks share a GPU.
    fn goes_by_host(&self) -> bool {
        false
    }

    /// Takes leave of the others.
    fn leave(&self);
}

/// The ranks of a training, and which of them this is.
#[derive(Clone, Debug)]
pub struct Ranks {
    rank: usize,
    /// Machine of each rank.
    hosts: Arc<[String]>,
    engine: Option<Arc<dyn Engine>>,
    waited: Arc<Mutex<Duration>>,
}

/// What they say to one another fails with [`TrainerError::Lost`] where another one cannot be reached.
impl Ranks {
    /// The only one.
    #[must_use]
    pub fn alone() -> Self {
        Self {
            rank: 0,
            hosts: Arc::new([String::new()]),
            engine: None,
            waited: Arc::default(),
        }
    }

    /// Rank `rank` of those that run on `hosts`, one each.
    #[must_use]
    pub fn new(rank: usize, hosts: Vec<String>, engine: Arc<dyn Engine>) -> Self {
        Self {
            rank,
            hosts: hosts.into(),
            engine: Some(engine),
            waited: Arc::default(),
        }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.engine.is_none()
    }

    /// Whether this is rank 0, which writes and reports.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.hosts.len()
    }

    /// Whether gradients of GPUs go by way of the host's memory.
    pub(crate) fn goes_by_host(&self) -> bool {
        self.engine
            .as_ref()
            .is_some_and(|engine| engine.goes_by_host())
    }

    /// The machine of each, none for one alone.
    pub(crate) fn hosts(&self) -> &[String] {
        if self.is_alone() { &[] } else { &self.hosts }
    }

    pub(crate) fn name(&self, rank: usize) -> String {
        let host = self.hosts.get(rank).map_or("", String::as_str);
        format!("rank {rank} of {} ({host})", self.count())
    }

    /// The part of `total` that is this rank's; the ranks divide it.
    #[must_use]
    pub fn share(&self, total: usize) -> Range<usize> {
        let size = total / self.count();
        size * self.rank..size * (self.rank + 1)
    }

    /// Of samples or environments numbered over all ranks, those of this rank, as numbered here. They are
    /// numbered step by step, `num_envs` of each rank in a step.
    pub(crate) fn own(&self, indices: &[i64], num_envs: usize) -> Vec<i64> {
        let own = indices.iter();
        own.filter_map(|&index| self.own_index(index, num_envs))
            .collect()
    }

    /// One of them, if it is this rank's.
    pub(crate) fn own_index(&self, index: i64, num_envs: usize) -> Option<i64> {
        let (num_envs, all) = (num_envs as i64, (num_envs * self.count()) as i64);
        let (step, env) = (index / all, index % all - num_envs * self.rank as i64);
        (0..num_envs)
            .contains(&env)
            .then_some(step * num_envs + env)
    }

    /// Lets `draw` draw for the `rows` of this rank; `skip` draws what another one's row takes.
    pub fn draw<T>(
        &self,
        rng: &mut Pcg64,
        rows: usize,
        skip: impl Fn(&mut Pcg64),
        draw: impl FnOnce(&mut Pcg64) -> T,
    ) -> T {
        (0..rows * self.rank).for_each(|_| skip(rng));
        let drawn = draw(rng);
        (0..rows * (self.count() - 1 - self.rank)).for_each(|_| skip(rng));
        drawn
    }

    /// Adds up a contiguous tensor over all ranks, in its place.
    pub(crate) fn sum(&self, tensor: &mut Tensor) -> Result<(), TrainerError> {
        self.with_engine(|| (), |engine| engine.sum(tensor))
    }

    /// The bytes of every rank, at every rank.
    pub(crate) fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TrainerError> {
        self.with_engine(|| vec![bytes.to_vec()], |engine| engine.all_gather(bytes))
    }

    /// The bytes of every rank at rank 0, nothing elsewhere.
    pub(crate) fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TrainerError> {
        self.with_engine(|| vec![bytes.to_vec()], |engine| engine.gather(bytes))
    }

    /// What rank 0 says. The others say nothing that counts.
    pub(crate) fn of_first(&self, bytes: &[u8]) -> Result<Vec<u8>, TrainerError> {
        if self.is_alone() {
            return Ok(bytes.to_vec());
        }
        // A sum to which the others add nothing: each holds it once, however many there are.
        let said = if self.is_first() { bytes } else { &[] };
        let mut length = Tensor::from_slice(&[said.len() as f64]);
        self.sum(&mut length)?;
        let length = length.double_value(&[0]) as usize;
        if length == 0 {
            return Ok(Vec::new()); // torch has no tensors without numbers of a memory that is given
        }
        let mut padded = said.to_vec();
        padded.resize(length, 0);
        let mut sum = Tensor::from_slice(&padded);
        self.sum(&mut sum)?;
        sum.f_copy_data_u8(&mut padded, length)?;
        Ok(padded)
    }

    /// Whether any rank says yes.
    pub(crate) fn any(&self, yes: bool) -> Result<bool, TrainerError> {
        let said = self.all_gather(&[u8::from(yes)])?;
        Ok(said.iter().any(|said| said == &[1]))
    }

    /// The rows of all ranks' tensors along `dim`, one rank's after another's, at every rank.
    pub(crate) fn all_rows(&self, tensor: &Tensor, dim: i64) -> Result<Tensor, TrainerError> {
        if self.is_alone() {
            return Ok(tensor.shallow_clone());
        }
        joined(tensor, dim, &self.all_gather(&bytes_of(tensor)?)?)
    }

    /// The same at rank 0; elsewhere the tensor as it is.
    pub(crate) fn rows_at_first(&self, tensor: &Tensor, dim: i64) -> Result<Tensor, TrainerError> {
        if self.is_alone() {
            return Ok(tensor.shallow_clone());
        }
        match self.gather(&bytes_of(tensor)?)?.as_slice() {
            [] => Ok(tensor.shallow_clone()),
            all => joined(tensor, dim, all),
        }
    }

    /// A tensor like this one with room for the rows of all ranks along `dim`; the tensor itself where this
    /// is the only one.
    pub(crate) fn room_for_all(&self, tensor: &Tensor, dim: i64) -> Tensor {
        if self.is_alone() {
            return tensor.shallow_clone();
        }
        let mut size = tensor.size();
        size[dim as usize] *= self.count() as i64;
        Tensor::zeros(size, (tensor.kind(), tensor.device()))
    }

    /// This rank's rows, along `dim`, of a tensor of all ranks'.
    pub(crate) fn own_rows(&self, all: &Tensor, dim: i64) -> Tensor {
        let own = self.share(all.size()[dim as usize] as usize);
        all.narrow(dim, own.start as i64, own.len() as i64)
    }

    /// Time that this rank has waited for the others since it was asked last, the exchange included.
    pub(crate) fn take_waited(&self) -> Duration {
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waited)
    }

    /// Waits until rank 0 is over with `what` and calls this, too, however long that takes. Rank 0 goes on when all have
    /// heard of it: the store may go with its process.
    pub(crate) fn wait_for_first(&self, what: &str, step: u64) -> Result<(), TrainerError> {
        let name = format!("rust_trainer/{what}/{step}");
        let wait = |engine: &dyn Engine| {
            if self.is_first() {
                return engine.is_first_to(&name).map(drop);
            }
            while !engine.is_taken(&name)? {
                if engine.is_taken(TELLER)? {
                    return Err(format!("another rank failed before the {what} was over"));
                }
                thread::sleep(LOOK);
            }
            Ok(())
        };
        self.with_engine(|| (), wait)?;
        self.any(false).map(drop)
    }

    fn with_engine<T>(
        &self,
        alone: impl FnOnce() -> T,
        call: impl FnOnce(&dyn Engine) -> Result<T, String>,
    ) -> Result<T, TrainerError> {
        let Some(engine) = &self.engine else {
            return Ok(alone());
        };
        let began = Instant::now();
        let result = call(&**engine).map_err(TrainerError::Lost);
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += began.elapsed();
        result
    }
}

/// Tensors like this one, one rank's after another's along `dim`, on its device.
fn joined(like: &Tensor, dim: i64, ranks: &[Vec<u8>]) -> Result<Tensor, TrainerError> {
    let parts = ranks.iter().map(|bytes| {
        let part = Tensor::f_from_data_size(bytes, &like.size(), like.kind())?;
        Ok(part.to_device(like.device()))
    });
    let parts: Result<Vec<Tensor>, TrainerError> = parts.collect();
    Ok(Tensor::f_cat(&parts?, dim)?)
}
