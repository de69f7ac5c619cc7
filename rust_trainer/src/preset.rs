//! The settings of the environments that a preset decides: [`Preset`] and [`OrPreset`].
//!
//! What a preset says is written in Python, in `atari_wrappers.recipes`, and only there: a setting
//! that is left to the preset is not passed on at all.

use std::{fmt, marker::PhantomData, str::FromStr};

use clap::ValueEnum;
use python_shim::Value;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer, Visitor},
};

/// How games are preprocessed: the field's recipes, by the library that defines each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// ALE's, with an end at each lost life while the game goes on.
    #[default]
    Default,
    /// Stable-Baselines3's and `CleanRL`'s.
    Baselines,
    /// `AtariPreprocessing` and `FrameStackObservation`.
    Gymnasium,
    /// `AtariVectorEnv`.
    Ale,
    /// `EnvPool`'s.
    Envpool,
}

impl Preset {
    /// The name in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Baselines => "baselines",
            Self::Gymnasium => "gymnasium",
            Self::Ale => "ale",
            Self::Envpool => "envpool",
        }
    }
}

/// How a game that has the action FIRE is started: `true` (as the preset does it, or by whole steps
/// where it does not), `false`, or one of the ways that `atari_wrappers.recipes` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FireReset {
    /// As the preset does.
    On,
    /// Not at all.
    Off,
    /// A whole agent step of action 1, then one of action 2, after the no-ops.
    Steps,
    /// One frame of FIRE, then the no-ops.
    BeforeNoops,
    /// The no-ops, then one frame of FIRE.
    AfterNoops,
}

impl FromStr for FireReset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(Self::On),
            "false" | "off" => Ok(Self::Off),
            "steps" => Ok(Self::Steps),
            "before-noops" => Ok(Self::BeforeNoops),
            "after-noops" => Ok(Self::AfterNoops),
            _ => Err("expected true, false, steps, before-noops or after-noops".to_owned()),
        }
    }
}

impl From<FireReset> for Value {
    fn from(way: FireReset) -> Self {
        match way {
            FireReset::On => true.into(),
            FireReset::Off => false.into(),
            FireReset::Steps => "steps".into(),
            FireReset::BeforeNoops => "before-noops".into(),
            FireReset::AfterNoops => "after-noops".into(),
        }
    }
}

impl Serialize for FireReset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Value::from(*self) {
            Value::Str(way) => serializer.serialize_str(&way),
            _ => serializer.serialize_bool(*self == Self::On),
        }
    }
}

impl<'de> Deserialize<'de> for FireReset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|on| if on { Self::On } else { Self::Off })
    }
}

/// A setting that the preset decides unless it is named: `preset`, or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrPreset<T> {
    /// What the preset says.
    #[default]
    Preset,
    /// This instead.
    Value(T),
}

impl<T> OrPreset<T> {
    /// The value, if one is named.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Preset => None,
            Self::Value(value) => Some(value),
        }
    }
}

impl<T: FromStr<Err: fmt::Display>> FromStr for OrPreset<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "preset" {
            return Ok(Self::Preset);
        }
        let value = text.parse().map(Self::Value);
        value.map_err(|error| format!("neither `preset` nor a value: {error}"))
    }
}

impl<T: Serialize> Serialize for OrPreset<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Preset => serializer.serialize_str("preset"),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T> Deserialize<'de> for OrPreset<T>
where
    T: Deserialize<'de> + FromStr<Err: fmt::Display>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrPresetVisitor(PhantomData))
    }
}

struct OrPresetVisitor<T>(PhantomData<T>);

impl<'de, T> Visitor<'de> for OrPresetVisitor<T>
where
    T: Deserialize<'de> + FromStr<Err: fmt::Display>,
{
    type Value = OrPreset<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`preset` or a value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        // Runs of version 0.1.0 spelled `clip_reward` as a word, and the environment's way `auto`.
        let text = if text == "auto" { "preset" } else { text };
        text.parse().map_err(E::custom)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OrPreset::Value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OrPreset::Value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OrPreset::Value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(OrPreset::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Some4 {
        count: OrPreset<i64>,
        part: OrPreset<f64>,
        flag: OrPreset<bool>,
        fire: OrPreset<FireReset>,
    }

    const PRESET: Some4 = Some4 {
        count: OrPreset::Preset,
        part: OrPreset::Preset,
        flag: OrPreset::Preset,
        fire: OrPreset::Preset,
    };

    #[test]
    fn values_stand_as_themselves_in_both_formats() {
        let named = Some4 {
            count: OrPreset::Value(30),
            part: OrPreset::Value(0.25),
            flag: OrPreset::Value(false),
            fire: OrPreset::Value(FireReset::On),
        };
        let text = "count = 30\npart = 0.25\nflag = false\nfire = true\n";
        assert_eq!(toml::to_string(&named).unwrap(), text);
        let steps = Some4 {
            fire: OrPreset::Value(FireReset::Steps),
            ..PRESET
        };
        let text = "count = \"preset\"\npart = \"preset\"\nflag = \"preset\"\nfire = \"steps\"\n";
        assert_eq!(toml::to_string(&steps).unwrap(), text);
        for settings in [named, steps, PRESET] {
            let toml: Some4 = toml::from_str(&toml::to_string(&settings).unwrap()).unwrap();
            let json = serde_json::to_string(&settings).unwrap();
            let json: Some4 = serde_json::from_str(&json).unwrap();
            assert_eq!((&toml, &json), (&settings, &settings));
        }
    }

    #[test]
    fn words_of_older_runs_are_understood() {
        let old = r#"{"count": 4, "part": 0, "flag": "true", "fire": false}"#;
        let read: Some4 = serde_json::from_str(old).unwrap();
        let expected = Some4 {
            count: OrPreset::Value(4),
            part: OrPreset::Value(0.0),
            flag: OrPreset::Value(true),
            fire: OrPreset::Value(FireReset::Off),
        };
        assert_eq!(read, expected);
        assert_eq!(
            serde_json::from_str::<OrPreset<bool>>("\"auto\"").unwrap(),
            OrPreset::Preset
        );
    }

    #[test]
    fn what_is_neither_is_named() {
        let error = "many".parse::<OrPreset<i64>>().unwrap_err();
        assert!(error.contains("neither `preset` nor"), "{error}");
        let error = toml::from_str::<Some4>("count = true").unwrap_err();
        assert!(error.to_string().contains("boolean"), "{error}");
        let error = "fast".parse::<OrPreset<FireReset>>().unwrap_err();
        assert!(error.contains("before-noops"), "{error}");
    }
}
