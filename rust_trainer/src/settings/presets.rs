//! Published settings by name. Each is a file in `presets/`: its first line says what it is, its comments
//! where the numbers come from. What a preset does not name is at its algorithm's default.

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
        "pqn-atari",
        "ppo-cartpole",
        "a2c-cartpole",
        "dqn-cartpole",
        "pqn-cartpole",
        "ppo-pendulum",
        "ppo-continuous",
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

    /// The settings that it names.
    ///
    /// # Errors
    /// [`TrainerError::Usage`] for a file that is no TOML.
    pub fn table(&self) -> Result<Table, TrainerError> {
        let table = toml::from_str(self.text);
        table.map_err(|error| TrainerError::Usage(format!("preset `{}`: {error}", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Settings, layers::lay_over};

    #[test]
    fn each_preset_is_whole_and_says_what_it_is() {
        for preset in Preset::ALL {
            let settings = Settings::layered(Some(preset), None, &Table::new()).unwrap();
            let table = preset.table().unwrap();
            assert!(table.contains_key("algorithm"), "{}", preset.name);
            assert!(table.contains_key("total_steps"), "{}", preset.name);
            let algorithm = settings.algorithm.algorithm();
            let has_name = preset.name.contains(algorithm.name());
            assert!(
                has_name || preset.name == "rainbow-atari",
                "{}",
                preset.name
            );
            assert!(preset.about().len() > 20, "{}", preset.name);
            assert_eq!(Preset::named(preset.name), Some(*preset));
        }
    }

    /// A number in a preset that is no setting of this type would otherwise be taken at its default.
    #[test]
    fn each_value_of_a_preset_arrives() {
        for preset in Preset::ALL {
            let table = preset.table().unwrap();
            let settings = Settings::layered(Some(preset), None, &Table::new()).unwrap();
            let all = settings.table();
            for (name, value) in &table {
                let arrived = &all[name];
                let as_float = value.as_integer().map(|whole| (whole as f64).into());
                let is_same = arrived == value || Some(arrived) == as_float.as_ref();
                assert!(is_same, "{}: {name} = {arrived}", preset.name);
            }
            assert_eq!(lay_over(table.clone(), &Table::new()).unwrap(), table);
        }
    }
}
