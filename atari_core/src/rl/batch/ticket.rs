//! [`Ticket`]: what a batch has begun and not given back.

use vec_env::ObsSlot;

/// What environments in flight were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A step.
    Step,
    /// A reset of which nothing was received.
    Reset,
}

/// Which environments are in flight, what they were asked, and where the next results go. Whatever begins writes it,
/// whatever receives takes off it, and nothing else knows.
#[derive(Default)]
pub struct Ticket {
    pub(super) asked: Option<Asked>,
    /// In the order in which they were begun.
    pub(super) envs: Vec<usize>,
    /// Memory for what the next call receives.
    pub(super) slot: Option<ObsSlot>,
}

impl Ticket {
    /// What is waited for; `None` while nothing is in flight.
    #[must_use]
    pub fn asked(&self) -> Option<Asked> {
        self.asked
    }

    /// How many environments are in flight.
    #[must_use]
    pub fn count(&self) -> usize {
        self.envs.len()
    }

    /// Whether it was said where the next results go.
    #[must_use]
    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// Nothing is in flight any more.
    pub(super) fn clear(&mut self) {
        self.envs.clear();
        self.after_receiving();
    }

    /// What is left is received by parts; nobody has said where to.
    pub(super) fn after_receiving(&mut self) {
        self.asked = (!self.envs.is_empty()).then_some(Asked::Step);
        self.slot = None;
    }
}
