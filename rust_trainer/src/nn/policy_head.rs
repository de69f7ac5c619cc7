//! The last layer of a policy: from features to a distribution over the environment's actions.

use tch::{Kind, Tensor};
use vec_env::ActionSpace;

use super::{
    layers::{Activation, Linear},
    params::ParamsBuilder,
};
use crate::{distributions::Distribution, error::TrainerError};

/// Gain of the first weights: all actions start nearly equally probable, all means near 0.
const GAIN: f64 = 0.01;

/// The layer of a kind of actions.
#[derive(Debug)]
pub struct PolicyHead {
    /// A logit for each discrete action, or a mean for each number of a continuous one.
    layer: Linear,
    /// Of continuous actions, logarithms of the standard deviations, `[dims]`: weights that do not depend on the
    /// observation, at first 0.
    log_std: Option<Tensor>,
}

impl PolicyHead {
    /// Parameters `policy.weight` and `policy.bias`; for continuous actions also `policy.log_std`.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for actions that no policy here takes.
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        inputs: i64,
        actions: &ActionSpace,
    ) -> Result<Self, TrainerError> {
        let (outputs, is_continuous) = match actions {
            ActionSpace::Discrete { n } => (*n, false),
            ActionSpace::Box { low, .. } => (low.len() as i64, true),
            ActionSpace::MultiDiscrete { .. } => {
                return Err(TrainerError::Usage(format!(
                    "no policy for the actions {actions:?}: they must be Discrete or Box"
                )));
            }
        };
        Ok(Self {
            layer: Linear::new(params, "policy", inputs, outputs, GAIN),
            log_std: is_continuous.then(|| params.constant("policy.log_std", &[outputs], 0.0)),
        })
    }

    /// Features `[batch, inputs]` → distributions. Computed in float32 whatever the features are.
    #[must_use]
    pub fn forward(&self, features: &Tensor) -> Distribution {
        let features = features.to_kind(Kind::Float);
        let numbers = self.layer.forward(&features, Activation::None);
        match &self.log_std {
            None => Distribution::categorical(&numbers),
            Some(log_std) => Distribution::DiagonalGaussian {
                mean: numbers,
                log_std: log_std.shallow_clone(),
            },
        }
    }
}
