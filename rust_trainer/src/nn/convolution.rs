//! Convolutions and large fully connected layers by our [kernels](learner_kernels), where these fit, as nodes of
//! libtorch's graph.

use learner_kernels::{Convolution, Gradients, Kernels, Pixels};
use tch::{Device, Kind, Tensor};

use super::node::{self, Backward};
use crate::{
    processor,
    tensors::{Number, is_plain, numbers, numbers_mut},
};

/// A layer `conv` of `x`, `[images, height, width, channels]` in `kind`, or bytes that count as 0 to 1, with
/// float32 `weight` and `bias`: outputs in `kind`, in the order in which they lie in memory. Gradients of
/// weights and biases are float32, whatever `kind` is.
///
/// `None` where the processor, the device or the extents are not for our kernels: without wider instructions
/// libtorch is the faster one.
///
/// # Panics
/// Where libtorch fails, as its own operations do.
pub(super) fn convolved(
    conv: &Convolution,
    x: &Tensor,
    weights: [&Tensor; 2],
    kind: Kind,
) -> Option<Tensor> {
    if !(is_plain(x, kind) || is_plain(x, Kind::Uint8))
        || !weights.iter().all(|tensor| is_plain(tensor, Kind::Float))
        || !conv.fits(x.requires_grad())
    {
        return None;
    }
    match kind {
        Kind::Float => processor::float32().map(|kernels| computed(conv, kernels, x, weights)),
        Kind::BFloat16 => processor::bfloat16().map(|kernels| computed(conv, kernels, x, weights)),
        _ => None,
    }
}

/// What the backward pass wants to know; of the outputs only where the layer is rectified.
struct Saved<N: 'static> {
    conv: Convolution,
    kernels: &'static Kernels<N>,
    x: Tensor,
    weight: Tensor,
    y: Option<Tensor>,
}

fn computed<N: Number>(
    conv: &Convolution,
    kernels: &'static Kernels<N>,
    x: &Tensor,
    [weight, bias]: [&Tensor; 2],
) -> Tensor {
    let [images, height, width, outputs] = [
        conv.images,
        conv.out_height(),
        conv.out_width(),
        conv.outputs,
    ]
    .map(|length| length as i64);
    let shape = if conv.channels_first {
        [images, outputs, height, width]
    } else {
        [images, height, width, outputs]
    };
    let mut y = Tensor::empty(shape, (N::KIND, Device::Cpu));
    kernels.forward(
        conv,
        pixels(x),
        numbers(weight),
        numbers(bias),
        numbers_mut(&mut y),
    );
    let inputs = [x, weight, bias];
    if node::wants_gradients(&inputs) {
        let saved = Saved {
            conv: *conv,
            kernels,
            x: x.detach(),
            weight: weight.detach(),
            y: conv.rectified.then(|| y.detach()),
        };
        node::attach(&mut y, &inputs, 1, saved);
    }
    y
}

fn pixels<N: Number>(x: &Tensor) -> Pixels<'_, N> {
    match x.kind() {
        Kind::Uint8 => Pixels::Bytes(numbers(x)),
        _ => Pixels::Numbers(numbers(x)),
    }
}

impl<N: Number> Backward for Saved<N> {
    fn backward(&mut self, of_y: &Tensor, mut of_inputs: Vec<Tensor>) {
        let [of_x, of_weight, of_bias] = of_inputs.as_mut_slice() else {
            unreachable!("a layer has three inputs");
        };
        let of = Gradients {
            images: of_x.defined().then(|| numbers_mut(of_x)),
            weight: numbers_mut(of_weight),
            bias: numbers_mut(of_bias),
        };
        let y = self.y.as_ref().unwrap_or(of_y);
        self.kernels.backward(
            &self.conv,
            pixels(&self.x),
            numbers(&self.weight),
            (numbers(y), numbers(of_y)),
            of,
        );
    }
}
