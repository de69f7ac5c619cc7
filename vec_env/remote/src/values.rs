//! Values of messages: arrays, dicts, spaces, and what a client may set.

use prost::bytes::Bytes;
use vec_env::{ActionSpace, Actions, Dtype, ObsSpec};

use crate::messages::{Array, Dict, Entry, List, Space, Value, space, value::Kind};

#[cfg(target_endian = "big")]
compile_error!("messages are little-endian, and observations are handed on as they come");

/// A setting of a client's, in place of the server's.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// As `episodic_life`.
    Flag(bool),
    /// As `frame_stack`.
    Integer(i64),
    /// As `sticky_actions`.
    Number(f64),
    /// As `preset`.
    Text(String),
    /// As `screen_size`.
    Integers(Vec<i64>),
}

macro_rules! settings_from {
    ($($kind:ident $type:ty,)*) => {
        $(impl From<$type> for Setting {
            fn from(value: $type) -> Self {
                Self::$kind(value.into())
            }
        })*
    };
}
settings_from! { Flag bool, Integer i64, Integer i32, Number f64, Text &str, Text String, Integers Vec<i64>, }

impl From<&Setting> for Value {
    fn from(setting: &Setting) -> Self {
        let integer = |integer: &i64| Self {
            kind: Some(Kind::Integer(*integer)),
        };
        let kind = match setting {
            Setting::Flag(flag) => Kind::Flag(*flag),
            Setting::Integer(integer) => Kind::Integer(*integer),
            Setting::Number(number) => Kind::Number(*number),
            Setting::Text(text) => Kind::Text(text.clone()),
            Setting::Integers(integers) => Kind::List(List {
                values: integers.iter().map(integer).collect(),
            }),
        };
        Self { kind: Some(kind) }
    }
}

/// Settings by name as a message.
pub(crate) fn dict(settings: &[(&str, Setting)]) -> Dict {
    let entry = |(name, setting): &(&str, Setting)| Entry {
        name: (*name).to_owned(),
        value: Some(setting.into()),
    };
    Dict {
        entries: settings.iter().map(entry).collect(),
    }
}

impl Dict {
    fn get(&self, name: &str) -> Option<&Kind> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        entry.value.as_ref()?.kind.as_ref()
    }

    pub(crate) fn array(&self, name: &str) -> Option<&Array> {
        match self.get(name) {
            Some(Kind::Array(array)) => Some(array),
            _ => None,
        }
    }

    pub(crate) fn dict(&self, name: &str) -> Option<&Dict> {
        match self.get(name) {
            Some(Kind::Dict(dict)) => Some(dict),
            _ => None,
        }
    }
}

/// A number that an array's may become.
pub(crate) trait Number: Sized {
    fn from_integer(integer: i64) -> Self;
    fn from_real(real: f64) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Number for $type {
            fn from_integer(integer: i64) -> Self {
                integer as Self
            }
            fn from_real(real: f64) -> Self {
                real as Self
            }
        })*
    };
}
numbers! { f32 f64 i32 i64 usize }

impl Number for bool {
    fn from_integer(integer: i64) -> Self {
        integer != 0
    }
    fn from_real(real: f64) -> Self {
        real != 0.0
    }
}

impl Array {
    /// The numbers, which replace those of `out`.
    ///
    /// # Errors
    /// What is wrong: it has another count, or a dtype that is no number's.
    pub(crate) fn read<T: Number>(&self, count: usize, out: &mut Vec<T>) -> Result<(), String> {
        out.clear();
        let data = &self.data[..];
        macro_rules! read {
            ($type:ty, $convert:path, $wide:ty) => {{
                let (chunks, rest) = data.as_chunks();
                let number = |bytes: &[u8; size_of::<$type>()]| <$type>::from_le_bytes(*bytes);
                out.extend(chunks.iter().map(|bytes| $convert(number(bytes) as $wide)));
                rest.is_empty()
            }};
        }
        let is_whole = match self.dtype.as_str() {
            "<f4" => read!(f32, T::from_real, f64),
            "<f8" => read!(f64, T::from_real, f64),
            "|b1" | "|u1" => read!(u8, T::from_integer, i64),
            "|i1" => read!(i8, T::from_integer, i64),
            "<u2" => read!(u16, T::from_integer, i64),
            "<i2" => read!(i16, T::from_integer, i64),
            "<u4" => read!(u32, T::from_integer, i64),
            "<i4" => read!(i32, T::from_integer, i64),
            "<u8" => read!(u64, T::from_integer, i64),
            "<i8" => read!(i64, T::from_integer, i64),
            other => return Err(format!("numbers of dtype {other:?}")),
        };
        if is_whole && out.len() == count {
            return Ok(());
        }
        let (dtype, bytes) = (&self.dtype, data.len());
        Err(format!("{bytes} bytes of {dtype}, not {count} numbers"))
    }

    /// As [`Array::read`], of as many numbers as there are.
    pub(crate) fn numbers<T: Number>(&self) -> Result<Vec<T>, String> {
        let count = self.shape.iter().try_fold(1, |count: usize, &length| {
            count.checked_mul(usize::try_from(length).ok()?)
        });
        let mut out = Vec::new();
        self.read(count.unwrap_or(usize::MAX), &mut out)?;
        Ok(out)
    }

    /// Rows as they lie in memory.
    pub(crate) fn of(dtype: &str, shape: impl IntoIterator<Item = usize>, data: Vec<u8>) -> Self {
        Self {
            dtype: dtype.to_owned(),
            shape: shape.into_iter().map(|length| length as u64).collect(),
            data: Bytes::from(data),
        }
    }
}

/// How many numbers of observations a server may announce.
pub(crate) const MOST_NUMBERS: usize = 1 << 40;

/// What observations a server gives, and whether they are float64, which become float32 here.
///
/// # Errors
/// Which kind they are of, where no batch carries it; their shape, where they have no numbers or too many.
pub(crate) fn obs_spec(space: Option<&Space>) -> Result<(ObsSpec, bool), String> {
    let Some(space::Kind::Box(bounds)) = space.and_then(|space| space.kind.as_ref()) else {
        return Err("the observation space is no Box; only Box ones are supported".to_owned());
    };
    let low = bounds.low.clone().unwrap_or_default();
    let dtype = match low.dtype.as_str() {
        "|u1" => Dtype::Uint8,
        "<f4" | "<f8" => Dtype::Float32,
        other => {
            return Err(format!(
                "observations are {other}; only uint8, float32 and float64 ones are supported"
            ));
        }
    };
    let shape: Vec<usize> = low.shape.iter().map(|&length| length as usize).collect();
    let numbers = shape
        .iter()
        .try_fold(1, |numbers: usize, &length| numbers.checked_mul(length));
    if numbers.is_none_or(|numbers| !(1..=MOST_NUMBERS).contains(&numbers)) {
        return Err(format!("observations of shape {shape:?}"));
    }
    Ok((ObsSpec { shape, dtype }, low.dtype == "<f8"))
}

/// What actions a server takes, and the bytes of a whole number among them.
///
/// # Errors
/// Which kind they are of, where no batch carries it.
pub(crate) fn action_space(space: Option<&Space>) -> Result<(ActionSpace, usize), String> {
    let width = |dtype: &str| match dtype {
        "<i8" => Ok(8),
        "<i4" => Ok(4),
        other => Err(format!(
            "actions are {other}; only int64 and int32 ones are supported"
        )),
    };
    match space.and_then(|space| space.kind.as_ref()) {
        Some(space::Kind::Discrete(discrete)) if discrete.start == 0 => {
            let n = discrete.n;
            Ok((ActionSpace::Discrete { n }, width(&discrete.dtype)?))
        }
        Some(space::Kind::Discrete(_)) => {
            Err("only actions that start at 0 are supported".to_owned())
        }
        Some(space::Kind::MultiDiscrete(counts)) => {
            let nvec = counts.numbers()?;
            Ok((ActionSpace::MultiDiscrete { nvec }, width(&counts.dtype)?))
        }
        Some(space::Kind::Box(bounds)) => {
            let (low, high) = (bounds.low.clone(), bounds.high.clone());
            let (low, high) = (low.unwrap_or_default(), high.unwrap_or_default());
            if low.dtype != "<f4" {
                return Err("of Box action spaces only those of float32 are supported".to_owned());
            }
            let shape = low.shape.iter().map(|&length| length as usize).collect();
            let (low, high): (Vec<f32>, Vec<f32>) = (low.numbers()?, high.numbers()?);
            if low.len() != high.len() {
                return Err("an action space whose bounds differ in length".to_owned());
            }
            Ok((ActionSpace::Box { shape, low, high }, 4))
        }
        _ => Err("only Discrete, MultiDiscrete and Box action spaces are supported".to_owned()),
    }
}

/// Actions as bytes, whole numbers in `width` each.
pub(crate) fn action_bytes(actions: Actions<'_>, width: usize) -> Bytes {
    let mut bytes = Vec::with_capacity(actions.len() * width);
    match actions {
        Actions::Discrete(numbers) => numbers
            .iter()
            .for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()[..width])),
        Actions::Continuous(numbers) => numbers
            .iter()
            .for_each(|number| bytes.extend_from_slice(&number.to_le_bytes())),
    }
    bytes.into()
}

/// Observations as they are handed on: float64 ones are rounded to float32.
pub(crate) fn narrowed(bytes: &[u8]) -> Vec<u8> {
    let (numbers, _) = bytes.as_chunks();
    let narrow = |bytes: &[u8; 8]| (f64::from_le_bytes(*bytes) as f32).to_le_bytes();
    numbers.iter().flat_map(narrow).collect()
}
