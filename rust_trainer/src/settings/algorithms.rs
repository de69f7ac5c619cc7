//! Which algorithm learns, and its settings: those that it reads and others may not.

use toml::Table;

use super::{
    a2c::A2cSettings, choices::choices, ddpg::DdpgSettings, dqn::DqnSettings, fields::Field,
    ppo::PpoSettings, pqn::PqnSettings,
};
use crate::error::TrainerError;

/// The algorithms: a line for each.
macro_rules! algorithms {
    ($( $(#[doc = $doc:literal])+ $Algorithm:ident($Settings:ty) = $name:literal, )*) => {
        choices! {
            /// The learning algorithm.
            pub enum Algorithm { $( $(#[doc = $doc])+ $Algorithm = $name, )* }
        }

        /// The algorithm of a run, with its settings.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AlgorithmSettings { $( $(#[doc = $doc])+ $Algorithm($Settings), )* }

        impl Algorithm {
            /// All of them.
            pub const ALL: &[Self] = &[$( Self::$Algorithm, )*];

            /// The settings that it reads and that others may not.
            pub(crate) fn fields(self) -> &'static [Field] {
                match self { $( Self::$Algorithm => <$Settings>::FIELDS, )* }
            }

            /// Environments stepped together by default.
            pub(super) fn num_envs(self) -> usize {
                match self { $( Self::$Algorithm => <$Settings>::NUM_ENVS, )* }
            }

            /// Its settings as `table` has them, the others at their defaults.
            pub(super) fn read(self, table: &Table) -> Result<AlgorithmSettings, TrainerError> {
                Ok(match self {
                    $( Self::$Algorithm => AlgorithmSettings::$Algorithm(<$Settings>::from_table(table)?), )*
                })
            }
        }

        impl AlgorithmSettings {
            /// Which algorithm it is.
            #[must_use]
            pub fn algorithm(&self) -> Algorithm {
                match self { $( Self::$Algorithm(_) => Algorithm::$Algorithm, )* }
            }

            pub(super) fn write_to(&self, table: &mut Table) {
                match self { $( Self::$Algorithm(settings) => settings.write_to(table), )* }
            }

            /// Refuses values that contradict each other, for so many environments.
            pub(super) fn check(&self, num_envs: usize) -> Result<(), TrainerError> {
                match self { $( Self::$Algorithm(settings) => settings.check(num_envs), )* }
            }
        }
    };
}

impl Algorithm {
    /// Whether it learns from rollouts, and not from a replay memory.
    pub(crate) fn learns_from_rollouts(self) -> bool {
        matches!(self, Self::Ppo | Self::A2c | Self::Pqn)
    }
}

impl AlgorithmSettings {
    /// Those of DDPG, TD3 or MADDPG, if it is one of them.
    pub(crate) fn ddpg(&self) -> Option<&DdpgSettings> {
        match self {
            Self::Ddpg(own) | Self::Td3(own) | Self::Maddpg(own) => Some(own),
            _ => None,
        }
    }
}

algorithms! {
    /// Proximal policy optimization.
    Ppo(PpoSettings) = "ppo",
    /// Advantage actor-critic, the synchronous A3C.
    A2c(A2cSettings) = "a2c",
    /// Deep Q-network, and what was added to it up to Rainbow.
    Dqn(DqnSettings) = "dqn",
    /// Parallelized Q-network.
    Pqn(PqnSettings) = "pqn",
    /// Deep deterministic policy gradients, for continuous actions.
    Ddpg(DdpgSettings) = "ddpg",
    /// The same with twin critics, a delayed policy and smoothed targets.
    Td3(DdpgSettings) = "td3",
    /// DDPG for several agents at once, whose critics read what all observe and do.
    Maddpg(DdpgSettings) = "maddpg",
}
