//! Networks: parameters, layers, and the nets made of them.
//!
//! A net is a struct with a field for each layer. All parameters of a net lie in one flat tensor,
//! [`Params`], of which the layers' tensors are views.

mod body;
mod init;
mod layers;
mod lstm;
mod memory;
mod mlp;
mod nature;
mod params;
mod policy_head;
mod policy_value;

use tch::{Kind, Tensor};

pub use body::Body;
pub use layers::{Conv2d, Linear};
pub use lstm::Lstm;
pub use memory::Memory;
pub use mlp::Mlp;
pub use nature::NatureCnn;
pub use params::{Params, ParamsBuilder};
pub use policy_head::PolicyHead;
pub use policy_value::{Output, PolicyValueNet};

/// Observations as numbers of type `kind`; bytes, of pictures or of a console's RAM, as 0 to 1.
fn scaled(obs: &Tensor, kind: Kind) -> Tensor {
    let numbers = obs.to_kind(kind);
    match obs.kind() {
        Kind::Uint8 => numbers / 255.0,
        _ => numbers,
    }
}
