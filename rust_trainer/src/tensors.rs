//! Between tensors and the numbers and bytes of the host.

use tch::{Device, Kind, Tensor};
use vec_env::{Dtype, EnvError, ObsSpec};

use crate::error::TrainerError;

/// The numbers of a tensor on any device.
pub(crate) fn to_vec<T: tch::kind::Element + Default + Clone>(tensor: &Tensor) -> Vec<T> {
    let numel = tensor.numel();
    let mut values = vec![T::default(); numel];
    let tensor = tensor.to_device(Device::Cpu).contiguous();
    tensor.copy_data(&mut values, numel);
    values
}

/// A copy in memory of its own. `Tensor::copy` writes zeros first.
pub(crate) fn copy(tensor: &Tensor) -> Tensor {
    tensor.to_device_(tensor.device(), tensor.kind(), false, true)
}

/// Observations of several environments, one after another in `bytes`, as a tensor `[count, ...]`.
///
/// # Errors
/// Bytes of another length.
pub fn obs_tensor(bytes: &[u8], count: usize, spec: &ObsSpec) -> Result<Tensor, TrainerError> {
    EnvError::check_length(bytes, count * spec.num_bytes())?;
    Ok(Tensor::f_from_data_size(
        bytes,
        &obs_shape(&[count], spec),
        obs_kind(spec),
    )?)
}

/// `leading` axes, and behind them those of an observation.
pub(crate) fn obs_shape(leading: &[usize], spec: &ObsSpec) -> Vec<i64> {
    let lengths = leading.iter().chain(&spec.shape);
    lengths.map(|length| *length as i64).collect()
}

/// The type of an observation's numbers.
pub(crate) fn obs_kind(spec: &ObsSpec) -> Kind {
    match spec.dtype {
        Dtype::Uint8 => Kind::Uint8,
        Dtype::Float32 => Kind::Float,
    }
}
