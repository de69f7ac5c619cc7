//! Past selves: earlier networks of a run, against which it plays in some of its games.
//!
//! The run adds one now and then ([`PastSelves::add`]), and every batch of games draws from those for each new game
//! ([`DrawnOpponents`]). Who plays whom, what each game came to and the random numbers are saved with the games.

mod drawn;
mod win_rates;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use drawn::DrawnOpponents;
pub(crate) use drawn::past_self_of;

use crate::policy::Policy;

/// An earlier network of a run.
pub struct PastSelf {
    /// The agent step that it is of.
    pub step: u64,
    policy: Mutex<Box<dyn Policy>>,
}

impl PastSelf {
    fn policy(&self) -> MutexGuard<'_, Box<dyn Policy>> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The past selves of a run, which all of its environments share.
#[derive(Clone, Default)]
pub struct PastSelves(Arc<Mutex<Vec<Arc<PastSelf>>>>);

impl fmt::Debug for PastSelves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.newest(usize::MAX);
        f.debug_tuple("PastSelves").field(&steps).finish()
    }
}

impl PastSelves {
    /// Adds the network of an agent step, or puts it in the place of that which was there. Of the others go those that
    /// are not among the newest `count` and play no game any more.
    pub fn add(&self, step: u64, policy: Box<dyn Policy>, count: usize) {
        let policy = Mutex::new(policy);
        let added = Arc::new(PastSelf { step, policy });
        let mut selves = self.all();
        selves.retain(|other| other.step != step);
        selves.push(added);
        selves.sort_by_key(|past_self| past_self.step);
        let num_old = selves.len().saturating_sub(count);
        let mut index = 0;
        selves.retain(|past_self| {
            index += 1;
            index > num_old || Arc::strong_count(past_self) > 1
        });
    }

    /// The agent steps of the newest `count`, the oldest first.
    #[must_use]
    pub fn newest(&self, count: usize) -> Vec<u64> {
        let selves = self.all();
        let newest = &selves[selves.len().saturating_sub(count)..];
        newest.iter().map(|past_self| past_self.step).collect()
    }

    /// The one of an agent step.
    fn of_step(&self, step: u64) -> Option<Arc<PastSelf>> {
        let selves = self.all();
        let found = selves.iter().find(|past_self| past_self.step == step);
        found.map(Arc::clone)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<PastSelf>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
