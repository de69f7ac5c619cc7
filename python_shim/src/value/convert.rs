//! [`Value`]s and Python objects, each made of the other.

use pyo3::{
    IntoPyObjectExt, intern,
    prelude::*,
    types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

use vec_env::EnvError;

use super::{Array, ArrayData, Value};
use crate::error::CallError;

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

/// The value of an object; [`EnvError::Unsupported`] names the type that has none.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> Result<Value, CallError> {
    Ok(if object.is_none() {
        Value::None
    } else if let Ok(value) = object.cast::<PyBool>() {
        Value::Bool(value.is_true())
    } else if object.is_instance_of::<PyInt>() {
        let beyond = |_| unsupported("int beyond 64 bits".to_owned());
        Value::Int(object.extract().map_err(beyond)?)
    } else if object.is_instance_of::<PyFloat>() {
        Value::Float(object.extract()?)
    } else if object.is_instance_of::<PyString>() {
        Value::Str(object.extract()?)
    } else if let Ok(value) = object.cast::<PyBytes>() {
        Value::Bytes(value.as_bytes().to_vec())
    } else if let Ok(value) = object.cast::<PyByteArray>() {
        Value::Bytes(value.to_vec())
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| from_python(&item?));
        Value::List(items.collect::<Result<_, _>>()?)
    } else if let Ok(dict) = object.cast::<PyDict>() {
        let items = dict.iter().map(|(key, item)| {
            if !key.is_instance_of::<PyString>() {
                return Err(unsupported(format!(
                    "dict with keys of {}",
                    type_name(&key)?
                )));
            }
            Ok((key.extract()?, from_python(&item)?))
        });
        Value::Map(items.collect::<Result<_, _>>()?)
    } else {
        return from_numpy(object);
    })
}

fn unsupported(type_name: String) -> CallError {
    EnvError::Unsupported(type_name).into()
}

/// numpy's scalars become plain ones; arrays of anything but numbers become lists.
fn from_numpy(object: &Bound<'_, PyAny>) -> Result<Value, CallError> {
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let generic = numpy.getattr(intern!(py, "generic"))?;
    if object.is_instance(&generic)? {
        let plain = object.call_method0(intern!(py, "item"))?;
        // What has no plain counterpart answers with itself.
        if !plain.is_instance(&generic)? {
            return from_python(&plain);
        }
    }
    if !object.is_instance(&numpy.getattr(intern!(py, "ndarray"))?)? {
        return Err(unsupported(type_name(object)?));
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
        ("u", 8) => return Err(unsupported("numpy.ndarray of uint64".to_owned())),
        ("i" | "u", _) => ArrayData::I64(items(&bytes("int64")?, i64::from_ne_bytes)),
        ("f", 2 | 4) => ArrayData::F32(items(&bytes("float32")?, f32::from_ne_bytes)),
        ("f", 8) => ArrayData::F64(items(&bytes("float64")?, f64::from_ne_bytes)),
        ("O" | "U" | "S", _) => {
            return from_python(&object.call_method0(intern!(py, "tolist"))?);
        }
        _ => return Err(unsupported(format!("numpy.ndarray of {dtype}"))),
    };
    Ok(Value::Array(Array { shape, data }))
}

fn array_to_python<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    let (dtype, bytes) = match &array.data {
        ArrayData::Bool(items) => ("bool", items.iter().copied().map(u8::from).collect()),
        ArrayData::U8(items) => ("uint8", items.clone()),
        ArrayData::I64(items) => ("int64", raw(items, i64::to_ne_bytes)),
        ArrayData::F32(items) => ("float32", raw(items, f32::to_ne_bytes)),
        ArrayData::F64(items) => ("float64", raw(items, f64::to_ne_bytes)),
    };
    let numpy = py.import(intern!(py, "numpy"))?;
    let flat = numpy.call_method1(intern!(py, "frombuffer"), (PyBytes::new(py, &bytes), dtype))?;
    // An array of its own, which can be written to.
    flat.call_method1(intern!(py, "reshape"), (PyTuple::new(py, &array.shape)?,))?
        .call_method0(intern!(py, "copy"))
}

fn raw<T: Copy, const N: usize>(items: &[T], write: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    items.iter().flat_map(|&item| write(item)).collect()
}

fn items<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (items, _) = bytes.as_chunks::<N>();
    items.iter().map(|&item| read(item)).collect()
}

fn type_name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.get_type().fully_qualified_name()?.to_string())
}
