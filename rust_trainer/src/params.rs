//! The parameters of a network as views of one flat tensor.
//!
//! One tensor instead of a dozen makes an optimizer step a handful of operations, clipping by global
//! norm a single reduction, and a checkpoint a single array beside its list of names and shapes.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use tch::{Device, Kind, Tensor, no_grad_guard};

/// Name, shape and initial value of one parameter.
pub(crate) struct ParamSpec {
    pub name: &'static str,
    pub shape: Vec<i64>,
    pub init: Init,
}

/// How a parameter starts.
#[derive(Clone, Copy)]
pub(crate) enum Init {
    Zero,
    /// Orthonormal rows or columns, scaled.
    Orthogonal {
        gain: f64,
    },
}

impl ParamSpec {
    fn numel(&self) -> i64 {
        self.shape.iter().product()
    }

    /// The initial value, flat. Orthogonal: Q of the QR decomposition of a normal matrix, made unique by
    /// the signs of R's diagonal (Saxe et al. 2014, as `torch.nn.init.orthogonal_`).
    fn draw(&self, rng: &mut impl Rng) -> Tensor {
        match self.init {
            Init::Zero => Tensor::zeros([self.numel()], (Kind::Float, Device::Cpu)),
            Init::Orthogonal { gain } => {
                let rows = self.shape[0];
                let columns = self.numel() / rows;
                let normal: Vec<f32> = StandardNormal
                    .sample_iter(rng)
                    .take(self.numel() as usize)
                    .collect();
                let normal =
                    Tensor::from_slice(&normal).view([rows.max(columns), rows.min(columns)]);
                let (q, r) = Tensor::linalg_qr(&normal, "reduced");
                let q = q * r.diagonal(0, 0, 1).sign();
                let q = if rows < columns { q.tr() } else { q };
                (q * gain).reshape(-1)
            }
        }
    }
}

/// All parameters of a network, float32.
#[derive(Debug)]
pub struct Params {
    flat: Tensor,
    views: Vec<Tensor>,
    names: Vec<&'static str>,
}

impl Params {
    /// Lays the parameters out one after another. They are drawn from a generator of ours and on the CPU:
    /// a seed gives the same network on every device, whatever else uses libtorch's.
    pub(crate) fn new(specs: &[ParamSpec], device: Device, rng: &mut impl Rng) -> Self {
        let initial: Vec<Tensor> = specs.iter().map(|spec| spec.draw(rng)).collect();
        let flat = Tensor::cat(&initial, 0).to_device(device);
        let mut offset = 0;
        let views = specs
            .iter()
            .map(|spec| {
                let length = spec.numel();
                let view = flat.narrow(0, offset, length).view(spec.shape.as_slice());
                offset += length;
                view.detach().set_requires_grad(true)
            })
            .collect();
        Self {
            flat,
            views,
            names: specs.iter().map(|spec| spec.name).collect(),
        }
    }

    /// All parameters, shape `[num_params]`; writing to it writes to every view.
    pub(crate) fn flat_mut(&mut self) -> &mut Tensor {
        &mut self.flat
    }

    /// The parameters, each in its own shape, in the order in which they were declared.
    pub fn views(&self) -> &[Tensor] {
        &self.views
    }

    /// The parameters with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        self.names.iter().copied().zip(&self.views)
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

    /// The gradient of `loss` with respect to all parameters, shape `[num_params]`.
    pub fn gradient(&self, loss: &Tensor) -> Tensor {
        let gradients = Tensor::run_backward(&[loss], &self.views, false, false);
        let flat: Vec<Tensor> = gradients
            .iter()
            .map(|gradient| gradient.reshape(-1))
            .collect();
        Tensor::cat(&flat, 0).to_kind(Kind::Float)
    }

    /// Overwrites the parameter `index` with `value`, which must have its shape.
    pub fn set(&mut self, index: usize, value: &Tensor) {
        let _guard = no_grad_guard();
        self.views[index].copy_(value);
    }
}
