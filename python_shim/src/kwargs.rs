//! Settings of an environment on their way to Python keyword arguments.

use pyo3::{prelude::*, types::PyDict};

/// The value of one setting.
#[derive(Clone, Debug, PartialEq)]
pub enum EnvKwarg {
    /// A Python `bool`.
    Bool(bool),
    /// A Python `int`.
    Int(i64),
    /// A Python `float`.
    Float(f64),
    /// A Python `str`, for paths too.
    Str(String),
}

impl From<bool> for EnvKwarg {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for EnvKwarg {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for EnvKwarg {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for EnvKwarg {
    fn from(value: &str) -> Self {
        Self::Str(value.to_owned())
    }
}

impl From<String> for EnvKwarg {
    fn from(value: String) -> Self {
        Self::Str(value)
    }
}

/// Settings for [`VecGymEnv::make_vec`](crate::VecGymEnv::make_vec): keyword arguments of
/// `atari_wrappers.make_vec`, which names them, checks them and supplies what is not given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MakeOptions {
    kwargs: Vec<(String, EnvKwarg)>,
}

impl MakeOptions {
    /// No setting given: the defaults of `atari_wrappers`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a setting; the last value given for a name counts.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<EnvKwarg>) -> Self {
        self.set(name, value);
        self
    }

    /// Adds a setting; the last value given for a name counts.
    pub fn set(&mut self, name: &str, value: impl Into<EnvKwarg>) {
        self.kwargs.push((name.to_owned(), value.into()));
    }

    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in &self.kwargs {
            match value {
                EnvKwarg::Bool(value) => dict.set_item(name, value)?,
                EnvKwarg::Int(value) => dict.set_item(name, value)?,
                EnvKwarg::Float(value) => dict.set_item(name, value)?,
                EnvKwarg::Str(value) => dict.set_item(name, value)?,
            }
        }
        Ok(dict)
    }
}
