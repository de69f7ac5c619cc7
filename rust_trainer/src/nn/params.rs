//! The parameters of a network as views of one flat tensor.
//!
//! One tensor instead of a dozen makes an optimizer step a handful of operations, clipping by global
//! norm a single reduction, and the average over many machines one exchange.

use rand::{Rng, RngExt};
use tch::{Device, Kind, Tensor, no_grad_guard};

use super::init;
use crate::{parallel::ReadOnly, settings::Init};

/// Takes the parameters of a network as its layers declare them; [`ParamsBuilder::finish`] joins them.
///
/// They are drawn from a generator of ours and on the CPU: a seed gives the same network on every
/// device, whatever else uses libtorch's.
pub struct ParamsBuilder<'a> {
    rng: &'a mut dyn Rng,
    init: Init,
    named: Vec<(String, Tensor)>,
}

impl<'a> ParamsBuilder<'a> {
    /// No parameters yet; `rng` draws their first values, orthogonal where nothing else is said.
    pub fn new(rng: &'a mut dyn Rng) -> Self {
        Self {
            rng,
            init: Init::Orthogonal,
            named: Vec::new(),
        }
    }

    /// The same with weights and biases that start by `init`.
    #[must_use]
    pub fn starting(self, init: Init) -> Self {
        Self { init, ..self }
    }

    /// Weights: orthonormal rows or columns times `gain`, or uniform up to 1/√`fan_in`.
    pub(super) fn weight(&mut self, name: &str, shape: &[i64], fan_in: i64, gain: f64) -> Tensor {
        match self.init {
            Init::Orthogonal => {
                let value = init::orthogonal(shape, gain, self.rng);
                self.add(name, value)
            }
            Init::Uniform => self.uniform(name, shape, 1.0 / (fan_in as f64).sqrt()),
        }
    }

    /// The biases behind such weights: zeros, or uniform as they are.
    pub(super) fn bias(&mut self, name: &str, numel: i64, fan_in: i64) -> Tensor {
        match self.init {
            Init::Orthogonal => self.zeros(name, numel),
            Init::Uniform => self.uniform(name, &[numel], 1.0 / (fan_in as f64).sqrt()),
        }
    }

    /// A parameter of `numel` zeros.
    pub(super) fn zeros(&mut self, name: &str, numel: i64) -> Tensor {
        self.add(name, Tensor::zeros([numel], (Kind::Float, Device::Cpu)))
    }

    /// A parameter of `numel` ones.
    pub(super) fn ones(&mut self, name: &str, numel: i64) -> Tensor {
        self.add(name, Tensor::ones([numel], (Kind::Float, Device::Cpu)))
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
        self.named.push((name.to_owned(), value));
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
        }
    }
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
}

/// All parameters of a network, float32.
#[derive(Debug)]
pub struct Params {
    flat: Tensor,
    named: Vec<(String, Tensor)>,
}

impl Params {
    /// All parameters, `[num_params]`; writing to it writes to every layer.
    pub fn flat_mut(&mut self) -> &mut Tensor {
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
        self.flat.copy_(&other.flat);
    }

    /// The gradient of `loss` with respect to all parameters, `[num_params]`.
    pub fn gradient(&self, loss: &Tensor) -> Tensor {
        let params: Vec<&Tensor> = self.named().map(|(_, tensor)| tensor).collect();
        let gradients = Tensor::run_backward(&[loss], &params, false, false);
        let flat: Vec<Tensor> = gradients
            .iter()
            .map(|gradient| gradient.reshape(-1))
            .collect();
        Tensor::cat(&flat, 0).to_kind(Kind::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        nn::{Conv2d, Linear, Lstm},
        random::seeded_rng,
    };

    /// The largest of each parameter; nn.Linear, nn.Conv2d and nn.LSTM bound them by 1/√fan-in, and the
    /// last by 1/√size.
    #[test]
    fn uniform_weights_and_biases_fill_the_bounds_of_pytorch() {
        let mut rng = seeded_rng(1);
        let mut params = ParamsBuilder::new(&mut rng).starting(Init::Uniform);
        Linear::new(&mut params, "linear", 100, 500, 0.01);
        Conv2d::new(&mut params, "conv", (4, 500), (5, 1), 0.01);
        Lstm::new(&mut params, "lstm", 9, 400);
        let params = params.finish(Device::Cpu);
        assert_eq!(params.named().count(), 8);
        for (name, tensor) in params.named() {
            let bound = match name.split('.').next() {
                Some("linear" | "conv") => 0.1,
                _ => 0.05,
            };
            let largest = tensor.abs().max().double_value(&[]);
            assert!(
                (0.98 * bound..=bound + 1e-7).contains(&largest),
                "{name}: {largest}"
            );
            let mean = tensor.mean(Kind::Float).double_value(&[]);
            assert!(mean.abs() < 0.1 * bound, "{name}: {mean}");
        }
    }
}
