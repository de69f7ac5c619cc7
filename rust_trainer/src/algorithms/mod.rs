//! Algorithms: what a run drives, without knowing which one it is.
//!
//! For each step the run asks for [`Algorithm::next_obs`] and [`Algorithm::act`], steps the environments,
//! and tells what that gave to [`Algorithm::observe`]; then [`Algorithm::learn`] learns when it is time.
//!
//! PPO, A2C and PQN learn from rollouts, in the loop of [`OnPolicy`]; DQN, DDPG, TD3 and MADDPG from a replay memory.

pub mod a2c;
mod actor_critic;
mod algorithm;
pub mod ddpg;
pub mod dqn;
mod in_hand;
mod learner;
mod minibatches;
mod nets;
mod on_policy;
pub mod ppo;
pub mod pqn;
mod progress;
mod schedule;
mod state;
#[cfg(test)]
mod tests;

use tch::Device;
use vec_env::{ActionSpace, ObsSpec, VecEnv};

pub use algorithm::{Algorithm, Learning, Metrics};
pub use ddpg::Ddpg;
pub(crate) use ddpg::check_ranks;
pub use dqn::Dqn;
pub use learner::{Learner, Loss};
pub use on_policy::{OnPolicy, OnPolicyAlgorithm};
pub use state::State;

use crate::{
    device,
    error::TrainerError,
    normalize::ObsNormalizer,
    policy::{EpsilonGreedy, Policy},
    ranks::Ranks,
    settings::{A2cSettings, AlgorithmSettings, PpoSettings, Settings},
};
use nets::Blueprint;

/// The algorithm of `settings`, for the environments `env`; the seed decides weights, actions and
/// shuffling. libtorch has one thread from here on in the thread that asks (see [`parallel`](crate::parallel)).
pub fn new(
    settings: &Settings,
    env: &dyn VecEnv,
    device: Device,
) -> Result<Box<dyn Algorithm>, TrainerError> {
    of_rank(settings, env, device, &Ranks::alone())
}

/// The same at one of several ranks, for its share of the environments.
pub fn of_rank(
    settings: &Settings,
    env: &dyn VecEnv,
    device: Device,
    ranks: &Ranks,
) -> Result<Box<dyn Algorithm>, TrainerError> {
    device::limit_torch_to_one_thread();
    let has_replay = !settings.algorithm.algorithm().learns_from_rollouts();
    if has_replay && env.spec().ends_apart {
        return Err(TrainerError::ends_apart());
    }
    Ok(match settings.algorithm.clone() {
        AlgorithmSettings::Ppo(ppo) => Box::new(OnPolicyAlgorithm::of_rank(
            ppo, settings, env, device, ranks,
        )?),
        AlgorithmSettings::A2c(a2c) => Box::new(OnPolicyAlgorithm::of_rank(
            a2c, settings, env, device, ranks,
        )?),
        AlgorithmSettings::Dqn(dqn) => Box::new(Dqn::of_rank(dqn, settings, env, device, ranks)?),
        AlgorithmSettings::Pqn(pqn) => Box::new(OnPolicyAlgorithm::of_rank(
            pqn, settings, env, device, ranks,
        )?),
        AlgorithmSettings::Ddpg(ddpg)
        | AlgorithmSettings::Td3(ddpg)
        | AlgorithmSettings::Maddpg(ddpg) => {
            Box::new(Ddpg::new(ddpg, settings, env, device, ranks)?)
        }
    })
}

/// The policy that `state` holds, without what only learning needs; libtorch has one thread from here on, as in [`new`].
pub fn load_policy(
    settings: &Settings,
    spec: &ObsSpec,
    actions: &ActionSpace,
    device: Device,
    state: &State,
) -> Result<Box<dyn Policy>, TrainerError> {
    device::limit_torch_to_one_thread();
    let num_agents = settings.env.num_agents.max(1);
    let mut blueprint = Blueprint::new(settings, (spec, actions), device, 0).of_agents(num_agents);
    let (style, epsilon) = match &settings.algorithm {
        AlgorithmSettings::Dqn(dqn) => (dqn.style(), dqn.eval_e),
        AlgorithmSettings::Pqn(pqn) => (pqn.style(), pqn.end_e),
        AlgorithmSettings::Ddpg(_) | AlgorithmSettings::Td3(_) | AlgorithmSettings::Maddpg(_) => {
            let policy = blueprint.actor()?;
            state.copy_to(policy.params.named())?;
            return Ok(Box::new(policy));
        }
        AlgorithmSettings::Ppo(PpoSettings { lstm_size, .. })
        | AlgorithmSettings::A2c(A2cSettings { lstm_size, .. }) => {
            let mut net = blueprint.policy_value_net(*lstm_size, false)?;
            if state.values.contains_key(ObsNormalizer::NAME) {
                let loaded = state.value(ObsNormalizer::NAME)?;
                net.obs_normalizer = Some(ObsNormalizer::load(loaded, spec)?);
            }
            state.copy_to(net.params.named())?;
            return Ok(Box::new(net));
        }
    };
    let net = blueprint.q_net(style)?;
    state.copy_to(net.params.named())?;
    Ok(Box::new(EpsilonGreedy { net, epsilon }))
}
