//! Everything that the future of DDPG and TD3 depends on, as plain data, and back.

use serde_json::json;
use tch::{Device, Tensor};

use super::{Ddpg, new_replay};
use crate::{
    algorithms::{in_hand::InHand, progress::Progress, state::State},
    data::{Replay, ReplayState},
    error::TrainerError,
    nn::Params,
    tensors::{obs_kind, obs_tensor},
};

/// What the gradient steps since the last update say.
const TERMS: &str = "terms_of_update";
const POLICY_TERMS: &str = "policy_terms_of_update";
/// The policy's own, beside those of the critics.
const RNG: &str = "policy_rng";
const OPTIMIZER_STEPS: &str = "policy_optimizer_steps";
const PROGRESS: &str = "progress";

impl Ddpg {
    /// What [`Algorithm::state`](crate::algorithms::Algorithm::state) returns.
    pub(super) fn to_state(&self) -> Result<State, TrainerError> {
        let mut state = self.critics.state(&self.beside_critics())?;
        let rng = serde_json::to_string(&self.policy.rng).map_err(TrainerError::value(RNG))?;
        state.values.extend([
            (RNG.to_owned(), json!(rng)),
            (
                OPTIMIZER_STEPS.to_owned(),
                json!(self.policy.optimizer.steps),
            ),
            (PROGRESS.to_owned(), json!(self.progress)),
        ]);
        for (name, terms) in [(TERMS, &self.terms), (POLICY_TERMS, &self.policy_terms)] {
            if !terms.is_empty() {
                let terms = Tensor::stack(terms, 0).to_device(Device::Cpu);
                state.tensors.push((name.to_owned(), terms));
            }
        }
        if !self.replay.in_hand().is_empty() {
            let obs = obs_tensor(self.replay.in_hand(), self.num_envs, &self.obs_spec)?;
            state
                .tensors
                .push((State::OBS_IN_HAND.to_owned(), obs.copy()));
        }
        if let Some(replay) = self.replay.state() {
            state.replay = replay.named();
        }
        Ok(state)
    }

    /// What [`Algorithm::load_state`](crate::algorithms::Algorithm::load_state) does. Without a replay memory an empty
    /// one begins with the observations in hand.
    pub(super) fn take_state(&mut self, state: &State) -> Result<(), TrainerError> {
        let new = |ddpg: &Self| {
            let spaces = (&ddpg.obs_spec, &ddpg.action_space);
            new_replay(&ddpg.settings, spaces, ddpg.num_envs)
        };
        Replay::filled_of(
            self,
            |ddpg| &mut ddpg.replay,
            new,
            |ddpg| ddpg.take_into_empty(state),
        )
    }

    /// The same where the replay memory is empty, which a failure leaves in part.
    fn take_into_empty(&mut self, state: &State) -> Result<(), TrainerError> {
        let mut progress: Progress = state.value(PROGRESS)?;
        let rng: String = state.value(RNG)?;
        let rng = serde_json::from_str(&rng).map_err(TrainerError::value(RNG))?;
        let optimizer_steps = state.value(OPTIMIZER_STEPS)?;
        if state.replay.is_empty() {
            // Gradient steps that a stop broke off have nothing to be taken on.
            progress.steps_to_learn %= self.settings.train_frequency;
        }
        if let Some(obs) = state.obs_in_hand(self.num_envs * self.obs_spec.num_bytes())? {
            if state.replay.is_empty() {
                self.replay.restart(obs)?;
            } else {
                let kind = obs_kind(&self.obs_spec);
                let held = ReplayState::of_named(&state.replay, kind, &self.action_space)?;
                self.replay.load(&held, obs)?;
            }
        }
        self.critics.load_state(state, &self.beside_critics())?;
        (self.policy.rng, self.policy.optimizer.steps) = (rng, optimizer_steps);
        self.progress = progress;
        self.in_hand = InHand::new(self.num_envs * self.obs_spec.num_bytes());
        let device = self.critics.device();
        let terms = |name| {
            let terms = state.tensor(name);
            terms.map_or_else(Vec::new, |terms| terms.copy().to_device(device).unbind(0))
        };
        (self.terms, self.policy_terms) = (terms(TERMS), terms(POLICY_TERMS));
        Ok(())
    }

    /// The tensors that learning changes and that are not the critics', with their names in a state.
    fn beside_critics(&self) -> Vec<(String, Tensor)> {
        let policy = self.policy.net.params.named();
        let policy = policy.map(|(name, tensor)| (name.to_owned(), tensor));
        let moments = self.policy.optimizer.state().into_iter();
        let moments = moments.map(|(name, tensor)| (format!("policy.{name}"), tensor));
        let targets = [&self.target_policy.params, &self.target_critics.params];
        let targets = targets.into_iter().flat_map(Params::named);
        let targets = targets.map(|(name, tensor)| (format!("target.{name}"), tensor));
        let all = policy.chain(moments).chain(targets);
        all.map(|(name, tensor)| (name, tensor.shallow_clone()))
            .collect()
    }
}
