//! What a run asks of an algorithm.

use vec_env::{ActionBatch, ObsSlot, StepBatch};

use super::state::State;
use crate::{error::TrainerError, policy::Policy};

/// Something that learns from environments.
pub trait Algorithm {
    /// Where the environments write their next observations: those that follow the actions chosen last,
    /// or the first ones, of a reset.
    fn next_obs(&mut self) -> ObsSlot;

    /// Whether it takes another step before it learns. With groups of environments, more than one can be
    /// in flight.
    fn can_act(&self) -> bool {
        true
    }

    /// Chooses actions for the observations written last; their slot must have been dropped. With groups
    /// of environments ([`VecEnv::batch_size`](vec_env::VecEnv::batch_size) is a part of them), for those of the group whose turn it
    /// is, and so are the other calls: actions, next observations and steps are a group's, one after
    /// another. Only the first observations, of a reset, are written for all of them at once.
    fn act(&mut self) -> Result<ActionBatch, TrainerError>;

    /// Takes what the step with these actions gave: rewards, ends, last observations of ended episodes.
    ///
    /// # Errors
    /// [`TrainerError::NoFinalObs`] for an episode that was cut off without its last observation.
    fn observe(&mut self, step: &StepBatch) -> Result<(), TrainerError>;

    /// Learns, if it is time. `should_stop` is asked before each gradient step; where it says yes, the rest
    /// of them is left: see [`Learning::BrokenOff`].
    ///
    /// # Errors
    /// [`TrainerError::Diverged`], after which nothing more can be learned; libtorch's. What is left is
    /// worth saving only where [`Algorithm::is_whole_between_steps`] says so.
    fn learn(&mut self, should_stop: &mut dyn FnMut() -> bool) -> Result<Learning, TrainerError>;

    /// What plays.
    fn policy(&self) -> &dyn Policy;

    /// Everything that the future depends on, at the end of an update ([`Algorithm::learn`] has just
    /// returned [`Learning::Done`]): weights, optimizer, random numbers, counters, statistics, recurrent state, the
    /// observations in hand, for which no action is chosen yet. Asked for in the middle of an update, it
    /// holds what is learned; what is in hand of the games need not be whole.
    fn state(&self) -> Result<State, TrainerError>;

    /// What playing takes, and nothing else: the network, and the statistics by which it normalizes observations.
    fn network_state(&self) -> State;

    /// Whether [`Algorithm::state`] is whole now, and not at the end of an update alone: between any two
    /// gradient steps, also where the second one failed before it changed anything. What was broken off,
    /// [`Algorithm::learn`] then does first of all.
    fn is_whole_between_steps(&self) -> bool {
        false
    }

    /// Goes on from a state: all of it, or nothing changes. A fresh algorithm then does bit for bit what
    /// that would have done whose state it is, without any call of [`Algorithm::next_obs`] before the
    /// next [`Algorithm::act`]; where the games cannot go on, [`Algorithm::forget_games`] follows.
    ///
    /// # Errors
    /// [`TrainerError::State`] for the state of another algorithm or network, or one with numbers that
    /// are not finite.
    fn load_state(&mut self, state: &State) -> Result<(), TrainerError>;

    /// Takes over the network of a state, and the statistics by which it normalizes observations, where both do; all
    /// else begins as in any new run.
    ///
    /// # Errors
    /// [`TrainerError::State`] for the state of another network.
    fn start_from(&mut self, state: &State) -> Result<(), TrainerError>;

    /// What the user should know since this was asked last.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Every game has been broken off and another one begun, whose first observations are written next:
    /// what is in hand of the old ones must not flow into the new ones.
    fn forget_games(&mut self);

    /// Number of scalars in the network.
    fn num_params(&self) -> i64;
}

/// What [`Algorithm::learn`] came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Learning {
    /// It is not time for an update yet.
    NotYet,
    /// An update is done; how it went.
    Done(Metrics),
    /// It was asked to stop before the last gradient step. Only where [`Algorithm::is_whole_between_steps`]
    /// can the algorithm go on from here; another one's weights are of no step of the run.
    BrokenOff,
}

/// Named numbers of an update, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(pub Vec<(&'static str, f64)>);
