//! How long this processor takes for a gradient step's images, by our kernels and by libtorch, for `doctor`.

use tch::{Device, Kind, Tensor};
use vec_env::{ActionSpace, Dtype, ObsSpec};

use super::{Network, PolicyValueNet};
use crate::{
    device,
    error::TrainerError,
    processor,
    random::seeded_rng,
    settings::{NetSettings, Precision},
};

/// Images of one measurement.
pub(crate) const IMAGES: i64 = 64;
const ROUNDS: usize = 5;

/// One way to compute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub precision: Precision,
    /// What computes it, for people.
    pub by: &'static str,
    /// CPU time of [`IMAGES`] forward and backward through the Nature CNN, the shortest of five.
    pub milliseconds: f64,
}

/// Measures fp32 and bf16 on one thread, in turns, in about a second: in the way that is chosen, and by libtorch where
/// that is another one.
///
/// # Errors
/// What libtorch fails with.
pub(crate) fn ways() -> Result<Vec<Way>, TrainerError> {
    device::limit_torch_to_one_thread();
    let spec = ObsSpec {
        shape: vec![4, 84, 84],
        dtype: Dtype::Uint8,
    };
    let images = Tensor::randint(256, [IMAGES, 4, 84, 84], (Kind::Uint8, Device::Cpu));
    let (actions, settings) = (ActionSpace::Discrete { n: 6 }, NetSettings::default());
    let mut ways = Vec::new();
    for (precision, kind) in [
        (Precision::Fp32, Kind::Float),
        (Precision::Bf16, Kind::BFloat16),
    ] {
        for is_left in [false, true] {
            if is_left && !processor::has_kernels(kind) {
                continue;
            }
            let mut rng = seeded_rng(1);
            let net = PolicyValueNet::new(
                &spec,
                &actions,
                &settings,
                0,
                Device::Cpu,
                precision,
                &mut rng,
            )?;
            let by = if is_left {
                "libtorch"
            } else {
                processor::name(kind)
            };
            let way = Way {
                precision,
                by,
                milliseconds: f64::INFINITY,
            };
            ways.push((net, is_left, way));
        }
    }
    for _ in 0..=ROUNDS {
        for (net, is_left, way) in &mut ways {
            processor::leave_to_libtorch(*is_left);
            let start = device::cpu_time();
            let output = net.forward(&images);
            let loss = output.policy.entropy().mean(Kind::Float) + output.value.mean(Kind::Float);
            let _gradient = net.params().gradient(&loss);
            let taken = device::cpu_time().saturating_sub(start).as_secs_f64() * 1e3;
            way.milliseconds = way.milliseconds.min(taken);
        }
    }
    processor::leave_to_libtorch(false);
    Ok(ways.into_iter().map(|(_, _, way)| way).collect())
}
