//! Every kernel that this processor can run beside sums in float64 of the same rounded numbers.

mod numbers;

use std::ptr;

use learner_kernels::{Convolution, Gradients, Instructions, Kernels, Pixels, bf16};
use numbers::uniform;

/// A type of numbers that there are kernels for.
trait Number: Copy + Into<f64> + 'static {
    const IS_ROUNDED: bool;
    fn rounded(number: f32) -> Self;
    fn kernels(set: Instructions) -> Option<&'static Kernels<Self>>;
}

impl Number for f32 {
    const IS_ROUNDED: bool = false;
    fn rounded(number: f32) -> Self {
        number
    }
    fn kernels(set: Instructions) -> Option<&'static Kernels<Self>> {
        Kernels::float32(set)
    }
}

impl Number for bf16 {
    const IS_ROUNDED: bool = true;
    fn rounded(number: f32) -> Self {
        Self::from_f32(number)
    }
    fn kernels(set: Instructions) -> Option<&'static Kernels<Self>> {
        Kernels::bfloat16(set)
    }
}

/// Those that this processor can run, each once: wider sets may have those of a narrower one.
fn all_kernels<N: Number>() -> Vec<&'static Kernels<N>> {
    let mut kernels: Vec<_> = Instructions::ALL
        .into_iter()
        .filter_map(N::kernels)
        .collect();
    kernels.dedup_by(|next, last| ptr::eq(*next, *last));
    kernels
}

fn exact<N: Number>(numbers: &[N]) -> Vec<f64> {
    numbers.iter().map(|&number| number.into()).collect()
}

/// Forward and backward pass in float64, written down from their definition.
struct Reference<'a> {
    conv: &'a Convolution,
    x: Vec<f64>,
    weight: Vec<f64>,
}

impl Reference<'_> {
    /// Calls `product` with the places of all factors: of the output, the image and the weight.
    fn products(&self, mut product: impl FnMut(usize, usize, usize)) {
        let conv = self.conv;
        let (rows, columns) = (conv.out_height(), conv.out_width());
        let kernel = conv.kernel;
        for image in 0..conv.images {
            for pixel in 0..rows * columns {
                let (row, column) = (pixel / columns, pixel % columns);
                for place in 0..kernel * kernel * conv.channels {
                    let (channel, place) = (place % conv.channels, place / conv.channels);
                    let at = (image * conv.height + row * conv.stride + place / kernel)
                        * conv.width
                        + column * conv.stride
                        + place % kernel;
                    for output in 0..conv.outputs {
                        product(
                            self.output(image, pixel, output),
                            at * conv.channels + channel,
                            (output * conv.channels + channel) * kernel * kernel + place,
                        );
                    }
                }
            }
        }
    }

    fn output(&self, image: usize, pixel: usize, output: usize) -> usize {
        let pixels = self.conv.out_height() * self.conv.out_width();
        if self.conv.channels_first {
            (image * self.conv.outputs + output) * pixels + pixel
        } else {
            (image * pixels + pixel) * self.conv.outputs + output
        }
    }

    /// The output that each place of the outputs belongs to.
    fn outputs(&self) -> Vec<usize> {
        let pixels = self.conv.out_height() * self.conv.out_width();
        let mut outputs = vec![0; self.conv.images * pixels * self.conv.outputs];
        for image in 0..self.conv.images {
            for pixel in 0..pixels {
                for output in 0..self.conv.outputs {
                    outputs[self.output(image, pixel, output)] = output;
                }
            }
        }
        outputs
    }

    fn forward(&self, bias: &[f32]) -> Vec<f64> {
        let outputs = self.outputs();
        let mut y: Vec<f64> = outputs.iter().map(|&output| bias[output].into()).collect();
        self.products(|output, x, weight| y[output] += self.x[x] * self.weight[weight]);
        if self.conv.rectified {
            for number in &mut y {
                *number = number.max(0.0);
            }
        }
        y
    }

    /// Of images, weights and biases.
    fn backward(&self, of_y: &[f64]) -> [Vec<f64>; 3] {
        let mut of_x = vec![0.0; self.x.len()];
        let mut of_weight = vec![0.0; self.weight.len()];
        let mut of_bias = vec![0.0; self.conv.outputs];
        self.products(|output, x, weight| {
            of_x[x] += of_y[output] * self.weight[weight];
            of_weight[weight] += of_y[output] * self.x[x];
        });
        for (place, output) in self.outputs().into_iter().enumerate() {
            of_bias[output] += of_y[place];
        }
        [of_x, of_weight, of_bias]
    }
}

/// The largest difference, relative to the largest number.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, f64::max);
    let differences = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| (ours - theirs).abs());
    largest(&mut { differences }) / largest(&mut theirs.iter().map(|number| number.abs()))
}

/// All that the kernels compute of `conv`, beside the reference.
fn compare<N: Number>(kernels: &Kernels<N>, conv: &Convolution, of_bytes: bool) {
    let pixels = conv.images * conv.height * conv.width * conv.channels;
    let terms = conv.channels * conv.kernel * conv.kernel;
    let bytes: Vec<u8> = uniform(pixels, 1)
        .iter()
        .map(|number| ((number + 0.5) * 255.0).round() as u8)
        .collect();
    let numbers: Vec<N> = uniform(pixels, 1).into_iter().map(N::rounded).collect();
    let weight = uniform(conv.outputs * terms, 2);
    let bias = uniform(conv.outputs, 3);
    let scale = if of_bytes { 255.0 } else { 1.0 };
    let reference = Reference {
        conv,
        x: if of_bytes {
            bytes.iter().map(|&byte| byte.into()).collect()
        } else {
            exact(&numbers)
        },
        weight: weight
            .iter()
            .map(|number| N::rounded(number / scale).into())
            .collect(),
    };
    let x = if of_bytes {
        Pixels::Bytes(&bytes)
    } else {
        Pixels::Numbers(&numbers)
    };
    let expected = reference.forward(&bias);
    let mut y = vec![N::rounded(f32::NAN); expected.len()];
    kernels.forward(conv, x, &weight, &bias, &mut y);

    let of_y: Vec<N> = uniform(y.len(), 4).into_iter().map(N::rounded).collect();
    let mut of_x = vec![N::rounded(f32::NAN); pixels];
    let (mut of_weight, mut of_bias) = (vec![f32::NAN; weight.len()], vec![f32::NAN; bias.len()]);
    let of = Gradients {
        images: (!of_bytes).then_some(&mut of_x),
        weight: &mut of_weight,
        bias: &mut of_bias,
    };
    kernels.backward(conv, x, &weight, (&y, &of_y), of);
    // The units that were on, for at the kink rounding decides.
    let is_on = |y: &N| !conv.rectified || (*y).into() > 0.0;
    let passed = y.iter().zip(exact(&of_y));
    let passed: Vec<f64> = passed
        .map(|(y, gradient)| if is_on(y) { gradient } else { 0.0 })
        .collect();
    let [x_expected, weight_expected, bias_expected] = reference.backward(&passed);
    let weight_expected: Vec<f64> = weight_expected
        .iter()
        .map(|of| of / f64::from(scale))
        .collect();

    let mut pairs = vec![
        ("output", exact(&y), expected, N::IS_ROUNDED),
        ("weight", exact(&of_weight), weight_expected, false),
        ("bias", exact(&of_bias), bias_expected, false),
    ];
    if !of_bytes {
        pairs.push(("image", exact(&of_x), x_expected, N::IS_ROUNDED));
    }
    for (name, ours, theirs, is_rounded) in pairs {
        let bound = if is_rounded { 1.0 / 256.0 } else { 2e-6 };
        let difference = difference(&ours, &theirs);
        assert!(difference < bound, "{name} of {conv:?}: {difference:e}");
    }
}

/// Images of so many rows, columns and channels; kernel and stride; outputs.
fn conv(
    (images, [height, width, channels]): (usize, [usize; 3]),
    [kernel, stride]: [usize; 2],
    outputs: usize,
) -> Convolution {
    Convolution {
        images,
        height,
        width,
        channels,
        kernel,
        stride,
        outputs,
        rectified: true,
        channels_first: false,
    }
}

#[test]
fn outputs_and_gradients_are_those_of_float64() {
    let not_rectified = |conv| Convolution {
        rectified: false,
        ..conv
    };
    let channels_first = |conv| Convolution {
        channels_first: true,
        ..conv
    };
    let layers = [
        (conv((2, [60, 44, 4]), [8, 4], 32), true), // the layers of the Nature CNN
        (channels_first(conv((3, [13, 10, 32]), [4, 2], 64)), false),
        (conv((1, [6, 5, 64]), [3, 1], 64), false),
        (channels_first(conv((1, [1, 29, 320]), [1, 1], 64)), false),
        // Gaps, rows and columns left over, long rows.
        (not_rectified(conv((2, [10, 57, 16]), [2, 3], 96)), false),
        (
            channels_first(not_rectified(conv((2, [3, 3, 32]), [3, 3], 32))),
            false,
        ),
        (conv((2, [5, 4, 32]), [1, 2], 32), false), // pixels that nothing sees
        (conv((1, [1, 9, 320]), [1, 1], 64), false), // few rows
    ];
    for (conv, of_bytes) in &layers {
        for kernels in all_kernels::<f32>() {
            compare(kernels, conv, *of_bytes);
        }
        for kernels in all_kernels::<bf16>() {
            compare(kernels, conv, *of_bytes);
        }
    }
}

#[test]
fn what_this_processor_lacks_is_not_given() {
    for set in Instructions::ALL {
        assert_eq!(f32::kernels(set).is_some(), set.is_there(), "{set:?}");
        assert!(set <= Instructions::widest() || !set.is_there(), "{set:?}");
        assert!(bf16::kernels(set).is_none() || set.is_there(), "{set:?}");
    }
    assert!(Instructions::Plain.is_there());
}

#[test]
fn what_does_not_fill_vectors_does_not_fit() {
    let good = conv((2, [12, 12, 8]), [4, 4], 32);
    assert!(good.fits(true));
    let close = Convolution { stride: 2, ..good };
    assert!(close.fits(false) && !close.fits(true), "neighbours overlap");
    for (bad, why) in [
        (
            Convolution {
                outputs: 48,
                ..good
            },
            "outputs",
        ),
        (
            Convolution {
                channels: 5,
                ..good
            },
            "channels",
        ),
        (Convolution { height: 3, ..good }, "no pixel"),
        (Convolution { images: 0, ..good }, "no image"),
        (
            Convolution {
                images: 1 << 52,
                ..good
            },
            "more numbers than memory could have",
        ),
        (
            Convolution {
                outputs: 1 << 52,
                ..good
            },
            "more outputs",
        ),
    ] {
        assert!(!bad.fits(false), "{why}");
    }
}

#[test]
#[should_panic(expected = "images, weights, biases and outputs")]
fn a_slice_of_another_length_is_refused() {
    let conv = conv((1, [4, 4, 32]), [4, 4], 32);
    let [x, weight] = [vec![0.0; 4 * 4 * 32], vec![0.0; 32 * 32 * 16]];
    let kernels = f32::kernels(Instructions::Plain).unwrap();
    kernels.forward(
        &conv,
        Pixels::Numbers(&x),
        &weight,
        &[0.0; 31],
        &mut [0.0; 32],
    );
}
