//! Adam, `RAdam` and RMSprop on one flat tensor, and clipping by global norm.
//!
//! tch's own optimizers can neither save their state nor clip by norm without a round trip to the host.

use tch::{Device, Kind, Tensor, no_grad_guard};

/// A first-order optimizer over a flat tensor of parameters.
#[derive(Debug)]
pub struct Optimizer {
    rule: Rule,
    /// As large as the parameters, for what a step computes: memory got anew for it takes longer than the
    /// arithmetic.
    scratch: Tensor,
    /// Steps taken.
    pub(crate) steps: u64,
}

#[derive(Debug)]
enum Rule {
    Adam {
        mean: Tensor,
        variance: Tensor,
        eps: f64,
    },
    RAdam {
        mean: Tensor,
        variance: Tensor,
    },
    RmsProp {
        square: Tensor,
        alpha: f64,
        eps: f64,
    },
}

/// The decay rates of Adam and `RAdam`, those of the papers.
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const RADAM_EPS: f64 = 1e-8;

impl Optimizer {
    /// Adam (Kingma & Ba 2015, algorithm 1) with β = (0.9, 0.999), as `torch.optim.Adam`.
    #[must_use]
    pub fn adam(num_params: i64, device: Device, eps: f64) -> Self {
        let zeros = || Tensor::zeros([num_params], (Kind::Float, device));
        Self {
            rule: Rule::Adam {
                mean: zeros(),
                variance: zeros(),
                eps,
            },
            scratch: zeros(),
            steps: 0,
        }
    }

    /// `RAdam` (Liu et al. 2020, algorithm 2) with β = (0.9, 0.999) and ε = 1e-8, as `torch.optim.RAdam`:
    /// Adam whose step is shortened while the variance of its first few gradients is uncertain, and
    /// momentum alone in the first five steps, where nothing is known of it (four in the paper).
    #[must_use]
    pub fn radam(num_params: i64, device: Device) -> Self {
        let zeros = || Tensor::zeros([num_params], (Kind::Float, device));
        Self {
            rule: Rule::RAdam {
                mean: zeros(),
                variance: zeros(),
            },
            scratch: zeros(),
            steps: 0,
        }
    }

    /// RMSprop as Baselines' A2C has it, from TensorFlow 1 (`tf.train.RMSPropOptimizer`, without momentum,
    /// not centered): the mean square starts at 1, and ε stands inside the root.
    ///
    /// `s ← αs + (1 − α)g²`, `θ ← θ − lr · g / √(s + ε)`. PyTorch's starts at 0 and adds ε outside,
    /// so that its first step is 10 · lr in every coordinate, however small the gradient.
    #[must_use]
    pub fn rms_prop(num_params: i64, device: Device, alpha: f64, eps: f64) -> Self {
        let square = Tensor::ones([num_params], (Kind::Float, device));
        Self {
            scratch: square.empty_like(),
            rule: Rule::RmsProp { square, alpha, eps },
            steps: 0,
        }
    }

    /// Moves `params` against `gradient`; both float32 `[num_params]`.
    pub fn step(&mut self, params: &mut Tensor, gradient: &Tensor, learning_rate: f64) {
        let _guard = no_grad_guard();
        self.steps += 1;
        let scratch = &self.scratch;
        match &mut self.rule {
            Rule::Adam {
                mean,
                variance,
                eps,
            } => {
                let correction1 = 1.0 - BETA1.powf(self.steps as f64);
                let correction2 = 1.0 - BETA2.powf(self.steps as f64);
                let _ = mean.lerp_(gradient, 1.0 - BETA1);
                let _ = variance.lerp_(&gradient.square_out(scratch), 1.0 - BETA2);
                let mut denominator = variance.sqrt_out(scratch);
                let _ = denominator
                    .g_div_scalar_(correction2.sqrt())
                    .g_add_scalar_(*eps);
                let mut change = mean.divide_out(scratch, &denominator);
                *params -= change.g_mul_scalar_(learning_rate / correction1);
            }
            Rule::RAdam { mean, variance } => {
                let steps = self.steps as f64;
                let correction1 = 1.0 - BETA1.powf(steps);
                let correction2 = 1.0 - BETA2.powf(steps);
                let _ = mean.lerp_(gradient, 1.0 - BETA1);
                let _ = variance.lerp_(&gradient.square_out(scratch), 1.0 - BETA2);
                // ρ, the length of the simple moving average that the exponential one stands for.
                let longest = 2.0 / (1.0 - BETA2) - 1.0;
                let length = longest - 2.0 * steps * BETA2.powf(steps) / correction2;
                if length > 5.0 {
                    let rectification = ((length - 4.0) * (length - 2.0) * longest
                        / ((longest - 4.0) * (longest - 2.0) * length))
                        .sqrt();
                    let scale = learning_rate * rectification * correction2.sqrt() / correction1;
                    let denominator = variance.sqrt_out(scratch).g_add_scalar_(RADAM_EPS);
                    let mut change = mean.divide_out(scratch, &denominator);
                    *params -= change.g_mul_scalar_(scale);
                } else {
                    *params -= &*mean * (learning_rate / correction1);
                }
            }
            Rule::RmsProp { square, alpha, eps } => {
                let _ = square.lerp_(&gradient.square_out(scratch), 1.0 - *alpha);
                let denominator = (&*square + *eps).sqrt();
                *params -= (gradient / denominator).g_mul_scalar_(learning_rate);
            }
        }
    }

    /// The state as named tensors, `[num_params]` each.
    #[must_use]
    pub fn state(&self) -> Vec<(&'static str, &Tensor)> {
        match &self.rule {
            Rule::Adam { mean, variance, .. } => {
                vec![("adam.mean", mean), ("adam.variance", variance)]
            }
            Rule::RAdam { mean, variance } => {
                vec![("radam.mean", mean), ("radam.variance", variance)]
            }
            Rule::RmsProp { square, .. } => vec![("rmsprop.square", square)],
        }
    }
}

/// Scales `gradient` down to the global norm `max_norm` if it is longer, as
/// `torch.nn.utils.clip_grad_norm_`; the norm before stays on the device.
///
/// Squares are summed pairwise by `sum`; libtorch's own `norm` of 1.7 million numbers on the CPU is off by
/// 8e-5, ten times the tolerance of our tests.
pub fn clip_grad_norm(gradient: &mut Tensor, max_norm: f64) -> Tensor {
    let _guard = no_grad_guard();
    let norm = gradient.square().sum(Kind::Float).sqrt();
    let scale = ((&norm + 1e-6).reciprocal() * max_norm).clamp_max(1.0);
    *gradient *= scale;
    norm
}
