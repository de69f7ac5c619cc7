//! Adam, `RAdam` and RMSprop on one flat tensor, and clipping by global norm.
//!
//! tch's own optimizers can neither save their state nor clip by norm without a round trip to the host.

use learner_kernels::{AdamStep, RmsPropStep, add, sum_of_squares};
use tch::{Device, Kind, Tensor, no_grad_guard};

use crate::{
    parallel::{self, Threads},
    tensors::{is_plain, numbers, numbers_mut},
};

/// A first-order optimizer over a flat tensor of parameters.
#[derive(Debug)]
pub struct Optimizer {
    rule: Rule,
    /// Mean and mean square of the gradients, of RMSprop the latter alone; float32 `[num_params]` each.
    moments: Vec<Tensor>,
    /// Steps taken.
    pub(crate) steps: u64,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    Adam { eps: f64 },
    RAdam,
    RmsProp { alpha: f64, eps: f64 },
}

/// What a rule does in one step.
enum Step {
    Adam(AdamStep),
    RmsProp(RmsPropStep),
}

/// The decay rates of Adam and `RAdam`, those of the papers.
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const RADAM_EPS: f64 = 1e-8;

impl Optimizer {
    /// Adam (Kingma & Ba 2015, algorithm 1) with β = (0.9, 0.999), as `torch.optim.Adam`.
    #[must_use]
    pub fn adam(num_params: i64, device: Device, eps: f64) -> Self {
        Self::new(Rule::Adam { eps }, &[0.0, 0.0], (num_params, device))
    }

    /// `RAdam` (Liu et al. 2020, algorithm 2) with β = (0.9, 0.999) and ε = 1e-8, as `torch.optim.RAdam`:
    /// Adam whose step is shortened while the variance of its first few gradients is uncertain, and
    /// momentum alone in the first five steps, where nothing is known of it (four in the paper).
    #[must_use]
    pub fn radam(num_params: i64, device: Device) -> Self {
        Self::new(Rule::RAdam, &[0.0, 0.0], (num_params, device))
    }

    /// RMSprop as Baselines' A2C has it, from TensorFlow 1 (`tf.train.RMSPropOptimizer`, without momentum,
    /// not centered): the mean square starts at 1, and ε stands inside the root.
    ///
    /// `s ← αs + (1 − α)g²`, `θ ← θ − lr · g / √(s + ε)`. PyTorch's starts at 0 and adds ε outside,
    /// so that its first step is 10 · lr in every coordinate, however small the gradient.
    #[must_use]
    pub fn rms_prop(num_params: i64, device: Device, alpha: f64, eps: f64) -> Self {
        Self::new(Rule::RmsProp { alpha, eps }, &[1.0], (num_params, device))
    }

    /// Moments that start with these numbers.
    fn new(rule: Rule, start: &[f64], (num_params, device): (i64, Device)) -> Self {
        let moments = start
            .iter()
            .map(|number| Tensor::full([num_params], *number, (Kind::Float, device)));
        Self {
            rule,
            moments: moments.collect(),
            steps: 0,
        }
    }

    /// Moves `params` against `gradient` times `scale`; both float32 `[num_params]`. On the CPU in one pass, in `threads`.
    pub fn step(
        &mut self,
        params: &mut Tensor,
        (gradient, scale): (&Tensor, f64),
        learning_rate: f64,
        threads: Threads,
    ) {
        if !is_plain(params, Kind::Float) {
            let coefficients = Tensor::from_slice(&self.coefficients(learning_rate, 1));
            let coefficients = coefficients.to_device(params.device());
            self.step_by(params, &(gradient * scale), &coefficients);
            self.count_step();
            return;
        }
        self.count_step();
        let next = self.next(self.steps, learning_rate);
        match (next, self.moments.as_mut_slice()) {
            (Step::Adam(step), [mean, variance]) => {
                let step = AdamStep { scale, ..step };
                let moved = [params, mean, variance];
                in_parts(threads, gradient, moved, |from, to| {
                    step.apply(from, to);
                });
            }
            (Step::RmsProp(step), [square]) => {
                let step = RmsPropStep { scale, ..step };
                in_parts(threads, gradient, [params, square], |from, to| {
                    step.apply(from, to);
                });
            }
            _ => unreachable!("each rule has its moments"),
        }
    }

    /// What [`Optimizer::step_by`] wants to know of each of the next `count` steps, float32 `[count, 3]`,
    /// row by row: the factor and the term of the root, and the length of the step.
    pub(crate) fn coefficients(&self, learning_rate: f64, count: usize) -> Vec<f32> {
        let steps = (1..=count as u64).map(|ahead| self.next(self.steps + ahead, learning_rate));
        let rows = steps.flat_map(|step| match step {
            Step::Adam(AdamStep {
                root, eps, step, ..
            }) => [root, eps, step],
            Step::RmsProp(RmsPropStep { eps, rate, .. }) => [1.0, eps, rate],
        });
        rows.map(|number| number as f32).collect()
    }

    /// As [`Optimizer::step`] to rounding, wherever the numbers lie, by operations that can be recorded and replayed:
    /// the coefficients of this step come in a tensor, `[3]`, and the step does not count before
    /// [`Optimizer::count_step`] says so.
    pub fn step_by(&mut self, params: &mut Tensor, gradient: &Tensor, coefficients: &Tensor) {
        let _guard = no_grad_guard();
        let [root, eps, step] = [0, 1, 2].map(|place| coefficients.get(place));
        let change = match (self.rule, self.moments.as_mut_slice()) {
            (Rule::RmsProp { alpha, .. }, [square]) => {
                let _ = square.lerp_(&gradient.square(), 1.0 - alpha);
                gradient / (&*square + eps).sqrt_()
            }
            (_, [mean, variance]) => {
                let _ = mean.lerp_(gradient, 1.0 - BETA1);
                let _ = variance.lerp_(&gradient.square(), 1.0 - BETA2);
                &*mean / variance.sqrt().g_mul_(&root).g_add_(&eps)
            }
            _ => unreachable!("each rule has its moments"),
        };
        *params -= change * step;
    }

    /// Counts a step that was done by [`Optimizer::step_by`].
    pub fn count_step(&mut self) {
        self.steps += 1;
    }

    /// What the step of this number does, from 1.
    fn next(&self, step: u64, learning_rate: f64) -> Step {
        let steps = step as f64;
        let correction1 = 1.0 - BETA1.powf(steps);
        let correction2 = 1.0 - BETA2.powf(steps);
        let (step, root, eps) = match self.rule {
            Rule::RmsProp { alpha, eps } => {
                let rate = learning_rate;
                let scale = 1.0;
                return Step::RmsProp(RmsPropStep {
                    alpha,
                    rate,
                    eps,
                    scale,
                });
            }
            Rule::Adam { eps } => (learning_rate / correction1, correction2.sqrt().recip(), eps),
            Rule::RAdam => {
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
        Step::Adam(AdamStep {
            beta1: BETA1,
            beta2: BETA2,
            step,
            root,
            eps,
            scale: 1.0,
        })
    }

    /// The state as named tensors, `[num_params]` each.
    #[must_use]
    pub fn state(&self) -> Vec<(&'static str, &Tensor)> {
        let names: &[&str] = match self.rule {
            Rule::Adam { .. } => &["adam.mean", "adam.variance"],
            Rule::RAdam => &["radam.mean", "radam.variance"],
            Rule::RmsProp { .. } => &["rmsprop.square"],
        };
        names.iter().copied().zip(&self.moments).collect()
    }
}

/// Does `work` with gradient and numbers in as many parts as are worth it, each of which has its share of all.
fn in_parts<const TENSORS: usize>(
    threads: Threads,
    gradient: &Tensor,
    tensors: [&mut Tensor; TENSORS],
    work: impl Fn(&[f32], [&mut [f32]; TENSORS]) + Sync,
) {
    let gradient: &[f32] = numbers(gradient);
    let mut left = tensors.map(numbers_mut::<f32>);
    let parts = parallel::split(gradient, threads.num_chunks(gradient.len()));
    let parts = parts.map(|gradient| {
        let share = left.each_mut().map(|numbers| {
            let share = numbers.split_off_mut(..gradient.len());
            share.unwrap_or_default()
        });
        (gradient, share)
    });
    parallel::map(parts.collect(), |(gradient, numbers)| {
        work(gradient, numbers);
    });
}

/// The sum of gradients, in their order; float32 `[num_params]` each.
pub(crate) fn sum(gradients: Vec<Tensor>, threads: Threads) -> Option<Tensor> {
    let mut gradients = gradients.into_iter();
    let mut all = gradients.next()?;
    for gradient in gradients {
        if is_plain(&all, Kind::Float) {
            in_parts(threads, &gradient, [&mut all], |from, [to]| add(to, from));
        } else {
            all += gradient;
        }
    }
    Some(all)
}

/// Scales `gradient` down to the global norm `max_norm` if it is longer, as
/// `torch.nn.utils.clip_grad_norm_`; returns the norm before, which stays on the device.
pub fn clip_grad_norm(gradient: &mut Tensor, max_norm: f64) -> Tensor {
    let _guard = no_grad_guard();
    let norm = match clipping(gradient, max_norm, Threads::ONE) {
        Some((norm, scale)) => {
            let _ = gradient.g_mul_scalar_(scale);
            return norm;
        }
        None => gradient.square().sum(Kind::Float).sqrt(),
    };
    let scale = ((&norm + 1e-6).reciprocal() * max_norm).clamp_max(1.0);
    *gradient *= scale;
    norm
}

/// The global norm of a gradient on the CPU, and the factor that [`clip_grad_norm`] scales it by, for
/// [`Optimizer::step`] to do so in its own pass; none of one on another device.
///
/// libtorch's own `norm` of 1.7 million numbers on the CPU is off by 8e-5, ten times the tolerance of our
/// tests; its `sum` adds pairwise.
pub fn clipping(gradient: &Tensor, max_norm: f64, threads: Threads) -> Option<(Tensor, f64)> {
    if !is_plain(gradient, Kind::Float) {
        return None;
    }
    let numbers: &[f32] = numbers(gradient);
    let parts = parallel::split(numbers, threads.num_chunks(numbers.len()));
    let squares = parallel::map(parts.collect(), sum_of_squares);
    let norm = squares.into_iter().sum::<f64>().sqrt();
    Some((
        Tensor::from(norm as f32),
        (max_norm / (norm + 1e-6)).min(1.0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::MachineSettings;

    fn normal(numel: i64) -> Tensor {
        Tensor::randn([numel], (Kind::Float, Device::Cpu))
    }

    fn all(numel: i64) -> [Optimizer; 3] {
        [
            Optimizer::adam(numel, Device::Cpu, 1e-5),
            Optimizer::radam(numel, Device::Cpu),
            Optimizer::rms_prop(numel, Device::Cpu, 0.99, 1e-5),
        ]
    }

    #[test]
    fn several_threads_take_the_same_steps_as_one() {
        let settings = MachineSettings {
            torch_threads: 3,
            ..MachineSettings::default()
        };
        let (threads, numel) = (Threads::new(&settings, Device::Cpu), (3 << 18) + 5);
        assert_eq!(threads.num_chunks(numel as usize), 3);
        for (mut one, mut other) in all(numel).into_iter().zip(all(numel)) {
            let mut params = normal(numel);
            let (mut by_several, start) = (params.copy(), params.copy());
            for _ in 0..2 {
                let gradient = normal(numel);
                one.step(&mut params, (&gradient, 0.5), 0.1, Threads::ONE);
                other.step(&mut by_several, (&gradient, 0.5), 0.1, threads);
            }
            assert_eq!(params, by_several, "{:?}", one.rule);
            let moved = (params - start).abs().max().double_value(&[]);
            assert!(moved > 0.0, "{:?}", one.rule);
        }
    }

    /// Beside [`Optimizer::step`], which is compared with PyTorch's elsewhere; `RAdam` changes its rule at the
    /// sixth step.
    #[test]
    fn steps_by_coefficients_are_the_same_steps() {
        for (mut one, mut other) in all(500).into_iter().zip(all(500)) {
            let start = normal(500);
            let (mut params, mut by_coefficients) = (start.copy(), start.copy());
            for update in 0..4 {
                let learning_rate = 1e-2 / f64::from(update + 1);
                let coefficients = other.coefficients(learning_rate, 3);
                let coefficients = Tensor::from_slice(&coefficients).view([3, 3]);
                for step in 0..3 {
                    let gradient = normal(500);
                    one.step(&mut params, (&gradient, 1.0), learning_rate, Threads::ONE);
                    other.step_by(&mut by_coefficients, &gradient, &coefficients.get(step));
                    other.count_step();
                }
            }
            assert_eq!(one.steps, other.steps);
            let largest = |tensor: Tensor| tensor.abs().max().double_value(&[]);
            let difference = largest(&params - &by_coefficients);
            assert!(difference < 1e-6, "{:?}: {difference:e}", one.rule);
            assert!(largest(&params - &start) > 1e-2);
        }
    }
}
