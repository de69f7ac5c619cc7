//! Everything that the future of an algorithm that learns from rollouts depends on, as plain data, and back.

use serde_json::json;

use super::{OnPolicy, OnPolicyAlgorithm};
use crate::{
    algorithms::state::State,
    error::TrainerError,
    nn::{Memory, Network},
    normalize::{ObsNormalizer, RewardNormalizer},
    policy::Policy,
};

impl<S: OnPolicy> OnPolicyAlgorithm<S> {
    /// What [`Algorithm::state`](crate::algorithms::Algorithm::state) returns.
    pub(super) fn to_state(&self) -> Result<State, TrainerError> {
        let ranks = &self.learner.ranks;
        let mut in_hand = Vec::new();
        for (name, state) in Memory::joined(&self.memories).named() {
            in_hand.push((name.to_owned(), ranks.rows_at_first(state, Memory::ENVS)?));
        }
        let obs = ranks.rows_at_first(&self.rollout.obs_in_hand(), 0)?;
        in_hand.push((State::OBS_IN_HAND.to_owned(), obs));
        let mut state = self.learner.state(&in_hand)?;
        let values = &mut state.values;
        values.insert("updates".to_owned(), json!(self.updates.done));
        if let Some(normalizer) = self.learner.net.obs_normalizer() {
            values.insert(ObsNormalizer::NAME.to_owned(), json!(normalizer));
        }
        if let Some(normalizer) = &self.reward_normalizer {
            values.insert(RewardNormalizer::NAME.to_owned(), json!(normalizer));
        }
        Ok(state)
    }

    /// What [`Algorithm::network_state`](crate::algorithms::Algorithm::network_state) returns.
    pub(super) fn network(&self) -> State {
        let normalizer = self.learner.net.obs_normalizer();
        let normalizer = normalizer.map(|found| (ObsNormalizer::NAME.to_owned(), json!(found)));
        State {
            values: normalizer.into_iter().collect(),
            ..State::of_network(self.learner.net.params().named())
        }
    }

    /// What [`Algorithm::load_state`](crate::algorithms::Algorithm::load_state) does.
    pub(super) fn take_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let ranks = self.learner.ranks.clone();
        let updates = state.value("updates")?;
        let load = |_| ObsNormalizer::load(state.value(ObsNormalizer::NAME)?, &self.obs_spec);
        let obs_normalizer = (self.learner.net.obs_normalizer()).map(load).transpose()?;
        let num_envs = self.rollout.num_envs() * ranks.count();
        let load = |_| RewardNormalizer::load(state.value(RewardNormalizer::NAME)?, num_envs);
        let reward_normalizer = self.reward_normalizer.as_ref().map(load).transpose()?;
        let obs = ranks.room_for_all(&self.rollout.obs_in_hand(), 0);
        let memory = self.learner.net.new_memory(num_envs);
        let in_hand = memory.named().chain([(State::OBS_IN_HAND, &obs)]);
        let in_hand = in_hand.map(|(name, tensor)| (name.to_owned(), tensor.shallow_clone()));
        let in_hand: Vec<_> = in_hand.collect();
        self.learner.load_state(state, &in_hand)?;
        if let (Some(present), Some(loaded)) =
            (self.learner.net.obs_normalizer_mut(), obs_normalizer)
        {
            *present = loaded;
        }
        self.reward_normalizer = reward_normalizer;
        self.is_reset = false;
        self.updates.done = updates;
        let own = ranks.share(num_envs).map(|env| env as i64);
        // What another policy did is not this one's to learn from.
        self.restart(memory.select(&own.collect::<Vec<_>>()));
        self.rollout.set_obs_in_hand(&ranks.own_rows(&obs, 0))
    }

    /// What [`Algorithm::start_from`](crate::algorithms::Algorithm::start_from) does.
    pub(super) fn take_network(&mut self, state: &State) -> Result<(), TrainerError> {
        let spec = &self.obs_spec;
        let saved = state.values.contains_key(ObsNormalizer::NAME);
        let load = || ObsNormalizer::load(state.value(ObsNormalizer::NAME)?, spec);
        let loaded = saved.then(load).transpose()?;
        if saved != self.learner.net.obs_normalizer_mut().is_some() {
            let problem = "observations: normalized (`norm_obs`) in one of the two runs only";
            return Err(TrainerError::State(problem.to_owned()));
        }
        state.copy_to(self.learner.net.params().named())?;
        if let (Some(present), Some(loaded)) = (self.learner.net.obs_normalizer_mut(), loaded) {
            *present = loaded;
        }
        Ok(())
    }
}
