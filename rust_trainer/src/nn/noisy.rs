//! Fully connected layers with noise on their weights, by which an agent explores (Fortunato et al.
//! 2018, "Noisy networks for exploration", with factorised Gaussian noise).

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use tch::Tensor;

use super::params::ParamsBuilder;

/// `x · (W + S ∘ ε)ᵀ + b + s ∘ ε_out` with `ε = ε_out ε_inᵀ`.
#[derive(Debug)]
pub struct NoisyLinear {
    weight: Tensor,
    weight_sigma: Tensor,
    bias: Tensor,
    bias_sigma: Tensor,
}

/// The noise of one layer: `f(normal)` for each input and output, where `f(x) = sign(x) √|x|`.
#[derive(Debug)]
pub struct LayerNoise {
    inputs: Tensor,
    outputs: Tensor,
}

impl NoisyLinear {
    /// Parameters `<name>.weight` and `<name>.bias`, uniform up to `1/√inputs`, and the size of their
    /// noise, `<name>.weight_sigma` and `<name>.bias_sigma`, `sigma/√inputs` each (section 3.2).
    pub fn new(
        params: &mut ParamsBuilder<'_>,
        name: &str,
        inputs: i64,
        outputs: i64,
        sigma: f64,
    ) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        let (shape, sigma) = ([outputs, inputs], sigma * bound);
        Self {
            weight: params.uniform(&format!("{name}.weight"), &shape, bound),
            bias: params.uniform(&format!("{name}.bias"), &[outputs], bound),
            weight_sigma: params.constant(&format!("{name}.weight_sigma"), &shape, sigma),
            bias_sigma: params.constant(&format!("{name}.bias_sigma"), &[outputs], sigma),
        }
    }

    /// `[batch, inputs]` → `[batch, outputs]`; without noise what it is on average.
    ///
    /// The noisy weights are never written down: noise on the inputs, then on the outputs, is the same
    /// product and moves no matrix.
    pub fn forward(&self, x: &Tensor, noise: Option<&LayerNoise>) -> Tensor {
        let kind = x.kind();
        let cast = |tensor: &Tensor| tensor.to_kind(kind);
        let mean = x.linear(&cast(&self.weight), Some(&cast(&self.bias)));
        let Some(noise) = noise else {
            return mean;
        };
        let spread = (x * cast(&noise.inputs))
            .linear(&cast(&self.weight_sigma), Some(&cast(&self.bias_sigma)));
        mean + spread * cast(&noise.outputs)
    }

    /// Noise for one use of the layer: its inputs' first, then its outputs'.
    pub fn draw(&self, rng: &mut dyn Rng) -> LayerNoise {
        let size = self.weight.size();
        let mut draw = |count: i64| normal_roots(count, rng).to_device(self.weight.device());
        LayerNoise {
            inputs: draw(size[1]),
            outputs: draw(size[0]),
        }
    }
}

fn normal_roots(count: i64, rng: &mut dyn Rng) -> Tensor {
    let normal = StandardNormal.sample_iter(rng).take(count as usize);
    let roots: Vec<f32> = normal.map(|x: f32| x.abs().sqrt().copysign(x)).collect();
    Tensor::from_slice(&roots)
}
