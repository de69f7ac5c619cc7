//! Tests of networks and their layers.

mod body;
mod convolution;
mod layers;
mod params;
mod policy_value;
mod q_net;
mod residual;
mod tiled;

use tch::{Kind, Tensor};

fn double(tensor: &Tensor) -> Tensor {
    tensor.detach().to_kind(Kind::Double)
}

/// The largest of `ours`, relative to the largest number of `theirs`, float64.
fn relative_difference(ours: &Tensor, theirs: &Tensor) -> f64 {
    assert_eq!(ours.size(), theirs.size());
    let difference = (double(ours) - theirs).abs().max() / theirs.abs().max();
    difference.double_value(&[])
}
