//! [`Value`]: settings, arguments and attributes on their way to Python and back; `convert` takes them there.

mod convert;

pub(crate) use convert::{from_python, to_dict, to_list, to_python};

/// A value as both languages have it.
///
/// To Python: `None`, `bool`, `int`, `float`, `str`, `bytes`, `list`, `dict`, and numpy arrays. From
/// Python: the same, with a `tuple` as a list, `bytearray` as bytes, and numpy's scalars as plain
/// ones. Anything else is refused by an error that names its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Python's `None`.
    None,
    /// A `bool`.
    Bool(bool),
    /// An `int`.
    Int(i64),
    /// A `float`.
    Float(f64),
    /// A `str`, for paths too.
    Str(String),
    /// `bytes`.
    Bytes(Vec<u8>),
    /// A `list`; a pair of numbers such as `screen_size` is one too.
    List(Vec<Value>),
    /// A `dict` whose keys are strings, in its order.
    Map(Vec<(String, Value)>),
    /// A numpy array.
    Array(Array),
}

/// An array of numbers, C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// Its items.
    pub data: ArrayData,
}

/// The items of an [`Array`]. Types of Python's that are not among them arrive as the next wider one.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayData {
    /// `bool`.
    Bool(Vec<bool>),
    /// `uint8`.
    U8(Vec<u8>),
    /// `int64`; other integers arrive as it.
    I64(Vec<i64>),
    /// `float32`; `float16` arrives as it.
    F32(Vec<f32>),
    /// `float64`.
    F64(Vec<f64>),
}

macro_rules! value_from {
    ($($from:ty => |$value:ident| $made:expr,)*) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $made
            }
        })*
    };
}

value_from! {
    bool => |value| Self::Bool(value),
    i64 => |value| Self::Int(value),
    f64 => |value| Self::Float(value),
    &str => |value| Self::Str(value.to_owned()),
    String => |value| Self::Str(value),
    Array => |value| Self::Array(value),
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// Settings for [`VecGymEnv::make_vec`](crate::VecGymEnv::make_vec): keyword arguments of
/// `atari_wrappers.make_vec`, which names them, checks them and supplies what is not given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MakeOptions {
    settings: Vec<(String, Value)>,
}

impl MakeOptions {
    /// No setting given: the defaults of `atari_wrappers`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a setting; the last value given for a name counts.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Adds a setting; the last value given for a name counts.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.settings.push((name.to_owned(), value.into()));
    }

    /// The settings given, in order.
    #[must_use]
    pub fn settings(&self) -> &[(String, Value)] {
        &self.settings
    }
}
