//! [`PolicyOpponent`]: the opponent that a policy is.

use rand_pcg::Pcg64;
use vec_env::{ActionBatch, EnvError, ObsSpec};

use super::opponent::Opponent;
use crate::{
    error::TrainerError, nn::Memory, policy::Policy, random::opponent_rng, tensors::obs_tensor,
};

/// A policy on the other side of games.
pub struct PolicyOpponent {
    policy: Box<dyn Policy>,
    obs_spec: ObsSpec,
    greedy: bool,
    rng: Pcg64,
    /// From the first step on.
    memory: Option<Memory>,
}

impl PolicyOpponent {
    /// `policy`, for the observations `obs_spec`; with `greedy` it takes the most probable actions.
    #[must_use]
    pub fn new(policy: Box<dyn Policy>, obs_spec: ObsSpec, greedy: bool) -> Self {
        Self {
            policy,
            obs_spec,
            greedy,
            rng: opponent_rng(0),
            memory: None,
        }
    }

    fn choose(&mut self, obs: &[u8], began: &[bool]) -> Result<ActionBatch, TrainerError> {
        let (policy, num_games) = (&*self.policy, began.len());
        let obs = obs_tensor(obs, num_games, &self.obs_spec)?.f_to_device(policy.device())?;
        let new_memory = || policy.new_memory(num_games);
        let memory = self.memory.get_or_insert_with(new_memory);
        memory.forget(began);
        Ok(policy.act(&obs, memory, &mut self.rng, self.greedy))
    }
}

impl Opponent for PolicyOpponent {
    fn reset(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            self.rng = opponent_rng(seed);
        }
    }

    fn act(&mut self, obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError> {
        match self.choose(obs, began) {
            Ok(ActionBatch::Discrete(actions)) => Ok(actions),
            Ok(ActionBatch::Continuous(_)) => Err(EnvError::Unsupported(
                "the opponent has continuous actions; games for two need discrete ones".to_owned(),
            )),
            Err(error) => Err(EnvError::Backend {
                message: format!("the opponent: {error}"),
                details: None,
                is_usage: false,
            }),
        }
    }
}
