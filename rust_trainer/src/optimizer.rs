//! Adam, `RAdam` and RMSprop on one flat tensor, and clipping by global norm.
//!
//! tch's own optimizers can neither save their state nor clip by norm without a round trip to the host.

mod fused;
mod on_device;

use tch::{Device, Kind, Tensor, no_grad_guard};

use crate::parallel::Threads;
use fused::{MeanSquare, Moments};

/// A first-order optimizer over a flat tensor of parameters.
#[derive(Debug)]
pub struct Optimizer {
    rule: Rule,
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
            rule: Rule::RmsProp { square, alpha, eps },
            steps: 0,
        }
    }

    /// Moves `params` against `gradient`; both float32 `[num_params]`. On the CPU in one pass, in `threads`.
    pub fn step(
        &mut self,
        params: &mut Tensor,
        gradient: &Tensor,
        learning_rate: f64,
        threads: Threads,
    ) {
        let _guard = no_grad_guard();
        self.steps += 1;
        let moments = self.moments(self.steps, learning_rate);
        match (&mut self.rule, moments) {
            (Rule::Adam { mean, variance, .. } | Rule::RAdam { mean, variance }, Some(moments)) => {
                if fused::is_possible(params) {
                    moments.apply(threads, params, gradient, (mean, variance));
                    return;
                }
                let _ = mean.lerp_(gradient, 1.0 - moments.beta1);
                let _ = variance.lerp_(&gradient.square(), 1.0 - moments.beta2);
                let mut denominator = variance.sqrt();
                let _ = denominator
                    .g_mul_scalar_(moments.root)
                    .g_add_scalar_(moments.eps);
                *params -= (&*mean / denominator).g_mul_scalar_(moments.step);
            }
            (Rule::RmsProp { square, alpha, eps }, _) => {
                let (alpha, rate, eps) = (*alpha, learning_rate, *eps);
                if fused::is_possible(params) {
                    let rule = MeanSquare { alpha, rate, eps };
                    rule.apply(threads, params, gradient, square);
                    return;
                }
                let _ = square.lerp_(&gradient.square(), 1.0 - alpha);
                let denominator = (&*square + eps).sqrt();
                *params -= (gradient / denominator).g_mul_scalar_(rate);
            }
            (Rule::Adam { .. } | Rule::RAdam { .. }, None) => {}
        }
    }

    /// What the step of this number, from 1, does with the moments, where the rule has two.
    fn moments(&self, step: u64, learning_rate: f64) -> Option<Moments> {
        let steps = step as f64;
        let correction1 = 1.0 - BETA1.powf(steps);
        let correction2 = 1.0 - BETA2.powf(steps);
        let (step, root, eps) = match self.rule {
            Rule::RmsProp { .. } => return None,
            Rule::Adam { eps, .. } => {
                (learning_rate / correction1, correction2.sqrt().recip(), eps)
            }
            Rule::RAdam { .. } => {
                // ρ, the length of the simple moving average that the exponential one stands for.
                let longest = 2.0 / (1.0 - BETA2) - 1.0;
                let length = longest - 2.0 * steps * BETA2.powf(steps) / correction2;
                if length > 5.0 {
                    let rectification = ((length - 4.0) * (length - 2.0) * longest
                        / ((longest - 4.0) * (longest - 2.0) * length))
                        .sqrt();
                    let step = learning_rate * rectification * correction2.sqrt() / correction1;
                    (step, 1.0, RADAM_EPS)
                } else {
                    (learning_rate / correction1, 0.0, 1.0)
                }
            }
        };
        Some(Moments {
            beta1: BETA1,
            beta2: BETA2,
            step,
            root,
            eps,
        })
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
/// `torch.nn.utils.clip_grad_norm_`; returns the norm before, which stays on the device.
///
/// libtorch's own `norm` of 1.7 million numbers on the CPU is off by 8e-5, ten times the tolerance of our
/// tests; its `sum` adds pairwise.
pub fn clip_grad_norm(gradient: &mut Tensor, max_norm: f64) -> Tensor {
    let _guard = no_grad_guard();
    if fused::is_possible(gradient) {
        let norm = fused::sum_of_squares(gradient).sqrt();
        let scale = max_norm / (norm + 1e-6);
        if scale < 1.0 {
            let _ = gradient.g_mul_scalar_(scale);
        }
        return Tensor::from(norm as f32);
    }
    let norm = gradient.square().sum(Kind::Float).sqrt();
    let scale = ((&norm + 1e-6).reciprocal() * max_norm).clamp_max(1.0);
    *gradient *= scale;
    norm
}
