//! Between tensors and the numbers and bytes of the host.

use std::{
    ffi::{CStr, c_char},
    ptr::NonNull,
    slice,
};

use learner_kernels::bf16;
use tch::{Device, Kind, Tensor, kind::Element};
use vec_env::{Dtype, EnvError, ObsSpec};

use crate::error::TrainerError;

/// The numbers of a tensor on any device.
pub(crate) fn to_vec<T: Element + Default + Clone>(tensor: &Tensor) -> Vec<T> {
    let numel = tensor.numel();
    let mut values = vec![T::default(); numel];
    let tensor = tensor.to_device(Device::Cpu).contiguous();
    tensor.copy_data(&mut values, numel);
    values
}

/// A type of numbers and what libtorch calls it. tch takes bfloat16 for float16.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    const KIND: Kind;
}

impl Number for u8 {
    const KIND: Kind = Kind::Uint8;
}

impl Number for f32 {
    const KIND: Kind = Kind::Float;
}

impl Number for bf16 {
    const KIND: Kind = Kind::BFloat16;
}

/// Whether a tensor is numbers of type `kind` in a row, on the CPU.
pub(crate) fn is_plain(tensor: &Tensor, kind: Kind) -> bool {
    tensor.device() == Device::Cpu && tensor.kind() == kind && tensor.is_contiguous()
}

/// Where the numbers of a [plain](is_plain) tensor lie, and how many they are.
fn place<T: Number>(tensor: &Tensor) -> (*mut T, usize) {
    let is_plain = is_plain(tensor, T::KIND);
    assert!(is_plain, "{:?} in a row, on the CPU", T::KIND);
    // Of no numbers libtorch has no place.
    let start = NonNull::new(tensor.data_ptr().cast()).unwrap_or(NonNull::dangling());
    (start.as_ptr(), tensor.numel())
}

/// The numbers of a [plain](is_plain) tensor, where they lie.
#[expect(unsafe_code, reason = "tch has no safe view of a tensor's numbers")]
pub(crate) fn numbers<T: Number>(tensor: &Tensor) -> &[T] {
    let (start, length) = place(tensor);
    // SAFETY: they are `length` numbers of this type, and live as long as the tensor; nobody writes to them
    // meanwhile, for that is done through `&mut` of the network or of the optimizer.
    unsafe { slice::from_raw_parts(start, length) }
}

/// The same to be written to.
#[expect(unsafe_code, reason = "tch has no safe view of a tensor's numbers")]
pub(crate) fn numbers_mut<T: Number>(tensor: &mut Tensor) -> &mut [T] {
    let (start, length) = place(tensor);
    // SAFETY: as in `numbers`; who has `&mut` of the flat tensor is the only one who uses its views, too.
    unsafe { slice::from_raw_parts_mut(start, length) }
}

/// Whether all numbers of a tensor are finite: none is infinite or NaN.
pub(crate) fn is_finite(tensor: &Tensor) -> bool {
    if is_plain(tensor, Kind::Float) {
        return learner_kernels::are_finite(numbers(tensor));
    }
    tensor.isfinite().all().int64_value(&[]) != 0
}

/// What libtorch said when a call of this thread to a function of `csrc` failed last.
#[expect(unsafe_code, reason = "a foreign function")]
pub(crate) fn torch_error() -> String {
    unsafe extern "C" {
        fn trainer_error() -> *const c_char;
    }
    // SAFETY: a text of this thread that ends with a zero, there until the next call that fails.
    let text = unsafe { CStr::from_ptr(trainer_error()) };
    text.to_string_lossy().into_owned()
}

/// A tensor's bytes, row by row.
pub(crate) fn bytes_of(tensor: &Tensor) -> Result<Vec<u8>, TrainerError> {
    if tensor.numel() == 0 {
        return Ok(Vec::new());
    }
    let tensor = tensor.to_device(Device::Cpu).f_contiguous()?;
    let bytes = tensor.f_reshape([-1])?.f_view_dtype(Kind::Uint8)?;
    let mut copy = vec![0; bytes.numel()];
    bytes.f_copy_data_u8(&mut copy, bytes.numel())?;
    Ok(copy)
}

/// The index of the greatest number, of equals the first.
pub(crate) fn argmax(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}

/// A copy in memory of its own. `Tensor::copy` writes zeros first.
pub(crate) fn copy(tensor: &Tensor) -> Tensor {
    tensor.to_device_(tensor.device(), tensor.kind(), false, true)
}

/// Observations of several environments, one after another in `bytes`, as a tensor `[count, ...]`.
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
