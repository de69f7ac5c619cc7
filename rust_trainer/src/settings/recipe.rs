//! The settings of the environments that a recipe decides unless they are named.
//!
//! What a recipe says is written in Python, in `atari_wrappers.recipes`, and only there: a setting
//! that is left to the recipe is not passed on at all.

use toml::Value;

use super::fields::SettingType;

/// A setting that the recipe decides unless it is named: `recipe`, or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrRecipe<T> {
    /// What the recipe says.
    #[default]
    Recipe,
    /// This instead.
    Value(T),
}

impl<T: SettingType> SettingType for OrRecipe<T> {
    fn to_value(&self) -> Value {
        match self {
            Self::Recipe => "recipe".into(),
            Self::Value(value) => value.to_value(),
        }
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        if value.as_str() == Some("recipe") {
            return Ok(Self::Recipe);
        }
        let named = T::from_value(value).map(Self::Value);
        named.map_err(|problem| format!("{problem}, or recipe"))
    }
}

/// How a game that has the action FIRE is started: `true` (as the recipe does it, or by whole steps
/// where it does not), `false`, or one of the ways that `atari_wrappers.recipes` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FireReset {
    /// As the recipe does.
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

impl SettingType for FireReset {
    fn to_value(&self) -> Value {
        match self {
            Self::On => true.into(),
            Self::Off => false.into(),
            Self::Steps => "steps".into(),
            Self::BeforeNoops => "before-noops".into(),
            Self::AfterNoops => "after-noops".into(),
        }
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let ways = [
            Self::On,
            Self::Off,
            Self::Steps,
            Self::BeforeNoops,
            Self::AfterNoops,
        ];
        let named = ways.into_iter().find(|way| way.to_value() == *value);
        named.ok_or_else(|| "must be true, false, steps, before-noops or after-noops".to_owned())
    }
}
