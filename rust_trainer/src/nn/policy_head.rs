//! The last layer of a policy: from features to a distribution over the environment's actions.

use tch::{Kind, Tensor};
use vec_env::ActionSpace;

use super::{Linear, ParamsBuilder};
use crate::{
    distributions::{Categorical, DiagonalGaussian, Distribution},
    error::TrainerError,
};

/// Gain of the first weights: all actions start nearly equally probable, all means near 0.
const GAIN: f64 = 0.01;

/// The layer of a kind of actions.
#[derive(Debug)]
pub enum PolicyHead {
    /// A logit for each discrete action.
    Categorical(Linear),
    /// A mean for each number of a continuous action.
    DiagonalGaussian {
        /// Features to means.
        mean: Linear,
        /// Logarithms of the standard deviations, `[dims]`: weights that do not depend on the
        /// observation, at first 0.
        log_std: Tensor,
    },
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
        let mut layer = |outputs| Linear::new(params, "policy", inputs, outputs, GAIN);
        match actions {
            ActionSpace::Discrete { n } => Ok(Self::Categorical(layer(*n))),
            ActionSpace::Box { low, .. } => {
                let dims = low.len() as i64;
                Ok(Self::DiagonalGaussian {
                    mean: layer(dims),
                    log_std: params.zeros("policy.log_std", dims),
                })
            }
            ActionSpace::MultiDiscrete { .. } => Err(TrainerError::Usage(format!(
                "no policy for the actions {actions:?}: they must be Discrete or Box"
            ))),
        }
    }

    /// Features `[batch, inputs]` → distributions. Computed in float32 whatever the features are.
    #[must_use]
    pub fn forward(&self, features: &Tensor) -> Distribution {
        let features = features.to_kind(Kind::Float);
        match self {
            Self::Categorical(logits) => {
                Distribution::Categorical(Categorical::new(&logits.forward(&features)))
            }
            Self::DiagonalGaussian { mean, log_std } => {
                let (mean, log_std) = (mean.forward(&features), log_std.shallow_clone());
                Distribution::DiagonalGaussian(DiagonalGaussian::new(mean, log_std))
            }
        }
    }
}
