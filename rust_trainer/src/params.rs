//! The parameters of a network as views of one flat tensor.
//!
//! One tensor instead of a dozen makes an optimizer step a handful of operations, clipping by global
//! norm a single reduction, and a checkpoint a single array beside its list of names and shapes.

use tch::{Device, Kind, Tensor, nn::Init, no_grad_guard};

/// Name, shape and initial value of one parameter.
pub(crate) struct ParamSpec {
    pub name: &'static str,
    pub shape: Vec<i64>,
    pub init: Init,
}

/// All parameters of a network, float32.
#[derive(Debug)]
pub struct Params {
    flat: Tensor,
    views: Vec<Tensor>,
    names: Vec<&'static str>,
}

impl Params {
    /// Lays the parameters out one after another and initializes them on the CPU, so that a seed gives
    /// the same network on every device.
    pub(crate) fn new(specs: &[ParamSpec], device: Device) -> Self {
        let initial: Vec<Tensor> = specs
            .iter()
            .map(|spec| tch::nn::init(spec.init, &spec.shape, Device::Cpu).detach().reshape(-1))
            .collect();
        let flat = Tensor::cat(&initial, 0).to_device(device);
        let mut offset = 0;
        let views = specs
            .iter()
            .map(|spec| {
                let length = spec.shape.iter().product();
                let view = flat.narrow(0, offset, length).view(spec.shape.as_slice());
                offset += length;
                view.detach().set_requires_grad(true)
            })
            .collect();
        Self { flat, views, names: specs.iter().map(|spec| spec.name).collect() }
    }

    /// All parameters, shape `[num_params]`; writing to it writes to every view.
    pub(crate) fn flat_mut(&mut self) -> &mut Tensor {
        &mut self.flat
    }

    /// The parameters, each in its own shape, in the order in which they were declared.
    #[must_use]
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
    pub(crate) fn gradient(&self, loss: &Tensor) -> Tensor {
        let gradients = Tensor::run_backward(&[loss], &self.views, false, false);
        let flat: Vec<Tensor> = gradients.iter().map(|gradient| gradient.reshape(-1)).collect();
        Tensor::cat(&flat, 0).to_kind(Kind::Float)
    }

    /// Overwrites the parameter `index` with `value`, which must have its shape.
    pub(crate) fn set(&mut self, index: usize, value: &Tensor) {
        let _guard = no_grad_guard();
        self.views[index].copy_(value);
    }
}
