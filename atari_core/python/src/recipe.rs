//! A recipe out of a Python dict of its parts, under the names of `atari_wrappers.recipes.Recipe`.

use atari_core::rl::{Part, Preset, Recipe};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict},
};

/// The parts given; the others as ALE's recipe has them.
pub(crate) fn recipe(parts: &Bound<'_, PyDict>) -> PyResult<Recipe> {
    let mut recipe = Recipe::preset(Preset::Ale);
    for (name, value) in parts {
        let name: String = name.extract()?;
        recipe
            .set(&name, &part(&name, &value)?)
            .map_err(PyValueError::new_err)?;
    }
    recipe.check().map_err(PyValueError::new_err)?;
    Ok(recipe)
}

fn part(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Part> {
    if value.is_none() {
        return Ok(Part::None);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Part::Flag(value.extract()?));
    }
    if let Ok(text) = value.extract() {
        return Ok(Part::Name(text));
    }
    if let Ok(number) = value.extract() {
        return Ok(Part::Number(number));
    }
    if let Ok((height, width)) = value.extract() {
        return Ok(Part::Size(height, width));
    }
    let message = format!("{name}={value} is no value of a part of a recipe");
    Err(PyTypeError::new_err(message))
}
