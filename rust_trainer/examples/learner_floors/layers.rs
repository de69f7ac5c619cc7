//! The layers of the Nature CNN, each by itself, for a minibatch.

use rust_trainer::{
    nn::{Activation, Conv2d, Linear, Params, ParamsBuilder},
    random::seeded_rng,
};
use tch::{Device, Kind, Tensor};

use crate::{CONV1, CONV2, CONV3, FIRST_USES, LINEAR, MINIBATCH, clock::Clock, rates::Work};

/// The layers, and what each is given.
pub struct Layers {
    params: Params,
    kind: Kind,
    convolutions: [(Conv2d, Tensor); 3],
    linear: (Linear, Tensor),
}

const NAMES: [[&str; 2]; 4] = [
    ["conv1 forward", "conv1 backward"],
    ["conv2 forward", "conv2 backward"],
    ["conv3 forward", "conv3 backward"],
    ["linear forward", "linear backward"],
];

impl Layers {
    /// That compute in `kind`.
    pub fn new(kind: Kind) -> Self {
        let mut rng = seeded_rng(1);
        let mut params = ParamsBuilder::new(&mut rng);
        let mut conv =
            |name, channels, kernel| Conv2d::new(&mut params, name, channels, kernel, 1.0);
        let conv1 = conv("1", (4, 32), (8, 4));
        let conv2 = conv("2", (32, 64), (4, 2));
        let conv3 = conv("3", (64, 64), (3, 1)).channels_first();
        let linear = Linear::new(&mut params, "4", 3136, 512, 1.0);
        let batch = MINIBATCH as i64;
        let pixels = |side, channels| {
            let shape = [batch, side, side, channels];
            Tensor::randn(shape, (Kind::Float, Device::Cpu)).permute([0, 3, 1, 2])
        };
        let bytes = (pixels(84, 4).abs() * 50.0).clamp(0.0, 255.0);
        let wanted = |x: Tensor| x.to_kind(kind).set_requires_grad(true);
        let rows = Tensor::randn([batch, 3136], (Kind::Float, Device::Cpu));
        Self {
            params: params.finish(Device::Cpu),
            kind,
            convolutions: [
                (conv1, bytes.to_kind(Kind::Uint8)),
                (conv2, wanted(pixels(20, 32))),
                (conv3, wanted(pixels(9, 64))),
            ],
            linear: (linear, wanted(rows)),
        }
    }

    /// Output and gradients of all, rectified. The gradient of the outputs is made within: ones.
    pub fn step(&self, clock: &mut Clock) {
        let params: Vec<&Tensor> = self.params.named().map(|(_, tensor)| tensor).collect();
        for (number, [forward, backward]) in NAMES.into_iter().enumerate() {
            let (x, y) = if let Some((conv, x)) = self.convolutions.get(number) {
                (
                    x,
                    clock.time(forward, || conv.forward(x, self.kind, Activation::Relu)),
                )
            } else {
                let (linear, x) = &self.linear;
                (
                    x,
                    clock.time(forward, || linear.forward(x, Activation::Relu)),
                )
            };
            let mut wanted = params[2 * number..][..2].to_vec();
            if x.requires_grad() {
                wanted.push(x);
            }
            let _ = clock.time(backward, || {
                Tensor::run_backward(&[&y], &wanted, false, false)
            });
        }
    }

    /// Each with its operations, and no bytes.
    pub fn floors() -> Vec<(&'static str, Work)> {
        let mut floors = Vec::new();
        for (number, names) in NAMES.into_iter().enumerate() {
            let flops = MINIBATCH as f64 * [CONV1, CONV2, CONV3, LINEAR][number];
            let work = |flops| Work {
                flops,
                first_uses: if number == 3 { FIRST_USES } else { 0.0 },
                bytes: 0.0,
            };
            // Observations need no gradient.
            let gradients = if number == 0 { 1.0 } else { 2.0 };
            floors.extend([(names[0], work(flops)), (names[1], work(gradients * flops))]);
        }
        floors
    }
}
