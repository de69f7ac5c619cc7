//! Networks: parameters, layers, and the nets made of them.
//!
//! A net is a struct with a field for each layer. All parameters of a net lie in one flat tensor,
//! [`Params`], of which the layers' tensors are views.

mod body;
mod convolution;
mod impala;
mod init;
#[cfg(target_arch = "x86_64")]
mod kernels;
mod layers;
mod lstm;
mod memory;
mod mlp;
mod nature;
mod noisy;
mod params;
mod policy_head;
mod policy_value;
mod q_net;
mod returns;

use tch::{Device, Kind, Tensor};

use crate::{device, settings::Precision};
pub use body::{Body, BodyStyle};
pub use convolution::leave_to_libtorch;
pub use impala::ImpalaResNet;
pub use layers::{Conv2d, LayerNorm, Linear};
pub use lstm::Lstm;
pub use memory::Memory;
pub use mlp::Mlp;
pub use nature::NatureCnn;
pub use noisy::{LayerNoise, NoisyLinear};
pub use params::{Network, Params, ParamsBuilder};
pub use policy_head::PolicyHead;
pub use policy_value::{Output, PolicyValueNet};
pub use q_net::{Noise, QNet, QStyle};
pub use returns::Returns;

/// Observations as numbers of type `kind`; bytes, of pictures or of a console's RAM, as 0 to 1.
fn scaled(obs: &Tensor, kind: Kind) -> Tensor {
    let numbers = obs.to_kind(kind);
    match obs.kind() {
        Kind::Uint8 => numbers / 255.0,
        _ => numbers,
    }
}

/// Images, uint8 `[batch, channels, height, width]`, for a first convolution [of bytes](Conv2d::of_bytes).
///
/// A batch that does not lie channels-last in memory yet is turned before it becomes floating point: one
/// quarter of the bytes to move, and the convolutions keep the layout. On 4 cores that alone is 1.25
/// times as fast in fp32.
fn pixels(images: &Tensor) -> Tensor {
    let channels_last = images.permute([0, 2, 3, 1]).contiguous();
    channels_last.permute([0, 3, 1, 2])
}

/// The type of numbers in the forward and backward pass on `device`.
fn compute_kind(precision: Precision, device: Device) -> Kind {
    match device::precision(precision, device) {
        Precision::Bf16 => Kind::BFloat16,
        Precision::Fp32 | Precision::Tf32 | Precision::Auto => Kind::Float,
    }
}
