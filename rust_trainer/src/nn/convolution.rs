//! Convolutions and large fully connected layers by our [`kernels`](super::kernels), where these fit.

/// What a convolution without padding is, beside its tensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Convolution {
    pub kernel: i64,
    pub stride: i64,
    /// `x` is bytes that count as 0 to 1.
    pub of_bytes: bool,
    /// A rectified linear unit follows.
    pub rectified: bool,
    /// Outputs had better lie channels first in memory.
    pub channels_first: bool,
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::convolved;

/// Has libtorch compute what our kernels would, for a measurement of both. Whether it is not too late: the
/// first layer that is computed decides for all.
#[must_use]
pub fn leave_to_libtorch() -> bool {
    #[cfg(target_arch = "x86_64")]
    return super::kernels::Instructions::use_none();
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Our kernels are for another processor.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn convolved(
    _: &Convolution,
    _: &tch::Tensor,
    _: (&tch::Tensor, &tch::Tensor),
    _: tch::Kind,
) -> Option<tch::Tensor> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    #![expect(unsafe_code, reason = "foreign functions")]

    use std::ffi::{CStr, c_char};

    use tch::{Device, Kind, Tensor};

    use super::Convolution;
    use crate::nn::kernels::{Conv, Instructions, Kernels};

    /// A tensor of libtorch's.
    #[repr(C)]
    struct RawTensor {
        _private: [u8; 0],
    }

    unsafe extern "C" {
        fn trainer_convolution(
            conv: *const Conv,
            kernels: *const Kernels,
            x: *const RawTensor,
            weight: *const RawTensor,
            bias: *const RawTensor,
        ) -> *mut RawTensor;
        fn trainer_convolution_error() -> *const c_char;
    }

    /// `x` `[batch, inputs, height, width]` → `[batch, outputs, ...]` in `kind`, channels last in memory,
    /// with float32 `weight` `[outputs, inputs, kernel, kernel]`, or `[outputs, inputs]`, and `bias`
    /// `[outputs]`. Gradients of both are float32, whatever `kind` is.
    ///
    /// `None` where the processor, the device or the extents are not for our kernels.
    ///
    /// # Panics
    /// Where libtorch fails, as its own operations do.
    pub(in crate::nn) fn convolved(
        conv: &Convolution,
        x: &Tensor,
        weights: (&Tensor, &Tensor),
        kind: Kind,
    ) -> Option<Tensor> {
        convolved_in(Instructions::widest()?, conv, x, weights, kind)
    }

    /// The same in a set of instructions that the processor has.
    pub(super) fn convolved_in(
        instructions: Instructions,
        conv: &Convolution,
        x: &Tensor,
        (weight, bias): (&Tensor, &Tensor),
        kind: Kind,
    ) -> Option<Tensor> {
        let kernels = instructions.kernels(kind == Kind::BFloat16)?;
        let x = x.permute([0, 2, 3, 1]);
        let is_plain = |tensor: &Tensor, kind| {
            tensor.device() == Device::Cpu && tensor.kind() == kind && tensor.is_contiguous()
        };
        let kind_of_x = if conv.of_bytes { Kind::Uint8 } else { kind };
        if !is_plain(&x, kind_of_x)
            || ![weight, bias]
                .iter()
                .all(|tensor| is_plain(tensor, Kind::Float))
        {
            return None;
        }
        let &[images, height, width, channels] = x.size().as_slice() else {
            return None;
        };
        let [images, height, width, channels, kernel, stride] =
            [images, height, width, channels, conv.kernel, conv.stride]
                .map(|length| length as usize);
        let mut extents = Conv {
            images,
            height,
            width,
            channels,
            kernel,
            stride,
            outputs: bias.numel(),
            rectified: conv.rectified,
            of_bytes: conv.of_bytes,
            channels_first: false,
            bfloat16: kind == Kind::BFloat16,
        };
        let is_whole = weight.numel() == extents.outputs * channels * kernel * kernel;
        if !is_whole
            || !matches!(kind, Kind::Float | Kind::BFloat16)
            || !extents.fits(x.requires_grad())
        {
            return None;
        }
        if conv.channels_first {
            extents = extents.channels_first();
        }
        let raw = |tensor: &Tensor| tensor.as_ptr().cast::<RawTensor>();
        // SAFETY: all three are tensors of libtorch's, which is what tch's pointers point to, contiguous, of
        // the types and extents that `extents` says; the kernels fit it and this processor. The error is a text of
        // this thread that ends with a zero, there until the next call that fails.
        unsafe {
            let y =
                trainer_convolution(&raw const extents, kernels, raw(&x), raw(weight), raw(bias));
            assert!(
                !y.is_null(),
                "{}",
                CStr::from_ptr(trainer_convolution_error()).to_string_lossy()
            );
            let y = Tensor::from_ptr(y.cast());
            Some(if extents.channels_first {
                y
            } else {
                y.permute([0, 3, 1, 2])
            })
        }
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::{x86_64::convolved_in, *};
    use crate::{
        device::computes_in_bf16, error::TrainerError, nn::kernels::Instructions,
        panics::catch_panics,
    };

    const SETS: [Instructions; 2] = [Instructions::Avx2, Instructions::Avx512];

    fn uniform(shape: &[i64], kind: Kind) -> Tensor {
        let numbers = Tensor::rand(shape, (Kind::Float, Device::Cpu)) - 0.5;
        numbers.to_kind(kind)
    }

    fn double(tensor: &Tensor) -> Tensor {
        tensor.detach().to_kind(Kind::Double)
    }

    /// Of `ours`, relative to the largest of `theirs`.
    fn largest_difference(ours: &Tensor, theirs: &Tensor) -> f64 {
        let difference = (double(ours) - theirs).abs().max() / theirs.abs().max();
        difference.double_value(&[])
    }

    fn channels_last(x: &Tensor) -> Tensor {
        x.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2])
    }

    /// Output and gradients beside libtorch's convolution in float64 of the same rounded numbers.
    fn compare(
        instructions: Instructions,
        conv: &Convolution,
        x: [i64; 4],
        outputs: i64,
        kind: Kind,
    ) {
        let [_, inputs, ..] = x;
        let bytes = Tensor::randint(256, x, (Kind::Uint8, Device::Cpu));
        let x = if conv.of_bytes {
            bytes
        } else {
            uniform(&x, kind)
        };
        let x = channels_last(&x).set_requires_grad(!conv.of_bytes);
        let weight = uniform(&[outputs, inputs, conv.kernel, conv.kernel], Kind::Float);
        let (weight, bias) = (
            weight.set_requires_grad(true),
            uniform(&[outputs], Kind::Float),
        );
        let bias = bias.set_requires_grad(true);
        let y = convolved_in(instructions, conv, &x, (&weight, &bias), kind).unwrap();

        let scale = if conv.of_bytes { 255.0 } else { 1.0 };
        let rounded = double(&(weight.detach() / scale).to_kind(kind)).set_requires_grad(true);
        let exact = [double(&x).set_requires_grad(true), rounded, double(&bias)];
        let [x_exact, weight_exact, bias_exact] = exact;
        let bias_exact = bias_exact.set_requires_grad(true);
        let y_exact = x_exact.conv2d(&weight_exact, Some(&bias_exact), conv.stride, 0, 1, 1);
        let expected = if conv.rectified {
            y_exact.relu()
        } else {
            y_exact.shallow_clone()
        };
        let mut pairs = vec![("output", y.shallow_clone(), expected)];

        let of_y = uniform(&y.size(), kind).to_kind(Kind::Float);
        // The units that were on, for at the kink rounding decides.
        let on = if conv.rectified {
            y.gt(0.0)
        } else {
            y.ones_like()
        };
        let of_y_exact = double(&of_y) * on;
        let loss = (y.to_kind(Kind::Float) * of_y).sum(Kind::Float);
        let loss_exact = (y_exact * of_y_exact).sum(Kind::Double);
        let mut names = vec!["weight", "bias"];
        let (mut of, mut of_exact) = (vec![&weight, &bias], vec![&weight_exact, &bias_exact]);
        if !conv.of_bytes {
            names.push("input");
            of.push(&x);
            of_exact.push(&x_exact);
        }
        let ours = Tensor::run_backward(&[&loss], &of, false, false);
        let theirs = Tensor::run_backward(&[&loss_exact], &of_exact, false, false);
        for (name, (ours, theirs)) in names.into_iter().zip(ours.into_iter().zip(theirs)) {
            let scale = if name == "weight" { scale } else { 1.0 };
            pairs.push((name, ours, theirs / scale));
        }
        for (name, ours, theirs) in pairs {
            let is_rounded = kind == Kind::BFloat16 && ["output", "input"].contains(&name);
            let bound = if is_rounded { 1.0 / 256.0 } else { 2e-6 };
            assert_eq!(ours.size(), theirs.size(), "{name}");
            let difference = largest_difference(&ours, &theirs);
            assert!(
                difference < bound,
                "{name} of {conv:?}, {instructions:?}, {kind:?}: {difference:e}"
            );
        }
    }

    #[test]
    fn outputs_and_gradients_are_those_of_float64() {
        let layers = [
            ([2, 4, 60, 44], 32, (8, 4), true, true), // the layers of the Nature CNN
            ([3, 32, 13, 10], 64, (4, 2), false, true),
            ([1, 64, 6, 5], 64, (3, 1), false, true),
            ([1, 320, 1, 29], 64, (1, 1), false, true),
            ([2, 16, 10, 57], 96, (2, 3), false, false), // gaps, rows and columns left over, long rows
            ([2, 32, 3, 3], 32, (3, 3), false, false),
            ([1, 320, 1, 9], 64, (1, 1), false, true), // few rows
        ];
        let kinds = |instructions| match instructions {
            Instructions::Avx512 if computes_in_bf16() => &[Kind::Float, Kind::BFloat16][..],
            _ => &[Kind::Float],
        };
        for set in SETS.into_iter().filter(|set| set.is_there()) {
            for (kind, (number, (x, outputs, (kernel, stride), of_bytes, rectified))) in kinds(set)
                .iter()
                .flat_map(|kind| layers.iter().enumerate().map(move |layer| (kind, layer)))
            {
                let conv = Convolution {
                    kernel: *kernel,
                    stride: *stride,
                    of_bytes: *of_bytes,
                    rectified: *rectified,
                    channels_first: number % 2 == 1,
                };
                compare(set, &conv, *x, *outputs, *kind);
            }
        }
    }

    /// As PyTorch has it for a layer that is not trained: nothing of it changes what flows on to the input.
    #[test]
    fn frozen_weights_pass_the_gradient_on_to_the_input() {
        let conv = Convolution {
            kernel: 3,
            stride: 2,
            of_bytes: false,
            rectified: true,
            channels_first: false,
        };
        let bias = uniform(&[64], Kind::Float);
        for trains_bias in [false, true] {
            let x = channels_last(&uniform(&[2, 32, 9, 9], Kind::Float)).set_requires_grad(true);
            let weight = uniform(&[64, 32, 3, 3], Kind::Float);
            let bias = bias.copy().set_requires_grad(trains_bias);
            let theirs = x.conv2d(&weight, Some(&bias), 2, 0, 1, 1).relu();
            let of_y = uniform(&theirs.size(), Kind::Float);
            let mut wanted = vec![&x];
            wanted.extend(trains_bias.then_some(&bias));
            let gradients = |y: Tensor| {
                Tensor::run_backward(&[(y * &of_y).sum(Kind::Float)], &wanted, false, false)
            };
            let theirs = gradients(theirs);
            for set in SETS.into_iter().filter(|set| set.is_there()) {
                let y = convolved_in(set, &conv, &x, (&weight, &bias), Kind::Float).unwrap();
                assert!(y.requires_grad(), "{set:?}: no gradient of the input");
                for (ours, theirs) in gradients(y).iter().zip(&theirs) {
                    let difference = largest_difference(ours, &double(theirs));
                    assert!(difference < 1e-5, "{set:?}: {difference:e}");
                }
            }
        }
    }

    /// libtorch is not asked once more for what it has refused.
    #[test]
    fn what_libtorch_refuses_is_an_error() {
        let conv = Convolution {
            kernel: 1,
            stride: 1,
            of_bytes: false,
            rectified: false,
            channels_first: false,
        };
        let long = 1 << 23; // its square of numbers is more than addresses reach
        let zeros = |shape: &[i64]| Tensor::zeros(shape, (Kind::Float, Device::Cpu)); // memory on demand
        let x = zeros(&[1, 1, long, 32]).permute([0, 3, 1, 2]);
        let (weight, bias) = (zeros(&[long, 32, 1, 1]), zeros(&[long]));
        let refused = catch_panics(|| Ok(convolved(&conv, &x, (&weight, &bias), Kind::Float)));
        match refused {
            Ok(None) => assert!(Instructions::widest().is_none(), "it went on in silence"),
            Ok(Some(_)) => unreachable!("there is no such memory"),
            Err(error) => assert!(matches!(error, TrainerError::OutOfMemory(_)), "{error}"),
        }
    }

    #[test]
    fn what_does_not_fill_vectors_is_left_to_libtorch() {
        let conv = |stride| Convolution {
            kernel: 4,
            stride,
            of_bytes: false,
            rectified: false,
            channels_first: false,
        };
        let is_taken = |x: &Tensor, outputs, stride, kind| {
            let weight = uniform(&[outputs, x.size()[1], 4, 4], Kind::Float);
            let bias = uniform(&[outputs], Kind::Float);
            convolved(&conv(stride), x, (&weight, &bias), kind).is_some()
        };
        let x = uniform(&[2, 8, 12, 12], Kind::Float);
        let last = channels_last(&x);
        let can = Instructions::widest().is_some();
        assert_eq!(is_taken(&last, 32, 2, Kind::Float), can);
        assert!(
            !is_taken(&x, 32, 2, Kind::Float),
            "channels first in memory"
        );
        assert!(!is_taken(&last, 48, 2, Kind::Float), "outputs");
        assert!(
            !is_taken(&channels_last(&x.narrow(1, 0, 5)), 32, 2, Kind::Float),
            "inputs"
        );
        assert!(!is_taken(&last, 32, 2, Kind::BFloat16), "another type");
        assert!(
            !is_taken(&last.narrow(2, 0, 3), 32, 2, Kind::Float),
            "no pixel"
        );
        let wanted = last.set_requires_grad(true);
        assert!(
            !is_taken(&wanted, 32, 2, Kind::Float),
            "gradients of pixels beside each other"
        );
        assert_eq!(is_taken(&wanted, 32, 4, Kind::Float), can);
    }
}
