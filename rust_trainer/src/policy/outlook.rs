//! [`Outlook`]: what a policy makes of an observation, for whoever looks on.

/// What is expected, and what is thought of each action.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// The value of the observation; that of the best action where actions are valued, and none where nothing is.
    pub value: Option<f32>,
    /// What is said of the actions.
    pub estimates: Estimates,
}

/// What is said of the actions.
#[derive(Clone, Debug, PartialEq)]
pub enum Estimates {
    /// How probable each is.
    Probabilities(Vec<f32>),
    /// What each is worth.
    ActionValues(Vec<f32>),
    /// The mean of each number of a continuous action.
    Means(Vec<f32>),
}

#[cfg(test)]
mod tests {
    use tch::{Device, Tensor};
    use vec_env::{ActionBatch, ActionSpace, Dtype, ObsSpec};

    use super::*;
    use crate::{
        nn::{Memory, PolicyValueNet, QNet, QStyle, Returns},
        policy::{EpsilonGreedy, Policy},
        random::seeded_rng,
        settings::{NetSettings, Precision},
        tensors::argmax,
    };

    const ACTIONS: ActionSpace = ActionSpace::Discrete { n: 4 };

    fn spec() -> ObsSpec {
        ObsSpec {
            shape: vec![3],
            dtype: Dtype::Float32,
        }
    }

    /// The greedy action, and what was said of the actions before.
    fn of(policy: &dyn Policy) -> (usize, Outlook) {
        let obs = Tensor::from_slice(&[0.5_f32, -1.0, 2.0]).view([1, 3]);
        let outlook = policy.outlook(&obs, &Memory::default());
        let (mut memory, mut rng) = (Memory::default(), seeded_rng(1));
        match policy.act(&obs, &mut memory, &mut rng, true) {
            ActionBatch::Discrete(actions) => (actions[0] as usize, outlook),
            ActionBatch::Continuous(_) => unreachable!("the actions are discrete"),
        }
    }

    #[test]
    fn the_most_probable_action_is_the_greedy_one() {
        let (settings, mut rng) = (NetSettings::default(), seeded_rng(1));
        let on = (Device::Cpu, Precision::Fp32);
        let net = PolicyValueNet::new(&spec(), &ACTIONS, &settings, 0, on.0, on.1, &mut rng);
        let (action, outlook) = of(&net.unwrap());
        let Estimates::Probabilities(shares) = outlook.estimates else {
            unreachable!("a policy of probabilities")
        };
        assert_eq!((shares.len(), argmax(&shares)), (4, action));
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_value_is_that_of_the_best_action() {
        let style = QStyle {
            layer_norm: false,
            dueling: false,
            noise: None,
            returns: Returns::Expected,
        };
        let (settings, mut rng) = (NetSettings::default(), seeded_rng(1));
        let on = (Device::Cpu, Precision::Fp32);
        let net = QNet::new(&spec(), &ACTIONS, &settings, style, on, &mut rng).unwrap();
        let (action, outlook) = of(&EpsilonGreedy { net, epsilon: 1.0 });
        let Estimates::ActionValues(values) = outlook.estimates else {
            unreachable!("a policy of values")
        };
        assert_eq!((values.len(), argmax(&values)), (4, action));
        assert!((outlook.value.unwrap() - values[action]).abs() < 1e-6);
    }
}
