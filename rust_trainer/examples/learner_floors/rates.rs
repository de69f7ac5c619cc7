//! The rates that floors are made of, and the floor of what work there is.

use std::hint::black_box;

use learner_kernels::{BlockProducts, TileUnit, bf16};
use rust_trainer::processor::tiles;
use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};
use vec_env::env::Random;

use crate::clock::Clock;

/// What a part of a step cannot do without.
#[derive(Default)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Those of them that are the first with their weight of the fully connected layer.
    pub first_uses: f64,
    /// Bytes that are read or written.
    pub bytes: f64,
}

/// Where tiles get their blocks from: its name, that of its times, and how many blocks `a` and `b` have, of 2 KiB.
/// From the third cache come the blocks of `b`, as do weights; those of `a`, images, come from the second.
const CACHES: [(&str, &str, [usize; 2]); 3] = [
    ("first_cache", "rate: tiles, first cache", [4, 4]),
    ("second_cache", "rate: tiles, second cache", [256, 256]),
    ("third_cache", "rate: tiles, third cache", [256, 8192]),
];
/// Products of two blocks that are timed at once: of each block one at least.
const PRODUCTS: usize = 16_384;
const PRODUCT_FLOPS: f64 = 2.0 * 32.0 * 32.0 * 32.0;

/// What is done over and over to measure the rates.
pub struct Rates {
    square: Tensor,
    image: Tensor,
    kernels: Tensor,
    large: [Tensor; 2],
    /// From each cache; none where no tiles compute.
    tiles: Vec<BlockProducts>,
    /// Operations of each of the two large products, and bytes that the large copy reads and writes.
    product_flops: f64,
    copy_bytes: f64,
}

/// The rates, a millisecond of CPU time.
pub struct Measured {
    product: f64,
    copy: f64,
    /// From each cache, where tiles compute.
    tiles: Option<[f64; 3]>,
}

impl Rates {
    /// Of arithmetic in `kind`.
    pub fn new(kind: Kind) -> Self {
        let normal = |shape: &[i64]| Tensor::randn(shape, (Kind::Float, Device::Cpu));
        let side = 2048;
        // As many operations as the product of two squares: side³ = 256 · 256 · 9 places.
        let (channels, places) = (256, 14_564);
        let image = normal(&[places / 196 + 1, 16, 16, channels]).to_kind(kind);
        let kernels = normal(&[channels, 3, 3, channels]).to_kind(kind);
        let floats = 32 << 20;
        let unit = tiles().filter(|_| kind == Kind::BFloat16);
        Self {
            square: normal(&[side, side]).to_kind(kind),
            image: image.permute([0, 3, 1, 2]),
            kernels: kernels.permute([0, 3, 1, 2]),
            large: [0, 1].map(|_| Tensor::zeros([floats], (Kind::Float, Device::Cpu))),
            tiles: unit.map_or(Vec::new(), |unit| {
                CACHES.map(|(_, _, row)| products(unit, row)).into()
            }),
            product_flops: 2.0 * (side * side * side) as f64,
            copy_bytes: 8.0 * floats as f64,
        }
    }

    /// Times a product of large matrices, the same work as a convolution of many channels, a copy of more than any
    /// cache holds, and products in tiles.
    pub fn time(&mut self, clock: &mut Clock) {
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
        for (products, (_, what, _)) in self.tiles.iter_mut().zip(CACHES) {
            let mut sums = [[0.0; 32]; 32];
            products.add_to(&mut sums); // brings the blocks into their cache
            clock.time(what, || products.add_to(&mut sums));
            black_box(sums);
        }
    }

    /// The medians of what was timed.
    pub fn measured(&self, clock: &Clock) -> Measured {
        let product = ["rate: product", "rate: conv"].map(|rate| clock.median_cpu(rate));
        let of_tiles = |(_, what, _)| PRODUCTS as f64 * PRODUCT_FLOPS / clock.median_cpu(what);
        Measured {
            product: self.product_flops / product[0].min(product[1]),
            copy: self.copy_bytes / clock.median_cpu("rate: copy"),
            tiles: (!self.tiles.is_empty()).then(|| CACHES.map(of_tiles)),
        }
    }
}

/// Products of so many blocks of `a` and of `b`.
fn products(unit: TileUnit, blocks: [usize; 2]) -> BlockProducts {
    let mut random = Random::new(1);
    let mut number = || bf16::from_f32((random.next_u64() >> 40) as f32 / (1 << 24) as f32 - 0.5);
    let [a, b] = blocks.map(|count| (0..count * 1024).map(|_| number()).collect::<Vec<_>>());
    BlockProducts::new(unit, [&a, &b], PRODUCTS)
}

impl Measured {
    /// The least milliseconds that work takes: its arithmetic or its bytes, whichever takes longer. Blocks of tiles come
    /// from the second cache, but the weights of the fully connected layer, when they are first used, from the third.
    pub fn floor(&self, work: &Work) -> f64 {
        let arithmetic = match self.tiles {
            Some([_, second, third]) => {
                (work.flops - work.first_uses) / second + work.first_uses / third
            }
            None => work.flops / self.product,
        };
        arithmetic.max(work.bytes / self.copy)
    }

    /// GFLOP/s of a large product, GB/s of a large copy, and GFLOP/s of tiles from each cache.
    pub fn report(&self) -> [Value; 3] {
        let of_tiles = |rates: [f64; 3]| -> Value {
            let named = CACHES.iter().zip(rates);
            let named = named.map(|((name, _, _), rate)| ((*name).to_owned(), json!(rate / 1e6)));
            Value::Object(named.collect())
        };
        [
            json!(self.product / 1e6),
            json!(self.copy / 1e6),
            self.tiles.map_or(Value::Null, of_tiles),
        ]
    }
}
