//! Tensors as safetensors files hold them.

use safetensors::{Dtype as Format, tensor::TensorView};
use tch::{Kind, Tensor};

use crate::{error::TrainerError, tensors::bytes_of};

const FORMATS: [(Kind, Format); 5] = [
    (Kind::Float, Format::F32),
    (Kind::Double, Format::F64),
    (Kind::BFloat16, Format::BF16),
    (Kind::Int64, Format::I64),
    (Kind::Uint8, Format::U8),
];

/// How files name numbers of this type, if they hold them.
pub(super) fn format_of(kind: Kind) -> Result<Format, TrainerError> {
    let format = FORMATS.iter().find(|(known, _)| *known == kind);
    let refused = || TrainerError::State(format!("tensors of {kind:?} cannot be saved"));
    format.map(|(_, format)| *format).ok_or_else(refused)
}

/// The type of numbers that files name so, if tensors have it.
pub(super) fn kind_of(format: Format) -> Option<Kind> {
    let kind = FORMATS.iter().find(|(_, known)| *known == format);
    kind.map(|(kind, _)| *kind)
}

/// A tensor's numbers in memory of the host.
pub(super) struct Stored {
    pub format: Format,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Stored {
    /// Bytes as a tensor of one axis.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            format: Format::U8,
            shape: vec![bytes.len()],
            bytes: bytes.to_vec(),
        }
    }

    /// A copy, from whatever device.
    pub fn new(tensor: &Tensor) -> Result<Self, TrainerError> {
        Ok(Self {
            format: format_of(tensor.kind())?,
            shape: shape_of(tensor),
            bytes: bytes_of(&tensor.detach())?,
        })
    }
}

/// The lengths of a tensor's axes as files hold them.
pub(super) fn shape_of(tensor: &Tensor) -> Vec<usize> {
    tensor
        .size()
        .iter()
        .map(|&length| length as usize)
        .collect()
}

/// The tensor of a file, or what is wrong with it.
pub(super) fn load(view: &TensorView<'_>) -> Result<Tensor, String> {
    let kind =
        kind_of(view.dtype()).ok_or_else(|| format!("numbers of type {:?}", view.dtype()))?;
    let shape: Vec<i64> = view.shape().iter().map(|&length| length as i64).collect();
    Tensor::f_from_data_size(view.data(), &shape, kind).map_err(|error| error.to_string())
}
