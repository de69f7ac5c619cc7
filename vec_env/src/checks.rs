//! What callers give to a batch, refused where it does not fit.

use std::str::FromStr;

use crate::{
    error::EnvError,
    spaces::{ActionSpace, Actions, AutoresetMode, BatchSpec, ObsSpec},
};

impl EnvError {
    /// Refuses memory of another length than `expected` bytes.
    ///
    /// # Errors
    /// [`EnvError::BufferSize`].
    pub fn check_length(buffer: &[u8], expected: usize) -> Result<(), Self> {
        match buffer.len() {
            got if got == expected => Ok(()),
            got => Err(Self::BufferSize { expected, got }),
        }
    }
}

impl ObsSpec {
    /// Refuses what no batch carries.
    ///
    /// # Errors
    /// [`EnvError::Unsupported`] for observations without a number.
    pub fn check(&self) -> Result<(), EnvError> {
        if self.shape.contains(&0) {
            let shape = &self.shape;
            let problem = format!("observations of shape {shape:?} have no numbers");
            return Err(EnvError::Unsupported(problem));
        }
        Ok(())
    }
}

impl BatchSpec {
    /// Refuses saved states that are not one for each environment, whose agents have it together.
    ///
    /// # Errors
    /// [`EnvError::State`].
    pub fn check_states(&self, states: &[Vec<u8>]) -> Result<(), EnvError> {
        match (states.len(), self.num_envs / self.num_agents) {
            (given, needed) if given == needed => Ok(()),
            (given, needed) => Err(EnvError::State(format!(
                "{given} states for {needed} environments"
            ))),
        }
    }
}

impl FromStr for AutoresetMode {
    type Err = EnvError;

    /// By its name in `atari_wrappers`, or in Gymnasium.
    fn from_str(name: &str) -> Result<Self, EnvError> {
        match name {
            "same-step" | "SameStep" => Ok(Self::SameStep),
            "next-step" | "NextStep" => Ok(Self::NextStep),
            "disabled" | "Disabled" => Ok(Self::Disabled),
            other => Err(EnvError::Unsupported(format!(
                "autoreset must be same-step, next-step or disabled, not {other}"
            ))),
        }
    }
}

impl ActionSpace {
    /// Refuses actions of `num_envs` environments that are too few or many, of the other kind, or out
    /// of range (whole numbers only); `env_of` says which environment a row is of.
    ///
    /// # Errors
    /// [`EnvError::ActionKind`], [`EnvError::ActionCount`], [`EnvError::ActionRange`].
    pub fn check(
        &self,
        actions: Actions<'_>,
        num_envs: usize,
        env_of: impl Fn(usize) -> usize,
    ) -> Result<(), EnvError> {
        let num_values = self.num_values();
        let expected = num_envs * num_values;
        if matches!(self, Self::Box { .. }) != matches!(actions, Actions::Continuous(_)) {
            let space = self.clone();
            return Err(EnvError::ActionKind { space });
        }
        if actions.len() != expected {
            return Err(EnvError::ActionCount {
                expected,
                got: actions.len(),
                num_values,
            });
        }
        let num_valid = |place: usize| match self {
            Self::Discrete { n } => *n,
            Self::MultiDiscrete { nvec } => nvec[place % num_values],
            Self::Box { .. } => i64::MAX,
        };
        let Actions::Discrete(actions) = actions else {
            return Ok(());
        };
        let is_valid = |place: &usize| (0..num_valid(*place)).contains(&actions[*place]);
        match (0..actions.len()).find(|place| !is_valid(place)) {
            None => Ok(()),
            Some(place) => Err(EnvError::ActionRange {
                env: env_of(place / num_values),
                action: actions[place],
                num_actions: num_valid(place),
            }),
        }
    }

    /// Refuses numbers outside of a [`ActionSpace::Box`], and those that are none, of actions that passed
    /// [`ActionSpace::check`].
    ///
    /// # Errors
    /// [`EnvError::ActionBounds`].
    pub fn check_bounds(
        &self,
        actions: Actions<'_>,
        env_of: impl Fn(usize) -> usize,
    ) -> Result<(), EnvError> {
        let (Self::Box { low, high, .. }, Actions::Continuous(values)) = (self, actions) else {
            return Ok(());
        };
        let bounds = low.iter().zip(high).cycle();
        let is_outside =
            |(value, (low, high)): (&f32, (&f32, &f32))| !(low..=high).contains(&value);
        let Some(place) = values.iter().zip(bounds).position(is_outside) else {
            return Ok(());
        };
        let row = place / low.len();
        Err(EnvError::ActionBounds {
            env: env_of(row),
            action: values[row * low.len()..][..low.len()].to_vec(),
            low: low.clone(),
            high: high.clone(),
        })
    }
}
