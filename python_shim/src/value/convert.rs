//! [`Value`]s and Python objects, each made of the other.

use pyo3::{
    IntoPyObjectExt, intern,
    prelude::*,
    types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

use super::{Array, ArrayData, Value};

/// Settings or options as keyword arguments.
pub(crate) fn to_dict<'py, K: AsRef<str>>(
    py: Python<'py>,
    items: &[(K, Value)],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in items {
        dict.set_item(name.as_ref(), to_python(py, value)?)?;
    }
    Ok(dict)
}

/// A list of values as a Python list.
pub(crate) fn to_list<'py>(py: Python<'py>, values: &[Value]) -> PyResult<Bound<'py, PyList>> {
    let values: PyResult<Vec<_>> = values.iter().map(|value| to_python(py, value)).collect();
    PyList::new(py, values?)
}

pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::None => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Int(value) => value.into_bound_py_any(py),
        Value::Float(value) => value.into_bound_py_any(py),
        Value::Str(value) => value.into_bound_py_any(py),
        Value::Bytes(value) => PyBytes::new(py, value).into_bound_py_any(py),
        Value::List(values) => to_list(py, values)?.into_bound_py_any(py),
        Value::Map(items) => to_dict(py, items)?.into_bound_py_any(py),
        Value::Array(array) => array_to_python(py, array),
    }
}

/// The value of an object, or the name of the type that has none.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Result<Value, String>> {
    let value = if object.is_none() {
        Value::None
    } else if let Ok(value) = object.cast::<PyBool>() {
        Value::Bool(value.is_true())
    } else if object.is_instance_of::<PyInt>() {
        match object.extract() {
            Ok(value) => Value::Int(value),
            Err(_) => return Ok(Err("int beyond 64 bits".to_owned())),
        }
    } else if object.is_instance_of::<PyFloat>() {
        Value::Float(object.extract()?)
    } else if object.is_instance_of::<PyString>() {
        Value::Str(object.extract()?)
    } else if let Ok(value) = object.cast::<PyBytes>() {
        Value::Bytes(value.as_bytes().to_vec())
    } else if let Ok(value) = object.cast::<PyByteArray>() {
        Value::Bytes(value.to_vec())
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return list_from_python(object);
    } else if let Ok(dict) = object.cast::<PyDict>() {
        return map_from_python(dict);
    } else {
        return from_numpy(object);
    };
    Ok(Ok(value))
}

fn list_from_python(object: &Bound<'_, PyAny>) -> PyResult<Result<Value, String>> {
    let mut values = Vec::new();
    for item in object.try_iter()? {
        match from_python(&item?)? {
            Ok(value) => values.push(value),
            Err(type_name) => return Ok(Err(type_name)),
        }
    }
    Ok(Ok(Value::List(values)))
}

fn map_from_python(dict: &Bound<'_, PyDict>) -> PyResult<Result<Value, String>> {
    let mut items = Vec::new();
    for (key, item) in dict {
        if !key.is_instance_of::<PyString>() {
            return Ok(Err(format!("dict with keys of {}", type_name(&key)?)));
        }
        match from_python(&item)? {
            Ok(value) => items.push((key.extract()?, value)),
            Err(type_name) => return Ok(Err(type_name)),
        }
    }
    Ok(Ok(Value::Map(items)))
}

/// numpy's scalars become plain ones; arrays of anything but numbers become lists.
fn from_numpy(object: &Bound<'_, PyAny>) -> PyResult<Result<Value, String>> {
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    if object.is_instance(&numpy.getattr(intern!(py, "generic"))?)? {
        let plain = object.call_method0(intern!(py, "item"))?;
        // What has no plain counterpart answers with itself.
        return if plain.is_instance(&numpy.getattr(intern!(py, "generic"))?)? {
            type_name(object).map(Err)
        } else {
            from_python(&plain)
        };
    }
    if !object.is_instance(&numpy.getattr(intern!(py, "ndarray"))?)? {
        return type_name(object).map(Err);
    }
    let shape: Vec<usize> = object.getattr(intern!(py, "shape"))?.extract()?;
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let size: usize = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
    let bytes = |dtype: &str| -> PyResult<Vec<u8>> {
        let converted = object.call_method1(intern!(py, "astype"), (dtype,))?;
        let bytes = converted.call_method0(intern!(py, "tobytes"))?;
        Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
    };
    let data = match (kind.as_str(), size) {
        ("b", _) => ArrayData::Bool(bytes("bool")?.into_iter().map(|byte| byte != 0).collect()),
        ("u", 1) => ArrayData::U8(bytes("uint8")?),
        ("u", 8) => return Ok(Err("numpy.ndarray of uint64".to_owned())),
        ("i" | "u", _) => ArrayData::I64(items(&bytes("int64")?, i64::from_ne_bytes)),
        ("f", 2 | 4) => ArrayData::F32(items(&bytes("float32")?, f32::from_ne_bytes)),
        ("f", 8) => ArrayData::F64(items(&bytes("float64")?, f64::from_ne_bytes)),
        ("O" | "U" | "S", _) => {
            return from_python(&object.call_method0(intern!(py, "tolist"))?);
        }
        _ => return Ok(Err(format!("numpy.ndarray of {dtype}"))),
    };
    Ok(Ok(Value::Array(Array { shape, data })))
}

fn array_to_python<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    let (dtype, bytes) = match &array.data {
        ArrayData::Bool(items) => ("bool", items.iter().copied().map(u8::from).collect()),
        ArrayData::U8(items) => ("uint8", items.clone()),
        ArrayData::I64(items) => (
            "int64",
            items.iter().flat_map(|item| item.to_ne_bytes()).collect(),
        ),
        ArrayData::F32(items) => (
            "float32",
            items.iter().flat_map(|item| item.to_ne_bytes()).collect(),
        ),
        ArrayData::F64(items) => (
            "float64",
            items.iter().flat_map(|item| item.to_ne_bytes()).collect(),
        ),
    };
    let numpy = py.import(intern!(py, "numpy"))?;
    let bytes: Vec<u8> = bytes;
    let flat = numpy.call_method1(intern!(py, "frombuffer"), (PyBytes::new(py, &bytes), dtype))?;
    // An array of its own, which can be written to.
    flat.call_method1(intern!(py, "reshape"), (PyTuple::new(py, &array.shape)?,))?
        .call_method0(intern!(py, "copy"))
}

fn items<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (items, _) = bytes.as_chunks::<N>();
    items.iter().map(|&item| read(item)).collect()
}

fn type_name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.get_type().fully_qualified_name()?.to_string())
}
