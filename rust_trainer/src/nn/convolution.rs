//! Convolutions and large fully connected layers by our [kernels](learner_kernels), where these fit, as nodes of
//! libtorch's graph.

use std::ffi::{c_int, c_void};

use learner_kernels::{Convolution, Gradients, Kernels, Pixels};
use tch::{Device, Kind, Tensor};

use crate::{
    processor,
    tensors::{Number, is_plain, numbers, numbers_mut, torch_error},
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

/// What the backward pass wants to know, `Layer` in `csrc/node.cpp`.
struct Layer<N: 'static> {
    conv: Convolution,
    kernels: &'static Kernels<N>,
}

const _: () = assert!(size_of::<Layer<f32>>() == 9 * size_of::<usize>());

/// A tensor of libtorch's.
#[repr(C)]
struct RawTensor {
    _private: [u8; 0],
}

/// `Tensors` there.
type Tensors = [*mut RawTensor; 7];

#[expect(unsafe_code, reason = "a foreign function")]
fn computed<N: Number>(
    conv: &Convolution,
    kernels: &'static Kernels<N>,
    x: &Tensor,
    [weight, bias]: [&Tensor; 2],
) -> Tensor {
    unsafe extern "C" {
        fn trainer_node(
            y: *mut RawTensor,
            x: *const RawTensor,
            weight: *const RawTensor,
            bias: *const RawTensor,
            layer: *const c_void,
            backward: unsafe extern "C" fn(*const c_void, *const Tensors),
            needs_y: bool,
        ) -> c_int;
    }
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
    let layer = Layer {
        conv: *conv,
        kernels,
    };
    // SAFETY: all are tensors of libtorch's, which is what tch's pointers point to; the layer is as large as it
    // says there, is copied and holds nothing that must be dropped; and the function is its own.
    let status = unsafe {
        trainer_node(
            y.as_mut_ptr().cast(),
            x.as_ptr().cast(),
            weight.as_ptr().cast(),
            bias.as_ptr().cast(),
            (&raw const layer).cast(),
            backward::<N>,
            conv.rectified,
        )
    };
    assert!(status == 0, "{}", torch_error());
    y
}

fn pixels<N: Number>(x: &Tensor) -> Pixels<'_, N> {
    match x.kind() {
        Kind::Uint8 => Pixels::Bytes(numbers(x)),
        _ => Pixels::Numbers(numbers(x)),
    }
}

/// The gradients of a layer.
#[expect(unsafe_code, reason = "a function for C++")]
unsafe extern "C" fn backward<N: Number>(layer: *const c_void, tensors: *const Tensors) {
    // SAFETY: the layer is the one that `computed` handed over, the tensors are there until this returns.
    let (Layer { conv, kernels }, tensors) = unsafe {
        let handles = (*tensors).map(|tensor| Tensor::clone_from_ptr(tensor.cast()));
        (&*layer.cast::<Layer<N>>(), handles)
    };
    let [x, weight, y, of_y, mut of_x, mut of_weight, mut of_bias] = tensors;
    let of = Gradients {
        images: of_x.defined().then(|| numbers_mut(&mut of_x)),
        weight: numbers_mut(&mut of_weight),
        bias: numbers_mut(&mut of_bias),
    };
    kernels.backward(
        conv,
        pixels(&x),
        numbers(&weight),
        (numbers(&y), numbers(&of_y)),
        of,
    );
}
