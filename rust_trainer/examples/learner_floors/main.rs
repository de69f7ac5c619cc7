//! Where the time of a gradient step and of an acting step goes, each part beside its floor.
//!
//! ```sh
//! cargo run --release -p rust_trainer --example learner_floors -- fp32 15   # or bf16
//! ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 \
//!     target/release/examples/learner_floors fp32 15 libtorch   # its arithmetic alone, and no wider than AVX2
//! ```
//!
//! PPO as `ppo-atari` has it, 8 environments × 128 steps in 4 minibatches, in one thread, for several compute
//! parts of the same: precision, rounds. Then the layers of the Nature CNN by themselves. A floor is arithmetic at
//! the rate of a large product, or bytes at the rate of a large copy, whichever takes longer. Where tiles compute
//! (AMX), arithmetic goes at the rate at which they multiply, by the caches that their blocks come from; the layers by
//! themselves are libtorch's there. All rates are measured here, in the same rounds, per second of CPU time: that a
//! machine that does other things besides leaves nearly as it is. Prints one JSON object; times are medians in
//! milliseconds.

mod clock;
mod layers;
mod rates;

use std::{env, error::Error, hint::black_box};

use clock::Clock;
use layers::Layers;
use rates::{Rates, Work};

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
use tch::{Device, Kind};
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
/// Those with each weight of the fully connected layer when it is first used: tiles multiply it by 32 samples.
const FIRST_USES: f64 = 32.0 * LINEAR;
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
        bench.rates.time(&mut clock);
        bench.rollout_step(&mut clock);
        for _ in 0..4 {
            bench.gradient_step(&mut clock);
        }
    }
    let layers = Layers::new(precision.1);
    for _ in 0..=4 * rounds {
        layers.step(&mut clock);
    }
    let rates = bench.rates.measured(&clock);
    let beside_floors = |floors: Vec<(&'static str, Work)>| {
        let mut rows = Vec::new();
        for (phase, work) in floors {
            let floor = rates.floor(&work);
            let (wall, cpu) = (clock.median(phase), clock.median_cpu(phase));
            rows.push(json!({"phase": phase, "ms": wall, "cpu_ms": cpu, "floor_cpu_ms": floor}));
        }
        rows
    };
    let [product, copy, tiles] = rates.report();
    let report = json!({
        "precision": precision.0.name(),
        "product_gflops_per_cpu": product,
        "copy_gb_per_cpu_second": copy,
        "tiles_gflops_per_cpu": tiles,
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
    rates: Rates,
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
        Ok(Self {
            optimizer: Optimizer::adam(net.params.numel(), Device::Cpu, settings.adam_eps),
            net,
            rollout,
            settings,
            bytes_per_number,
            rates: Rates::new(kind),
        })
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

    /// Each phase with what it cannot do without.
    fn floors(&self) -> Vec<(&'static str, Work)> {
        let (batch, params) = (MINIBATCH as f64, self.net.params().numel() as f64);
        let weights = params * self.bytes_per_number;
        let work = |flops, bytes| Work {
            flops,
            first_uses: 0.0,
            bytes,
        };
        let pass = |flops, bytes| Work {
            first_uses: FIRST_USES,
            ..work(flops, bytes)
        };
        vec![
            (
                "act: 8 observations",
                work(NUM_ENVS as f64 * FORWARD, weights),
            ),
            // Images are copied where they are computed with, or read where they lie.
            ("gather", Work::default()),
            ("forward", pass(batch * FORWARD, batch * OBS_BYTES)),
            ("loss", Work::default()),
            ("backward", pass(batch * BACKWARD, weights)),
            ("clip", work(0.0, params * 4.0)),
            // It reads gradient, weights and two moments, and writes all but the first.
            ("adam", work(0.0, params * 7.0 * 4.0)),
        ]
    }
}
