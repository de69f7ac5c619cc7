//! How long each kernel takes in one thread, in each set of instructions that this processor has.
//!
//! ```sh
//! cargo run --release -p learner_kernels --example kernel_times -- 15   # rounds
//! ```
//!
//! The layers of the Nature CNN for a minibatch of 256 images and, of the last one, for 8 rows as in acting; the
//! steps of optimizers for its parameters. Prints a line each: the median in milliseconds, and GFLOP/s or GB/s.

#![expect(clippy::print_stdout, reason = "it is what the example is for")]

use std::{env, hint::black_box, iter, time::Instant};

use learner_kernels::{
    AdamStep, Convolution, Gradients, Images, Instructions, Kernels, Pixels, ResidualShape,
    RmsPropStep, TileUnit, Trunk, TrunkShape, bf16, sum_of_squares,
};

const MINIBATCH: usize = 256;
const NUM_PARAMS: usize = 1_687_719;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = env::args().nth(1).map_or(Ok(15), |word| word.parse())?;
    // Tiles are timed as a trunk, below.
    let sets = Instructions::ALL.into_iter();
    for set in sets.filter(|set| *set != Instructions::Amx) {
        let float32 = Kernels::float32(set).filter(|_| set != Instructions::Avx512Bf16);
        let bfloat16 = Kernels::bfloat16(set);
        for (name, conv) in layers() {
            let name = format!("{set:?} {name}");
            if let Some(kernels) = float32 {
                time_layer(kernels, &name, &conv, rounds, 0.5);
            }
            if let Some(kernels) = bfloat16 {
                time_layer(kernels, &name, &conv, rounds, bf16::from_f32(0.5));
            }
        }
    }
    if let Some(unit) = TileUnit::processor() {
        time_nature(unit, "AMX trunk", false, rounds);
        time_nature(unit, "AMX trunk, norm", true, rounds);
        time_residual(unit, rounds);
    }
    time_steps(rounds);
    Ok(())
}

fn layers() -> [(&'static str, Convolution); 5] {
    let conv = |images, side, channels, [kernel, stride]: [usize; 2], outputs| Convolution {
        images,
        height: side,
        width: side,
        channels,
        kernel,
        stride,
        outputs,
        rectified: true,
        channels_first: side == 9, // as they are flattened
    };
    let linear = |rows| Convolution {
        width: rows,
        ..conv(1, 1, 3136, [1, 1], 512)
    };
    [
        ("conv1", conv(MINIBATCH, 84, 4, [8, 4], 32)),
        ("conv2", conv(MINIBATCH, 20, 32, [4, 2], 64)),
        ("conv3", conv(MINIBATCH, 9, 64, [3, 1], 64)),
        ("linear", linear(MINIBATCH)),
        ("linear, 8 rows", linear(8)),
    ]
}

/// Forward pass, and gradients of weights and, where these are no bytes, of images.
fn time_layer<N: Copy>(
    kernels: &Kernels<N>,
    name: &str,
    conv: &Convolution,
    rounds: usize,
    number: N,
) {
    let pixels = conv.images * conv.height * conv.width * conv.channels;
    let of_bytes = conv.channels == 4;
    let (bytes, numbers) = (vec![50; pixels], vec![number; pixels]);
    let x = if of_bytes {
        Pixels::Bytes(&bytes)
    } else {
        Pixels::Numbers(&numbers)
    };
    let num_weights = conv.outputs * conv.channels * conv.kernel * conv.kernel;
    let (weight, bias) = (vec![0.01; num_weights], vec![0.01; conv.outputs]);
    let out_pixels = conv.images * conv.out_height() * conv.out_width();
    let mut y = vec![number; out_pixels * conv.outputs];
    let flops = 2.0 * (out_pixels * num_weights) as f64;
    report(&format!("{name} forward"), flops, "GFLOP/s", rounds, || {
        kernels.forward(conv, x, &weight, &bias, &mut y);
    });
    let of_y = y.clone();
    let (mut of_x, mut of_weight, mut of_bias) = (numbers.clone(), weight.clone(), bias.clone());
    let passes = if of_bytes { 1.0 } else { 2.0 };
    report(
        &format!("{name} backward"),
        passes * flops,
        "GFLOP/s",
        rounds,
        || {
            let of = Gradients {
                images: (!of_bytes).then_some(&mut of_x),
                weight: &mut of_weight,
                bias: &mut of_bias,
            };
            kernels.backward(conv, x, &weight, (&y, &of_y), of);
        },
    );
}

/// The Nature CNN as a whole in tiles.
fn time_nature(unit: TileUnit, name: &str, norm: bool, rounds: usize) {
    let shape = TrunkShape {
        channels: 4,
        height: 84,
        width: 84,
        convolutions: &[[32, 8, 4], [64, 4, 2], [64, 3, 1]],
        hidden: Some(512),
        norm,
    };
    let layers = [[8192, 32], [32768, 64], [36864, 64], [1_605_632, 512]];
    let lengths = layers.into_iter().flat_map(|[weights, outputs]| {
        let others = if norm { 3 } else { 1 };
        iter::once(weights).chain(iter::repeat_n(outputs, others))
    });
    let products = [400.0 * 8192.0, 81.0 * 32768.0, 49.0 * 36864.0, 1_605_632.0];
    if let Some(trunk) = Trunk::new(shape, unit) {
        time_trunk(&trunk, name, (lengths.collect(), &products), rounds);
    }
}

/// IMPALA's residual network.
fn time_residual(unit: TileUnit, rounds: usize) {
    const PLACES: f64 = 9.0;
    let shape = ResidualShape {
        channels: 4,
        height: 84,
        width: 84,
        stages: &[16, 32, 32],
        hidden: Some(256),
    };
    let (mut lengths, mut products) = (Vec::new(), Vec::new());
    let stages = [[4, 16, 84, 42], [16, 32, 42, 21], [32, 32, 21, 11]];
    for [inputs, outputs, side, pooled] in stages {
        for (inputs, side) in iter::once((inputs, side)).chain([(outputs, pooled); 4]) {
            lengths.extend([inputs * outputs * 9, outputs]);
            products.push(PLACES * (inputs * outputs * side * side) as f64);
        }
    }
    lengths.extend([3872 * 256, 256]);
    products.push(3872.0 * 256.0);
    if let Some(trunk) = Trunk::residual(shape, unit) {
        time_trunk(&trunk, "AMX residual trunk", (lengths, &products), rounds);
    }
}

/// Packing, forward and backward pass of a minibatch, and acting for 8; `products` are those of each layer for an image.
fn time_trunk(trunk: &Trunk, name: &str, (lengths, products): (Vec<usize>, &[f64]), rounds: usize) {
    const IMAGE: usize = 84 * 84 * 4;
    let flops = 2.0 * products.iter().sum::<f64>();
    // Not all the same: of such a norm makes zeros.
    let number = |at: usize| 0.0002 * (at * 37 % 101) as f32;
    let params = lengths
        .iter()
        .map(|length| (0..*length).map(number).collect());
    let params: Vec<Vec<f32>> = params.collect();
    let params: Vec<&[f32]> = params.iter().map(Vec::as_slice).collect();
    let bytes = vec![50; MINIBATCH * IMAGE];
    let places: Vec<usize> = (0..MINIBATCH).map(|image| image * IMAGE).collect();
    let images = Images {
        bytes: &bytes,
        places: &places,
    };
    let mut features = vec![bf16::ZERO; MINIBATCH * trunk.features()];
    let bytes = 4.0 * lengths.iter().sum::<usize>() as f64;
    report(&format!("{name} packed"), bytes, "GB/s", rounds, || {
        trunk.pack(&trunk.room_for_weights(), &params);
    });
    let packed = trunk.room_for_weights();
    trunk.pack(&packed, &params);
    let amount = flops * MINIBATCH as f64;
    let mut made = None;
    let forward = format!("{name} forward");
    report(&forward, amount, "GFLOP/s", rounds, || {
        made = Some(trunk.forward(images, &packed, &params, &mut features));
    });
    let of_features = features.clone();
    let mut of_params: Vec<Vec<f32>> = params.iter().map(|param| param.to_vec()).collect();
    let mut of_params: Vec<&mut [f32]> = of_params.iter_mut().map(Vec::as_mut_slice).collect();
    if let Some(made) = &mut made {
        let amount = (2.0 * flops - 2.0 * products[0]) * MINIBATCH as f64;
        let backward = format!("{name} backward");
        report(&backward, amount, "GFLOP/s", rounds, || {
            let features = [&*features, &of_features];
            trunk.backward(images, &packed, made, features, &mut of_params);
        });
    }
    let images = Images {
        places: &places[..8],
        ..images
    };
    let features = &mut features[..8 * trunk.features()];
    let few = format!("{name}, 8 images");
    report(&few, 8.0 * flops, "GFLOP/s", 10 * rounds, || {
        trunk.act(images, &packed, &params, features);
    });
}

fn time_steps(rounds: usize) {
    let gradient = vec![1e-3; NUM_PARAMS];
    let mut numbers = [0.0, 0.1, 0.1].map(|number| vec![number; NUM_PARAMS]);
    let bytes = 4.0 * NUM_PARAMS as f64;
    report("Adam", 7.0 * bytes, "GB/s", rounds, || {
        let (beta1, beta2, step, root, eps) = (0.9, 0.999, 1e-9, 1.0, 1e-5);
        let rule = AdamStep {
            beta1,
            beta2,
            step,
            root,
            eps,
            scale: 1.0,
        };
        rule.apply(&gradient, numbers.each_mut().map(Vec::as_mut_slice));
    });
    let [params, square, _] = &mut numbers;
    report("RMSprop", 5.0 * bytes, "GB/s", rounds, || {
        let (alpha, rate, eps) = (0.99, 1e-9, 1e-5);
        let scale = 1.0;
        let rule = RmsPropStep {
            alpha,
            rate,
            eps,
            scale,
        };
        rule.apply(&gradient, [params, square]);
    });
    report("sum of squares", bytes, "GB/s", rounds, || {
        black_box(sum_of_squares(&gradient));
    });
}

/// Prints the median of so many rounds of `work` behind one that warms up, and how much of it that is a second.
fn report(name: &str, amount: f64, unit: &str, rounds: usize, mut work: impl FnMut()) {
    let mut times: Vec<f64> = (0..=rounds)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed().as_secs_f64()
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!(
        "{name:36} {:9.3} ms {:8.1} {unit}",
        1e3 * median,
        amount / median / 1e9
    );
}
