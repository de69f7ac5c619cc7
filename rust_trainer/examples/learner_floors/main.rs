//! Where the time of a gradient step and of an acting step goes, each part beside its floor.
//!
//! ```sh
//! cargo run --release -p rust_trainer --example learner_floors -- fp32 15
//! ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 \
//!     target/release/examples/learner_floors fp32 15 libtorch   # its arithmetic alone, and no wider than AVX2
//! ```
//!
//! PPO as `ppo-atari` has it, 8 environments × 128 steps in 4 minibatches, in one thread, for several compute
//! parts of the same: precision, rounds. Then the layers of the Nature CNN by themselves. A floor is arithmetic at
//! the rate of a large product, or bytes at the rate of a large copy, whichever takes longer; both rates are
//! measured here, in the same rounds, per second of CPU time: that a machine that does other things besides
//! leaves nearly as it is. Prints one JSON object; times are
//! medians in milliseconds.

mod clock;
mod layers;

use std::{env, error::Error, hint::black_box};

use clock::Clock;
use layers::Layers;

use rust_trainer::{
    algorithms::ppo,
    data::Rollout,
    nn::{Memory, Network, PolicyValueNet},
    optimizer::{Optimizer, clipping},
    parallel::Threads,
    policy::choose,
    processor::leave_to_libtorch,
    random::seeded_rng,
    settings::{NetSettings, PpoSettings, Precision},
};
use serde_json::json;
use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, Dtype, ObsSpec, env::Random};

const NUM_ENVS: usize = 8;
const NUM_STEPS: usize = 128;
const MINIBATCH: usize = NUM_ENVS * NUM_STEPS / 4;
const OBS_BYTES: f64 = 4.0 * 84.0 * 84.0;
const NUM_ACTIONS: i64 = 6;

/// Floating-point operations of the forward pass of one sample: two for each weight and place.
const CONV1: f64 = 2.0 * 20.0 * 20.0 * 32.0 * (4.0 * 8.0 * 8.0);
const CONV2: f64 = 2.0 * 9.0 * 9.0 * 64.0 * (32.0 * 4.0 * 4.0);
const CONV3: f64 = 2.0 * 7.0 * 7.0 * 64.0 * (64.0 * 3.0 * 3.0);
const LINEAR: f64 = 2.0 * 512.0 * (3136.0 + NUM_ACTIONS as f64 + 1.0);
const FORWARD: f64 = CONV1 + CONV2 + CONV3 + LINEAR;
/// The gradients of the weights and of the inputs; observations need none.
const BACKWARD: f64 = 2.0 * FORWARD - CONV1;

fn main() -> Result<(), Box<dyn Error>> {
    rust_trainer::heap::prepare(); // as the trainer is started
    let usage = "usage: learner_floors fp32|bf16 ROUNDS [libtorch]";
    let mut words: Vec<String> = env::args().skip(1).collect();
    if words.pop_if(|word| word == "libtorch").is_some() {
        leave_to_libtorch(true);
    }
    let [precision, rounds] = words.as_slice() else {
        return Err(usage.into());
    };
    let precision = match precision.as_str() {
        "fp32" => (Precision::Fp32, Kind::Float),
        "bf16" => (Precision::Bf16, Kind::BFloat16),
        _ => return Err(usage.into()),
    };
    tch::set_num_threads(1);
    let rounds: usize = rounds.parse()?;
    let mut bench = Bench::new(precision)?;
    let mut clock = Clock::default();
    for round in 0..=rounds {
        if round == 1 {
            clock.samples.clear(); // the first warms up
        }
        bench.rates(&mut clock);
        bench.rollout_step(&mut clock);
        for _ in 0..4 {
            bench.gradient_step(&mut clock);
        }
    }
    let layers = Layers::new(precision.1);
    for _ in 0..=4 * rounds {
        layers.step(&mut clock);
    }
    let product = ["rate: product", "rate: conv"].map(|rate| clock.median_cpu(rate));
    let product = bench.product_flops / product[0].min(product[1]);
    let copy = bench.copy_bytes / clock.median_cpu("rate: copy");
    let beside_floors = |floors: Vec<(&'static str, f64, f64)>| {
        let mut rows = Vec::new();
        for (phase, flops, bytes) in floors {
            let floor = (flops / product).max(bytes / copy);
            let (wall, cpu) = (clock.median(phase), clock.median_cpu(phase));
            rows.push(json!({"phase": phase, "ms": wall, "cpu_ms": cpu, "floor_cpu_ms": floor}));
        }
        rows
    };
    let report = json!({
        "precision": precision.0.name(),
        "product_gflops_per_cpu": product / 1e6,
        "copy_gb_per_cpu_second": copy / 1e6,
        "phases": beside_floors(bench.floors()),
        "layers": beside_floors(Layers::floors()),
    });
    #[expect(clippy::print_stdout, reason = "it is what the example is for")]
    {
        println!("{report}");
    }
    Ok(())
}

struct Bench {
    net: PolicyValueNet,
    optimizer: Optimizer,
    rollout: Rollout,
    settings: PpoSettings,
    bytes_per_number: f64,
    square: Tensor,
    image: Tensor,
    kernels: Tensor,
    large: [Tensor; 2],
    /// Operations of each of the two large products, and bytes that the large copy reads and writes.
    product_flops: f64,
    copy_bytes: f64,
}

impl Bench {
    fn new((precision, kind): (Precision, Kind)) -> Result<Self, Box<dyn Error>> {
        let spec = ObsSpec {
            shape: vec![4, 84, 84],
            dtype: Dtype::Uint8,
        };
        let (settings, actions) = (
            PpoSettings::default(),
            ActionSpace::Discrete { n: NUM_ACTIONS },
        );
        let (body, mut rng) = (NetSettings::default(), seeded_rng(1));
        let net = PolicyValueNet::new(&spec, &actions, &body, 0, Device::Cpu, precision, &mut rng)?;
        let memory = Memory::default();
        let mut rollout = Rollout::new(&spec, NUM_STEPS, (NUM_ENVS, 1), memory, Device::Cpu)?;
        let mut random = Random::new(1);
        let mut fill = |rollout: &mut Rollout| {
            for byte in rollout.next_obs().chunks_exact_mut(8) {
                byte.copy_from_slice(&random.next_u64().to_ne_bytes());
            }
        };
        fill(&mut rollout);
        for _ in 0..NUM_STEPS {
            let choice = choose(
                &net,
                &rollout.newest_obs(),
                &mut Memory::default(),
                &mut rng,
                false,
                Threads::ONE,
            );
            rollout.add_choice(choice);
            fill(&mut rollout);
            rollout.add_step(&[1.0; NUM_ENVS], [false; NUM_ENVS]);
        }
        let bytes_per_number = kind.elt_size_in_bytes() as f64;
        let (normal, side) = (
            |shape: &[i64]| Tensor::randn(shape, (Kind::Float, Device::Cpu)),
            2048,
        );
        // As many operations as the product of two squares: side³ = 256 · 256 · 9 places.
        let (channels, places) = (256, 14_564);
        let image = normal(&[places / 196 + 1, 16, 16, channels]).to_kind(kind);
        let kernels = normal(&[channels, 3, 3, channels]).to_kind(kind);
        let floats = 32 << 20;
        Ok(Self {
            optimizer: Optimizer::adam(net.params.numel(), Device::Cpu, settings.adam_eps),
            net,
            rollout,
            settings,
            bytes_per_number,
            square: normal(&[side, side]).to_kind(kind),
            image: image.permute([0, 3, 1, 2]),
            kernels: kernels.permute([0, 3, 1, 2]),
            large: [0, 1].map(|_| Tensor::zeros([floats], (Kind::Float, Device::Cpu))),
            product_flops: 2.0 * (side * side * side) as f64,
            copy_bytes: 8.0 * floats as f64,
        })
    }

    /// The rates that floors are made of: a product of large matrices, the same work as a convolution of
    /// many channels, a copy of more than any cache holds.
    fn rates(&mut self, clock: &mut Clock) {
        let _guard = tch::no_grad_guard();
        let _ = clock.time("rate: product", || {
            black_box(self.square.matmul(&self.square))
        });
        let bias: Option<&Tensor> = None;
        let _ = clock.time("rate: conv", || {
            black_box(self.image.conv2d(&self.kernels, bias, 1, 0, 1, 1))
        });
        let [target, source] = &mut self.large;
        clock.time("rate: copy", || target.copy_(source));
    }

    fn rollout_step(&mut self, clock: &mut Clock) {
        let mut rng = seeded_rng(2);
        for _ in 0..16 {
            clock.time("act: 8 observations", || {
                let obs = self.rollout.newest_obs();
                let memory = &mut Memory::default();
                choose(&self.net, &obs, memory, &mut rng, false, Threads::ONE)
            });
        }
    }

    fn gradient_step(&mut self, clock: &mut Clock) {
        let indices: Vec<i64> = (0..MINIBATCH as i64)
            .map(|index| index * 389 % 1024)
            .collect();
        let samples = self.rollout.samples(&vec![0.5; NUM_ENVS * NUM_STEPS]);
        let (batch, samples) = clock.time("gather", || {
            let batch = self.rollout.batch(&indices);
            let samples = samples.select(&batch.indices).normalized();
            (batch, samples)
        });
        let output = clock.time("forward", || batch.forward(&self.net));
        let loss = clock.time("loss", || ppo::loss(&output, &samples, &self.settings));
        let gradient = clock.time("backward", || self.net.params.gradient(&loss.total));
        let scale = clock.time("clip", || {
            let max_norm = self.settings.max_grad_norm;
            let clipped = clipping(&gradient, max_norm, Threads::ONE);
            let (norm, scale) = clipped.expect("a gradient on the CPU");
            black_box(norm.double_value(&[]) + loss.total.double_value(&[]));
            scale
        });
        clock.time("adam", || {
            let params = self.net.params.flat_mut();
            self.optimizer
                .step(params, (&gradient, scale), 1e-9, Threads::ONE);
        });
    }

    /// Each phase with its operations and the bytes that it cannot do without reading or writing.
    fn floors(&self) -> Vec<(&'static str, f64, f64)> {
        let (batch, params) = (MINIBATCH as f64, self.net.params().numel() as f64);
        let weights = params * self.bytes_per_number;
        // Adam reads gradient, weights and two moments, and writes all but the first.
        vec![
            ("act: 8 observations", NUM_ENVS as f64 * FORWARD, weights),
            // Images are copied where they are computed with, or read where they lie.
            ("gather", 0.0, 0.0),
            (
                "forward",
                batch * FORWARD,
                batch * OBS_BYTES * (1.0 + self.bytes_per_number),
            ),
            ("loss", 0.0, 0.0),
            ("backward", batch * BACKWARD, weights),
            ("clip", 0.0, params * 4.0),
            ("adam", 0.0, params * 7.0 * 4.0),
        ]
    }
}
