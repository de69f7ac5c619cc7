//! The parameters of a network as views of one flat tensor.
//!
//! One tensor instead of a dozen makes an optimizer step a handful of operations, clipping by global
//! norm a single reduction, and the average over many machines one exchange.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use tch::{Device, Kind, Tensor, no_grad_guard};

use super::node::Places;
use crate::{
    parallel::{self, ReadOnly, Shared, Threads},
    settings::Init,
};

/// Takes the parameters of a network as its layers declare them; [`ParamsBuilder::finish`] joins them.
///
/// They are drawn from a generator of ours and on the CPU: a seed gives the same network on every
/// device, whatever else uses libtorch's.
pub struct ParamsBuilder<'a> {
    rng: &'a mut dyn Rng,
    init: Init,
    /// What the names of those that follow begin with.
    prefix: String,
    named: Vec<(String, Tensor)>,
    version: Version,
}

/// How often all parameters of a network were changed at once; who makes something of them looks whether it is still
/// true.
#[derive(Clone, Debug, Default)]
pub(super) struct Version(Arc<AtomicU64>);

impl Version {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn advance(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

impl<'a> ParamsBuilder<'a> {
    /// No parameters yet; `rng` draws their first values, orthogonal where nothing else is said.
    pub fn new(rng: &'a mut dyn Rng) -> Self {
        Self {
            rng,
            init: Init::Orthogonal,
            prefix: String::new(),
            named: Vec::new(),
            version: Version::default(),
        }
    }

    /// That of the network's parameters.
    pub(super) fn version(&self) -> Version {
        self.version.clone()
    }

    /// The same with weights and biases that start by `init`.
    #[must_use]
    pub fn starting(self, init: Init) -> Self {
        Self { init, ..self }
    }

    /// The parameters that follow are those of one of `count` agents, and their names begin with `agent0.` and so on; as
    /// they are where it is the only one.
    pub(super) fn begin_agent(&mut self, agent: usize, count: usize) {
        self.prefix = if count > 1 {
            format!("agent{agent}.")
        } else {
            String::new()
        };
    }

    /// Weights: orthonormal rows or columns times `gain`, or uniform up to 1/√`fan_in`.
    pub(super) fn weight(&mut self, name: &str, shape: &[i64], fan_in: i64, gain: f64) -> Tensor {
        match self.init {
            Init::Orthogonal => {
                let value = orthogonal(shape, gain, self.rng);
                self.add(name, value)
            }
            Init::Uniform => self.uniform(name, shape, 1.0 / (fan_in as f64).sqrt()),
        }
    }

    /// The biases behind such weights: zeros, or uniform as they are.
    pub(super) fn bias(&mut self, name: &str, numel: i64, fan_in: i64) -> Tensor {
        match self.init {
            Init::Orthogonal => self.constant(name, &[numel], 0.0),
            Init::Uniform => self.uniform(name, &[numel], 1.0 / (fan_in as f64).sqrt()),
        }
    }

    /// A parameter whose numbers are drawn uniformly from −`bound` to `bound`.
    pub(super) fn uniform(&mut self, name: &str, shape: &[i64], bound: f64) -> Tensor {
        let numel = shape.iter().product::<i64>() as usize;
        let numbers: Vec<f32> = (0..numel)
            .map(|_| ((2.0 * self.rng.random::<f64>() - 1.0) * bound) as f32)
            .collect();
        self.add(name, Tensor::from_slice(&numbers).view(shape))
    }

    /// A parameter whose numbers are all `value`.
    pub(super) fn constant(&mut self, name: &str, shape: &[i64], value: f64) -> Tensor {
        self.add(name, Tensor::full(shape, value, (Kind::Float, Device::Cpu)))
    }

    fn add(&mut self, name: &str, value: Tensor) -> Tensor {
        let layers = value.shallow_clone();
        self.named.push((format!("{}{name}", self.prefix), value));
        layers
    }

    /// Lays all parameters out one after another in one tensor on `device`. The layers' tensors become
    /// views of it.
    #[must_use]
    pub fn finish(mut self, device: Device) -> Params {
        let values = self.named.iter().map(|(_, value)| value.reshape(-1));
        let values: Vec<Tensor> = values.collect();
        let flat = Tensor::cat(&values, 0).to_device(device);
        let mut offset = 0;
        for (_, tensor) in &mut self.named {
            let (shape, length) = (tensor.size(), tensor.numel() as i64);
            // The layer's handle and ours are one tensor to libtorch: this replaces the memory of both.
            tensor.set_data(&flat.narrow(0, offset, length).view(shape.as_slice()));
            let _ = tensor.set_requires_grad(true);
            offset += length;
        }
        Params {
            flat,
            named: self.named,
            version: self.version,
        }
    }
}

/// A matrix with orthonormal rows or columns times `gain`, float32 in `shape`; all axes behind the first
/// count as columns.
///
/// Q of the QR decomposition of a normal matrix, made unique by the signs of R's diagonal (Saxe et al.
/// 2014, as `torch.nn.init.orthogonal_`).
fn orthogonal(shape: &[i64], gain: f64, rng: &mut dyn Rng) -> Tensor {
    let numel: i64 = shape.iter().product();
    let rows = shape[0];
    let columns = numel / rows;
    let normal: Vec<f32> = StandardNormal
        .sample_iter(rng)
        .take(numel as usize)
        .collect();
    let normal = Tensor::from_slice(&normal).view([rows.max(columns), rows.min(columns)]);
    let (q, r) = Tensor::linalg_qr(&normal, "reduced");
    let q = q * r.diagonal(0, 0, 1).sign();
    let q = if rows < columns { q.tr() } else { q };
    (q * gain).reshape(shape)
}

/// Layers over one set of parameters, which several threads compute with at once.
///
/// Whether they may is a promise ([`ReadOnly`]) that only `unsafe` code makes; a network without it is refused:
///
/// ```compile_fail,E0277
/// use rust_trainer::nn::{Network, Params};
///
/// struct Counting(Params, std::cell::Cell<u64>);
///
/// impl Network for Counting {
///     fn params(&self) -> &Params {
///         self.1.set(self.1.get() + 1);
///         &self.0
///     }
///
///     fn params_mut(&mut self) -> &mut Params {
///         &mut self.0
///     }
/// }
/// ```
pub trait Network: ReadOnly {
    /// The weights.
    fn params(&self) -> &Params;

    /// The weights, to be changed.
    fn params_mut(&mut self) -> &mut Params;

    /// What `forward` says of each row of `obs`, `[rows, ...]`, without gradients; computed in as many parts as
    /// are worth it.
    fn forward_in_parts(
        &self,
        obs: &Tensor,
        threads: Threads,
        forward: impl Fn(&Self, &Tensor) -> Tensor + Sync,
    ) -> Tensor
    where
        Self: Sized,
    {
        let count = threads.num_forward_parts(obs.size()[0] as usize, self.params().numel());
        let net = Shared::new(self);
        let mut made = parallel::map(obs.tensor_split(count as i64, 0), |part| {
            let _guard = no_grad_guard(); // of this thread
            forward(net.get(), &part)
        });
        match made.len() {
            1 => made.remove(0),
            _ => Tensor::cat(&made, 0),
        }
    }
}

/// All parameters of a network, float32.
#[derive(Debug)]
pub struct Params {
    flat: Tensor,
    named: Vec<(String, Tensor)>,
    version: Version,
}

impl Params {
    /// All parameters, `[num_params]`; writing to it writes to every layer.
    pub fn flat_mut(&mut self) -> &mut Tensor {
        self.version.advance();
        &mut self.flat
    }

    /// The parameters with their names, each in its own shape, in the order in which they were declared.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.named
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Number of scalars.
    #[must_use]
    pub fn numel(&self) -> i64 {
        self.flat.size()[0]
    }

    /// Where the parameters live.
    #[must_use]
    pub fn device(&self) -> Device {
        self.flat.device()
    }

    /// Takes over the values of another network's parameters of the same names and shapes.
    pub fn copy_from(&mut self, other: &Self) {
        let _guard = no_grad_guard();
        self.flat_mut().copy_(&other.flat);
    }

    /// Goes the share `tau` of the way to another network's parameters of the same names and shapes.
    pub fn approach(&mut self, other: &Self, tau: f64) {
        let _guard = no_grad_guard();
        let _ = self.flat_mut().lerp_(&other.flat, tau);
    }

    /// The gradient of `loss` with respect to all parameters, `[num_params]`; layers of ours write theirs into it, those of
    /// others are copied.
    pub fn gradient(&self, loss: &Tensor) -> Tensor {
        let _guard = no_grad_guard();
        let flat = Tensor::empty([self.numel()], (Kind::Float, self.device()));
        let (mut places, mut offset) = (Vec::with_capacity(self.named.len()), 0);
        for (_, param) in &self.named {
            let length = param.numel() as i64;
            places.push(flat.narrow(0, offset, length).view_as(param));
            offset += length;
        }
        let gradients = {
            let wanted = self.named().zip(&places);
            let wanted = wanted
                .map(|((_, param), place)| (param.data_ptr().cast_const(), place.shallow_clone()));
            let _places = Places::new(wanted);
            let params: Vec<&Tensor> = self.named().map(|(_, param)| param).collect();
            Tensor::run_backward(&[loss], &params, false, false)
        };
        for (place, gradient) in places.iter_mut().zip(&gradients) {
            if place.data_ptr() != gradient.data_ptr() {
                place.copy_(gradient);
            }
        }
        flat
    }
}
