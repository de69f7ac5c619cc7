//! What DQN's settings mean: the network, and how ε falls.

use crate::{
    algorithms::schedule,
    nn::{QStyle, Returns},
    settings::{Distributional, DqnSettings},
};

impl DqnSettings {
    /// The network.
    pub(in crate::algorithms) fn style(&self) -> QStyle {
        QStyle {
            layer_norm: false,
            dueling: self.dueling,
            noise: self.noisy.then_some(self.noisy_sigma),
            returns: match self.distributional {
                Distributional::None => Returns::Expected,
                Distributional::C51 => Returns::Categorical {
                    atoms: self.num_atoms,
                    low: self.v_min,
                    high: self.v_max,
                },
                Distributional::Quantile => Returns::Quantiles {
                    count: self.num_quantiles,
                },
            },
        }
    }

    /// ε behind `steps` of `total_steps` agent steps; 0 where noisy weights explore.
    pub(super) fn epsilon(&self, steps: u64, total_steps: u64) -> f64 {
        if self.noisy {
            return 0.0;
        }
        let falling = self.exploration_fraction * total_steps as f64;
        schedule::linear(self.start_e, self.end_e, steps as f64, falling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_falls_linearly_and_stays() {
        let settings = DqnSettings {
            start_e: 1.0,
            end_e: 0.1,
            exploration_fraction: 0.5,
            ..DqnSettings::default()
        };
        let never = DqnSettings {
            exploration_fraction: 0.0,
            ..settings.clone()
        };
        let noisy = DqnSettings {
            noisy: true,
            ..settings.clone()
        };
        for (settings, steps, expected) in [
            (&settings, 0, 1.0),
            (&settings, 10, 0.82),
            (&settings, 40, 0.28),
            (&settings, 50, 0.1),
            (&settings, 99, 0.1),
            (&settings, 200, 0.1),
            (&never, 0, 0.1),
            (&noisy, 0, 0.0),
            (&noisy, 99, 0.0),
        ] {
            let epsilon = settings.epsilon(steps, 100);
            assert!((epsilon - expected).abs() < 1e-12, "{steps}: {epsilon}");
        }
    }
}
