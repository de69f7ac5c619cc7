//! Published settings by name. Each is a file in `presets/`: its first line says what it is, its comments
//! where the numbers come from. What neither it nor the preset that it is `based_on` names is at its algorithm's
//! default.

use toml::Table;

use crate::error::TrainerError;

/// Settings that something was published with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What the command line calls it.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$( Preset { name: $name, text: include_str!(concat!("presets/", $name, ".toml")) }, )*]
    };
}

impl Preset {
    /// All of them.
    pub const ALL: &[Self] = presets![
        "ppo-atari",
        "ppo-lstm-atari",
        "ppo-impala-atari",
        "a2c-atari",
        "dqn-atari",
        "qrdqn-atari",
        "rainbow-atari",
        "dopamine-iqn",
        "dopamine-rainbow",
        "pqn-atari",
        "ppo-cartpole",
        "a2c-cartpole",
        "dqn-cartpole",
        "pqn-cartpole",
        "ppo-pendulum",
        "td3-pendulum",
        "ppo-continuous",
        "ddpg-continuous",
        "td3-continuous",
        "ippo-simple-spread",
        "mappo-simple-spread",
        "maddpg-simple-spread",
        "ppo-record",
        "pqn-record",
    ];

    /// The preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|preset| preset.name == name).copied()
    }

    /// What it is, in a line.
    #[must_use]
    pub fn about(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches('#').trim()
    }

    /// The settings that it names, and below them those of the preset that it is `based_on`.
    pub fn table(&self) -> Result<Table, TrainerError> {
        let refused = |problem| TrainerError::Usage(format!("preset `{}`: {problem}", self.name));
        let own = toml::from_str(self.text);
        let mut own: Table = own.map_err(|error| refused(error.to_string()))?;
        let Some(name) = own.remove("based_on") else {
            return Ok(own);
        };
        let below = name.as_str().and_then(Self::named);
        let mut all = below
            .ok_or_else(|| refused(format!("there is no {name}")))?
            .table()?;
        all.extend(own);
        Ok(all)
    }
}
