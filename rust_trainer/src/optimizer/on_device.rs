//! Steps whose numbers lie where the parameters are, so that a step can be recorded and replayed: what changes
//! from step to step comes in a tensor.

use tch::{Tensor, no_grad_guard};

use super::{BETA1, BETA2, Optimizer, Rule};

impl Optimizer {
    /// What [`Optimizer::step_by`] wants to know of each of the next `count` steps, float32 `[count, 3]`,
    /// row by row: the factor and the term of the root, and the length of the step.
    #[must_use]
    pub fn coefficients(&self, learning_rate: f64, count: usize) -> Vec<f32> {
        let steps = (1..=count as u64).map(|ahead| self.steps + ahead);
        let rows = steps.flat_map(|step| {
            let row = match self.moments(step, learning_rate) {
                Some(moments) => [moments.root, moments.eps, moments.step],
                None => [1.0, 0.0, learning_rate],
            };
            row.map(|number| number as f32)
        });
        rows.collect()
    }

    /// As [`Optimizer::step`] to rounding, with the coefficients of this step, `[3]`; the step does not count
    /// before [`Optimizer::count_step`] says so.
    pub fn step_by(&mut self, params: &mut Tensor, gradient: &Tensor, coefficients: &Tensor) {
        let _guard = no_grad_guard();
        let [root, eps, step] = [0, 1, 2].map(|place| coefficients.get(place));
        let change = match &mut self.rule {
            Rule::Adam { mean, variance, .. } | Rule::RAdam { mean, variance } => {
                let _ = mean.lerp_(gradient, 1.0 - BETA1);
                let _ = variance.lerp_(&gradient.square(), 1.0 - BETA2);
                &*mean / variance.sqrt().g_mul_(&root).g_add_(&eps)
            }
            Rule::RmsProp { square, alpha, eps } => {
                let _ = square.lerp_(&gradient.square(), 1.0 - *alpha);
                gradient / (&*square + *eps).sqrt_()
            }
        };
        *params -= change * step;
    }

    /// Counts a step that was done by [`Optimizer::step_by`].
    pub fn count_step(&mut self) {
        self.steps += 1;
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::parallel::Threads;

    /// Beside [`Optimizer::step`], which is compared with PyTorch's elsewhere; `RAdam` changes its rule at the
    /// sixth step.
    #[test]
    fn steps_by_coefficients_are_the_same_steps() {
        type New = fn() -> Optimizer;
        let rules: [New; 3] = [
            || Optimizer::adam(500, Device::Cpu, 1e-5),
            || Optimizer::radam(500, Device::Cpu),
            || Optimizer::rms_prop(500, Device::Cpu, 0.99, 1e-5),
        ];
        for new in rules {
            let (mut one, mut other) = (new(), new());
            let start = Tensor::randn([500], (Kind::Float, Device::Cpu));
            let (mut params, mut by_coefficients) = (start.copy(), start.copy());
            for update in 0..4 {
                let learning_rate = 1e-2 / f64::from(update + 1);
                let all = other.coefficients(learning_rate, 3);
                let all = Tensor::from_slice(&all).view([3, 3]);
                for step in 0..3 {
                    let gradient = Tensor::randn([500], (Kind::Float, Device::Cpu));
                    one.step(&mut params, &gradient, learning_rate, Threads::ONE);
                    other.step_by(&mut by_coefficients, &gradient, &all.get(step));
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
