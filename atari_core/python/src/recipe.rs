//! A recipe out of a Python dict of its parts, under the names of `atari_wrappers.recipes.Recipe`.

use atari_core::rl::{Preset, Recipe};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict},
};
use serde_json::{Number, Value};

/// The parts given; the others as ALE's recipe has them.
pub(crate) fn recipe(parts: &Bound<'_, PyDict>) -> PyResult<Recipe> {
    let mut recipe = Recipe::preset(Preset::Ale);
    for (name, value) in parts {
        let name: String = name.extract()?;
        let set = recipe.set(&name, part(&name, &value)?);
        set.map_err(PyValueError::new_err)?;
    }
    recipe.check().map_err(PyValueError::new_err)?;
    Ok(recipe)
}

fn part(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        Ok(Value::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(Value::Bool(value.extract()?))
    } else if let Ok(choice) = value.extract() {
        Ok(Value::String(choice))
    } else if let Ok(count) = value.extract::<i64>() {
        Ok(count.into())
    } else if let Ok(number) = value.extract::<f64>() {
        let number = Number::from_f64(number).map(Value::Number);
        number.ok_or_else(|| PyValueError::new_err(format!("{name} must be finite, not {value}")))
    } else if let Ok((height, width)) = value.extract::<(usize, usize)>() {
        Ok([height, width].to_vec().into())
    } else {
        let message = format!("{name}={value} is no value of a part of a recipe");
        Err(PyTypeError::new_err(message))
    }
}
