//! What the numbers of a Q-network mean: the mean return of an action, or how its returns are distributed.

use tch::{Device, Kind, Tensor};

/// What is known of the return of an action.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Returns {
    /// One number: the expected return.
    #[default]
    Expected,
    /// Logits of the probabilities of `atoms` returns, evenly spaced from `low` to `high` (C51: Bellemare
    /// et al. 2017).
    Categorical {
        /// How many.
        atoms: i64,
        /// The first of them.
        low: f64,
        /// The last of them.
        high: f64,
    },
    /// `count` quantiles of the return, at the middles of as many equal parts of [0, 1] (QR-DQN: Dabney
    /// et al. 2018, lemma 2).
    Quantiles {
        /// How many.
        count: i64,
    },
    /// The quantile of the return at any fraction that the network is given (IQN: Dabney et al. 2018,
    /// "Implicit quantile networks").
    Implicit {
        /// Cosines by which a fraction is embedded.
        cosines: i64,
        /// Quantiles of which an action value is the mean.
        samples: i64,
    },
}

impl Returns {
    /// Numbers that the last layer makes for each action.
    #[must_use]
    pub fn outputs(self) -> i64 {
        match self {
            Self::Expected | Self::Implicit { .. } => 1,
            Self::Categorical { atoms: count, .. } | Self::Quantiles { count } => count,
        }
    }

    /// Whether a network of the one can be read as one of the other, its weights as they are.
    #[must_use]
    pub fn reads_as(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Implicit { cosines, .. },
                Self::Implicit {
                    cosines: theirs, ..
                },
            ) => cosines == theirs,
            _ => self == other,
        }
    }

    /// What the outputs belong to, float32 `[outputs]`: the returns of a categorical distribution, the
    /// fractions of quantiles; of implicit ones those at which they are asked for where none are drawn.
    pub fn support(self, device: Device) -> Tensor {
        let options = (Kind::Float, device);
        match self {
            Self::Expected => Tensor::zeros([1], options),
            Self::Categorical { atoms, low, high } => Tensor::linspace(low, high, atoms, options),
            Self::Quantiles { count } | Self::Implicit { samples: count, .. } => {
                (Tensor::arange(count, options) + 0.5) / count as f64
            }
        }
    }

    /// Expected returns, `[.., outputs]` → `[..]`.
    pub fn mean(self, outputs: &Tensor) -> Tensor {
        match self {
            Self::Expected => outputs.squeeze_dim(-1),
            Self::Categorical { .. } => {
                let weighted = outputs.softmax(-1, Kind::Float) * self.support(outputs.device());
                weighted.sum_dim_intlist(-1, false, Kind::Float)
            }
            Self::Quantiles { .. } | Self::Implicit { .. } => {
                outputs.mean_dim(-1, false, Kind::Float)
            }
        }
    }
}
