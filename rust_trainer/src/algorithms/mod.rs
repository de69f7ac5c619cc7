//! Algorithms: what a run drives, without knowing which one it is.
//!
//! For each step the run asks for [`Algorithm::next_obs`] and [`Algorithm::act`], steps the environments,
//! and tells what that gave to [`Algorithm::observe`]; then [`Algorithm::learn`] learns when it is time.

pub mod a2c;
mod actor_critic;
pub mod dqn;
mod learner;
mod minibatches;
pub mod ppo;
pub mod pqn;
mod schedule;
mod state;
mod statistics;

use tch::{Device, Kind, Tensor};
use vec_env::{ActionBatch, ActionSpace, ObsSlot, ObsSpec, StepBatch, VecEnv};

pub use actor_critic::ActorCritic;
pub use dqn::Dqn;
pub use learner::Learner;
pub use pqn::Pqn;
pub use state::State;

use crate::{
    cuda::Recording,
    error::TrainerError,
    nn::{PolicyValueNet, QNet},
    policy::{EpsilonGreedy, Policy},
    random::seeded_rng,
    ranks::Ranks,
    settings::{AlgorithmSettings, MachineSettings, Settings},
    tensors::to_vec,
};

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
    /// of environments ([`VecEnv::batch_size`] is a part of them), for those of the group whose turn it
    /// is, and so are the other calls: actions, next observations and steps are a group's, one after
    /// another. Only the first observations, of a reset, are written for all of them at once.
    ///
    /// # Errors
    /// What libtorch says.
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
    ///
    /// # Errors
    /// What libtorch says.
    fn state(&self) -> Result<State, TrainerError>;

    /// The same without the replay memory, which playing does not need: it may take gigabytes, and be those
    /// of several ranks.
    ///
    /// # Errors
    /// As [`Algorithm::state`].
    fn state_to_play(&self) -> Result<State, TrainerError> {
        self.state()
    }

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

    /// What the user should know since this was asked last.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Every game has been broken off and another one begun, whose first observations are written next:
    /// what is in hand of the old ones must not flow into the new ones.
    fn forget_games(&mut self);

    /// Number of scalars in the network.
    fn num_params(&self) -> i64;

    /// Where the network runs.
    fn device(&self) -> Device;
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

impl Metrics {
    /// The mean of each term over several gradient steps, a stack of scalars each; one transfer from the
    /// device for all.
    pub(super) fn mean_of(names: &[&'static str], terms: &[Tensor]) -> Self {
        let mean = Tensor::stack(terms, 0).mean_dim(0, false, Kind::Double);
        let values = to_vec::<f64>(&mean);
        Self(names.iter().copied().zip(values).collect())
    }

    /// Refuses numbers that are not finite.
    pub(super) fn check(&self) -> Result<(), TrainerError> {
        match self.0.iter().find(|(_, value)| !value.is_finite()) {
            Some(&(what, _)) => Err(TrainerError::Diverged { what }),
            None => Ok(()),
        }
    }
}

/// The algorithm of `settings`, for the environments `env`; the seed decides weights, actions and
/// shuffling.
///
/// # Errors
/// Observations that no network takes; memory that is not there.
pub fn new(
    settings: &Settings,
    env: &dyn VecEnv,
    device: Device,
) -> Result<Box<dyn Algorithm>, TrainerError> {
    of_rank(settings, env, device, &Ranks::alone())
}

/// The same at one of several ranks, for its share of the environments.
///
/// # Errors
/// As [`new`].
pub fn of_rank(
    settings: &Settings,
    env: &dyn VecEnv,
    device: Device,
    ranks: &Ranks,
) -> Result<Box<dyn Algorithm>, TrainerError> {
    Ok(match settings.algorithm.clone() {
        AlgorithmSettings::Ppo(ppo) => {
            Box::new(ActorCritic::of_rank(ppo, settings, env, device, ranks)?)
        }
        AlgorithmSettings::A2c(a2c) => {
            Box::new(ActorCritic::of_rank(a2c, settings, env, device, ranks)?)
        }
        AlgorithmSettings::Dqn(dqn) => Box::new(Dqn::of_rank(dqn, settings, env, device, ranks)?),
        AlgorithmSettings::Pqn(pqn) => Box::new(Pqn::of_rank(pqn, settings, env, device, ranks)?),
    })
}

/// Work of an algorithm on `device` that is recorded if the settings say so; none on the CPU. What several
/// ranks do together is not all on the device, and cannot be recorded.
fn recording(settings: &MachineSettings, device: Device, ranks: &Ranks) -> Option<Recording> {
    (device != Device::Cpu && ranks.is_alone()).then(|| Recording::on(device, settings.cuda_graphs))
}

/// Why recordings are none any more, a sentence each.
fn problems(recordings: [(&str, &mut Option<Recording>); 2]) -> Vec<String> {
    let problems = recordings.into_iter().filter_map(|(what, recording)| {
        let problem = recording.as_mut()?.problem()?;
        Some(format!(
            "{what} could not be recorded as a CUDA graph and goes on without, as it does where cuda_graphs is \
             taken away: {problem}"
        ))
    });
    problems.collect()
}

/// The policy that `state` holds, without what only learning needs.
///
/// # Errors
/// As [`new`] and [`Algorithm::load_state`].
pub fn load_policy(
    settings: &Settings,
    spec: &ObsSpec,
    actions: &ActionSpace,
    device: Device,
    state: &State,
) -> Result<Box<dyn Policy>, TrainerError> {
    let (body, precision) = (&settings.net, settings.machine.precision);
    let mut rng = seeded_rng(0);
    let of_values = |style, epsilon| -> Result<Box<dyn Policy>, TrainerError> {
        let (on, mut rng) = ((device, precision), seeded_rng(0));
        let net = QNet::new(spec, actions, body, style, on, &mut rng)?;
        state.copy_to(net.params.named())?;
        Ok(Box::new(EpsilonGreedy { net, epsilon }))
    };
    let lstm_size = match &settings.algorithm {
        AlgorithmSettings::Ppo(ppo) => ppo.lstm_size,
        AlgorithmSettings::A2c(a2c) => a2c.lstm_size,
        AlgorithmSettings::Dqn(dqn) => return of_values(dqn.style(), dqn.eval_e),
        AlgorithmSettings::Pqn(pqn) => return of_values(pqn.style(), pqn.end_e),
    };
    let mut net = PolicyValueNet::new(spec, actions, body, lstm_size, device, precision, &mut rng)?;
    if state.values.contains_key(statistics::NORM_OBS) {
        net.obs_normalizer = Some(statistics::load_obs_normalizer(state, spec)?);
    }
    state.copy_to(net.params.named())?;
    Ok(Box::new(net))
}
