//! How a list of settings is written down: [`settings!`] makes of it the struct, its defaults and the
//! table of its fields, from which the command line, files and the checks of values follow.

use std::{fmt, path::PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use toml::{Table, Value};

use crate::error::TrainerError;

/// Makes a struct of settings: `/// Explanation` and `name: type = default, rule,` for each.
///
/// The first paragraph of the explanation is the line of `--help`; the rule is a [`Rule`]. A setting
/// that counts for nothing unless another one asks for it says so behind its rule, by a [`ReadIf`]:
/// `if On("prioritized"),` or `if OneOf("head", &["c51"]),`.
macro_rules! settings {
    ($(#[$about:meta])* $visibility:vis struct $Name:ident {
        $( $(#[doc = $doc:literal])+ $name:ident : $type:ty = $default:expr, $rule:expr,
           $(if $condition:expr,)? )*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $Name {
            $( $(#[doc = $doc])+ pub $name: $type, )*
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $( $name: $default, )* }
            }
        }

        impl $Name {
            /// What the command line, files and checks know of these settings.
            pub const FIELDS: &[$crate::settings::fields::Field] = &[$({
                #[allow(unused_imports, reason = "not every list has every rule")]
                use $crate::settings::fields::{ReadIf::*, Rule::*};
                let field = $crate::settings::fields::Field::new::<$type>(
                    stringify!($name), concat!($($doc),+), $rule, || {
                        let default: $type = $default;
                        $crate::settings::fields::SettingType::to_value(&default)
                    });
                $(let field = field.read_if($condition);)?
                field
            }),*];

            /// The settings that `table` names, the others at their defaults.
            pub fn from_table(table: &toml::Table) -> Result<Self, $crate::error::TrainerError> {
                let mut fields = Self::FIELDS.iter();
                Ok(Self { $( $name: $crate::settings::fields::read(fields.next(), table, $default)?, )* })
            }

            /// Adds all these settings to `table`.
            pub fn write_to(&self, table: &mut toml::Table) {
                $( table.insert(stringify!($name).to_owned(),
                                $crate::settings::fields::SettingType::to_value(&self.$name)); )*
            }
        }
    };
}
pub(crate) use settings;

/// What holds of a number; texts and choices pass them all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Every value is fine.
    Any,
    /// Finite and greater than 0.
    Positive,
    /// Finite and not below 0.
    NotNegative,
    /// From the first to the second, both included.
    Between(f64, f64),
}

impl Rule {
    /// What is wrong with `value`, if anything.
    fn problem(self, value: &Value) -> Option<String> {
        let number = match *value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => return None,
        };
        let (holds, problem) = match self {
            Self::Any => (true, "must be a finite number".to_owned()),
            Self::Positive => (number > 0.0, "must be greater than 0".to_owned()),
            Self::NotNegative => (number >= 0.0, "must not be negative".to_owned()),
            Self::Between(low, high) => (
                (low..=high).contains(&number),
                format!("must lie between {low} and {high}"),
            ),
        };
        (!holds || !number.is_finite()).then_some(problem)
    }
}

/// What another setting must be for a setting to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadIf {
    /// The setting of this name is `true`, or a number other than 0.
    On(&'static str),
    /// The setting of this name has one of these values.
    OneOf(&'static str, &'static [&'static str]),
}

impl ReadIf {
    /// The setting that decides.
    #[must_use]
    pub fn switch(self) -> &'static str {
        match self {
            Self::On(switch) | Self::OneOf(switch, _) => switch,
        }
    }

    /// Whether it holds where the deciding setting is `value`.
    #[must_use]
    pub fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::OneOf(_, values), _) => values.contains(&shown(value).as_str()),
            (Self::On(_), Value::Boolean(on)) => *on,
            (Self::On(_), Value::Integer(number)) => *number != 0,
            (Self::On(_), Value::Float(number)) => *number != 0.0,
            (Self::On(_), _) => true,
        }
    }
}

impl fmt::Display for ReadIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(switch) => write!(f, "`{switch}`"),
            Self::OneOf(switch, values) => write!(f, "`{switch}` = {}", values.join(" or ")),
        }
    }
}

/// A type that settings can have: how it stands in a TOML file.
pub trait SettingType: Sized {
    /// The choices, where there are few.
    #[must_use]
    fn possible_values() -> Vec<PossibleValue> {
        Vec::new()
    }

    /// The value as files hold it.
    fn to_value(&self) -> Value;

    /// The value that a file holds.
    ///
    /// # Errors
    /// What it must be instead, such as `must be a whole number`.
    fn from_value(value: &Value) -> Result<Self, String>;
}

macro_rules! whole_numbers {
    ($($type:ty),*) => { $(
        impl SettingType for $type {
            fn to_value(&self) -> Value {
                // TOML's integers end at i64::MAX; what lies beyond is no whole number, and refused.
                i64::try_from(*self).map_or(Value::Float(f64::INFINITY), Value::Integer)
            }

            fn from_value(value: &Value) -> Result<Self, String> {
                let number = value.as_integer().and_then(|number| number.try_into().ok());
                number.ok_or_else(|| {
                    let largest = i64::try_from(Self::MAX).unwrap_or(i64::MAX);
                    format!("must be a whole number from {} to {largest}", Self::MIN)
                })
            }
        }
    )* };
}
whole_numbers!(u64, usize, i32, i64);

impl SettingType for f64 {
    fn to_value(&self) -> Value {
        Value::Float(*self)
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let whole = || value.as_integer().map(|number| number as f64);
        let number = value.as_float().or_else(whole);
        number.ok_or_else(|| "must be a number".to_owned())
    }
}

impl SettingType for bool {
    fn possible_values() -> Vec<PossibleValue> {
        ["true", "false"].map(PossibleValue::new).into()
    }

    fn to_value(&self) -> Value {
        Value::Boolean(*self)
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        value
            .as_bool()
            .ok_or_else(|| "must be true or false".to_owned())
    }
}

impl SettingType for String {
    fn to_value(&self) -> Value {
        Value::String(self.clone())
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| "must be a text in quotes".to_owned())
    }
}

impl SettingType for PathBuf {
    fn to_value(&self) -> Value {
        Value::String(self.to_string_lossy().into_owned())
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        String::from_value(value).map(Self::from)
    }
}

/// One setting, apart from its value.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in files; the command line has `-` for `_`.
    pub name: &'static str,
    /// What it is, for `--help`.
    pub help: &'static str,
    /// What holds of its value.
    pub rule: Rule,
    /// Its default.
    pub default: fn() -> Value,
    /// What it is read with alone; always, where nothing is said.
    pub read_if: Option<ReadIf>,
    possible_values: fn() -> Vec<PossibleValue>,
    type_problem: fn(&Value) -> Option<String>,
}

impl Field {
    /// A setting of type `T`.
    #[must_use]
    pub const fn new<T: SettingType>(
        name: &'static str,
        help: &'static str,
        rule: Rule,
        default: fn() -> Value,
    ) -> Self {
        Self {
            name,
            help,
            rule,
            default,
            read_if: None,
            possible_values: T::possible_values,
            type_problem: |value| T::from_value(value).err(),
        }
    }

    /// The same, read only where `condition` holds.
    #[must_use]
    pub const fn read_if(self, condition: ReadIf) -> Self {
        Self {
            read_if: Some(condition),
            ..self
        }
    }

    /// What a command line's word for this setting means.
    pub(crate) fn parser(&'static self) -> ValueParser {
        let values = (self.possible_values)();
        if values.is_empty() {
            return ValueParser::new(|word: &str| self.parse(word));
        }
        let parser = PossibleValuesParser::new(values);
        ValueParser::new(parser.try_map(|word| self.parse(&word)))
    }

    fn parse(&self, word: &str) -> Result<Value, String> {
        let text = Value::String(word.to_owned());
        let readings = [
            word.parse().ok().map(Value::Integer),
            word.parse().ok().map(Value::Float),
            word.parse().ok().map(Value::Boolean),
            Some(text.clone()),
        ];
        let mut fitting = readings.into_iter().flatten();
        fitting
            .find(|value| (self.type_problem)(value).is_none())
            .ok_or_else(|| (self.type_problem)(&text).unwrap_or_default())
    }
}

/// The value of `field` in `table`, checked, or `default`; for [`settings!`].
pub(crate) fn read<T: SettingType>(
    field: Option<&Field>,
    table: &Table,
    default: T,
) -> Result<T, TrainerError> {
    let Some((field, value)) = field.and_then(|field| Some((field, table.get(field.name)?))) else {
        return Ok(default);
    };
    let refuse = |problem| TrainerError::setting(field.name, shown(value), problem);
    let read = T::from_value(value).map_err(|problem| {
        let unquoted = value.as_str().map(|word| field.parse(word));
        match unquoted {
            Some(Ok(_)) => TrainerError::setting(field.name, value, problem), // in its quotes
            _ => refuse(problem),
        }
    })?;
    match field.rule.problem(value) {
        Some(problem) => Err(refuse(problem)),
        None => Ok(read),
    }
}

/// A value as the command line spells it.
pub(crate) fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
