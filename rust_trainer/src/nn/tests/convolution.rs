use learner_kernels::{Convolution, Instructions};
use tch::{Device, Kind, Tensor};

use super::{double, relative_difference};
use crate::{
    error::TrainerError,
    nn::convolution::convolved,
    panics::catch_panics,
    processor::{self, instructions},
};

fn uniform(shape: &[i64], kind: Kind) -> Tensor {
    (Tensor::rand(shape, (Kind::Float, Device::Cpu)) - 0.5).to_kind(kind)
}

/// Of `x`, `[images, height, width, channels]`, that goes through a rectified linear unit.
fn conv(x: &Tensor, [kernel, stride]: [usize; 2], outputs: usize) -> Convolution {
    let size: Vec<usize> = x.size().iter().map(|length| *length as usize).collect();
    Convolution {
        images: size[0],
        height: size[1],
        width: size[2],
        channels: size[3],
        kernel,
        stride,
        outputs,
        rectified: true,
        channels_first: false,
    }
}

/// In either type of numbers, of bytes and of numbers, in both orders of the outputs: beside libtorch's convolution
/// in float64 of the same rounded numbers. What the kernels compute is tested where they are.
#[test]
fn outputs_and_gradients_are_those_of_libtorch() {
    let kinds = [Kind::Float, Kind::BFloat16];
    for kind in kinds
        .into_iter()
        .filter(|kind| *kind == Kind::Float || processor::bfloat16().is_some())
    {
        for (of_bytes, channels_first) in [(true, true), (false, false), (false, true)] {
            let scale = if of_bytes { 255.0 } else { 1.0 };
            let x = if of_bytes {
                Tensor::randint(256, [3, 20, 14, 8], (Kind::Uint8, Device::Cpu))
            } else {
                uniform(&[3, 20, 14, 8], kind).set_requires_grad(true)
            };
            let weight = uniform(&[64, 8, 4, 4], Kind::Float).set_requires_grad(true);
            let bias = uniform(&[64], Kind::Float).set_requires_grad(true);
            let conv = Convolution {
                channels_first,
                ..conv(&x, [4, 4], 64)
            };
            let Some(y) = convolved(&conv, &x, [&weight, &bias], kind) else {
                unreachable!("there are kernels");
            };
            let y = if channels_first {
                y
            } else {
                y.permute([0, 3, 1, 2])
            };

            let rounded = double(&(weight.detach() / scale).to_kind(kind));
            let exact = [double(&x), rounded, double(&bias)];
            let [x_exact, weight_exact, bias_exact] = exact.map(|x| x.set_requires_grad(true));
            let images = x_exact.permute([0, 3, 1, 2]);
            let y_exact = images.conv2d(&weight_exact, Some(&bias_exact), 4, 0, 1, 1);
            let of_y = uniform(&y.size(), kind);
            // The units that were on, for at the kink rounding decides.
            let of_y_exact = double(&of_y) * y.gt(0.0);
            let ours = {
                let mut of = vec![&weight, &bias];
                of.extend((!of_bytes).then_some(&x));
                let loss = (&y * of_y).to_kind(Kind::Float).sum(Kind::Float);
                Tensor::run_backward(&[&loss], &of, false, false)
            };
            let loss = (&y_exact * of_y_exact).sum(Kind::Double);
            let of = [&weight_exact, &bias_exact, &x_exact];
            let theirs = Tensor::run_backward(&[&loss], &of, false, false);
            let is_rounded = kind == Kind::BFloat16;
            let bound = |is_rounded| if is_rounded { 1.0 / 256.0 } else { 2e-6 };
            let difference = relative_difference(&y, &double(&y_exact.relu()));
            assert!(
                difference < bound(is_rounded),
                "output in {kind:?}: {difference:e}"
            );
            let names = [("weight", false), ("bias", false), ("input", is_rounded)];
            for ((name, is_rounded), (ours, theirs)) in
                names.into_iter().zip(ours.iter().zip(theirs))
            {
                let scale = if name == "weight" { scale } else { 1.0 };
                let difference = relative_difference(ours, &double(&(theirs / scale)));
                assert!(
                    difference < bound(is_rounded),
                    "{name} in {kind:?}: {difference:e}"
                );
            }
        }
    }
}

/// As PyTorch has it for a layer that is not trained: nothing of it changes what flows on to the input.
#[test]
fn frozen_weights_pass_the_gradient_on_to_the_input() {
    let bias = uniform(&[64], Kind::Float);
    for trains_bias in [false, true] {
        let x = uniform(&[2, 9, 9, 32], Kind::Float).set_requires_grad(true);
        let weight = uniform(&[64, 32, 3, 3], Kind::Float);
        let bias = bias.copy().set_requires_grad(trains_bias);
        let Some(y) = convolved(&conv(&x, [3, 2], 64), &x, [&weight, &bias], Kind::Float) else {
            assert_eq!(instructions(), Instructions::Plain);
            return;
        };
        assert!(y.requires_grad(), "no gradient of the input");
        let theirs = x
            .permute([0, 3, 1, 2])
            .conv2d(&weight, Some(&bias), 2, 0, 1, 1)
            .relu();
        let of_y = uniform(&theirs.size(), Kind::Float);
        let mut wanted = vec![&x];
        wanted.extend(trains_bias.then_some(&bias));
        let gradients = |y: Tensor| {
            Tensor::run_backward(&[(y * &of_y).sum(Kind::Float)], &wanted, false, false)
        };
        let (ours, theirs) = (gradients(y.permute([0, 3, 1, 2])), gradients(theirs));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let difference = relative_difference(ours, &double(theirs));
            assert!(difference < 1e-5, "{difference:e}");
        }
    }
}

/// libtorch is not asked once more for what it has refused.
#[test]
fn what_libtorch_refuses_is_an_error() {
    let long = 1 << 23; // its square of numbers is more than addresses reach
    let zeros = |shape: &[i64]| Tensor::zeros(shape, (Kind::Float, Device::Cpu)); // memory on demand
    let x = zeros(&[1, 1, long, 32]);
    let (weight, bias) = (zeros(&[long, 32, 1, 1]), zeros(&[long]));
    let conv = conv(&x, [1, 1], long as usize);
    let refused = catch_panics(|| Ok(convolved(&conv, &x, [&weight, &bias], Kind::Float)));
    match refused {
        Ok(None) => assert_eq!(instructions(), Instructions::Plain, "it went on in silence"),
        Ok(Some(_)) => unreachable!("there is no such memory"),
        Err(error) => assert!(matches!(error, TrainerError::OutOfMemory(_)), "{error}"),
    }
}

#[test]
fn what_does_not_fit_is_left_to_libtorch() {
    let is_taken = |x: &Tensor, outputs: i64, stride, kind| {
        let weight = uniform(&[outputs, x.size()[3], 4, 4], Kind::Float);
        let bias = uniform(&[outputs], Kind::Float);
        let conv = conv(x, [4, stride], outputs as usize);
        convolved(&conv, x, [&weight, &bias], kind).is_some()
    };
    let x = uniform(&[2, 12, 12, 8], Kind::Float);
    let can = instructions() != Instructions::Plain;
    assert_eq!(is_taken(&x, 32, 2, Kind::Float), can);
    assert!(!is_taken(&x, 48, 2, Kind::Float), "outputs");
    assert!(!is_taken(&x.narrow(3, 0, 5), 32, 2, Kind::Float), "inputs");
    let first = uniform(&[2, 8, 12, 12], Kind::Float).permute([0, 2, 3, 1]);
    assert!(
        !is_taken(&first, 32, 2, Kind::Float),
        "channels first in memory"
    );
    assert!(!is_taken(&x, 32, 2, Kind::BFloat16), "another type");
    assert!(
        !is_taken(&x.narrow(1, 0, 3).contiguous(), 32, 2, Kind::Float),
        "no pixel"
    );
    let wanted = x.set_requires_grad(true);
    assert!(
        !is_taken(&wanted, 32, 2, Kind::Float),
        "gradients of pixels beside each other"
    );
    assert_eq!(is_taken(&wanted, 32, 4, Kind::Float), can);
}
