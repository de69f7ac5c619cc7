//! Steps of optimizers and lengths of gradients, in one pass over all numbers: they are larger than the caches.
//!
//! Each number is computed by itself and in the same order everywhere: neither parts that are computed apart nor
//! the width of vectors change a step.

/// `m ← lerp(m, g, 1 − β1)`, `v ← lerp(v, g², 1 − β2)`, `θ ← θ − step · m / (root · √v + eps)`: Adam, once who
/// calls it has worked the corrections of its bias into `step` and `root`.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Decay of the mean.
    pub beta1: f64,
    /// Decay of the mean square.
    pub beta2: f64,
    /// Length of the step.
    pub step: f64,
    /// Factor of the root of the mean square.
    pub root: f64,
    /// Added to it.
    pub eps: f64,
    /// Factor of the gradient, for one that is clipped.
    pub scale: f64,
}

/// `s ← lerp(s, g², 1 − α)`, `θ ← θ − rate · g / √(s + eps)`: `RMSprop` with ε inside the root.
#[derive(Clone, Copy, Debug)]
pub struct RmsPropStep {
    /// Decay of the mean square.
    pub alpha: f64,
    /// Length of the step.
    pub rate: f64,
    /// Added to the mean square.
    pub eps: f64,
    /// Factor of the gradient, for one that is clipped.
    pub scale: f64,
}

impl AdamStep {
    /// One step of parameters and moments, equally many numbers each; what one of the slices has more is left.
    pub fn apply(self, gradient: &[f32], [params, mean, variance]: [&mut [f32]; 3]) {
        let (keep1, keep2) = ((1.0 - self.beta1) as f32, (1.0 - self.beta2) as f32);
        let (step, root, eps) = (self.step as f32, self.root as f32, self.eps as f32);
        let scale = self.scale as f32;
        with_widest_vectors(|| {
            let moments = mean.iter_mut().zip(variance);
            for ((param, &g), (m, v)) in params.iter_mut().zip(gradient).zip(moments) {
                let g = scale * g;
                *m += keep1 * (g - *m);
                *v += keep2 * (g * g - *v);
                *param -= step * *m / (root * v.sqrt() + eps);
            }
        });
    }
}

impl RmsPropStep {
    /// As [`AdamStep::apply`], with the mean square alone.
    pub fn apply(self, gradient: &[f32], [params, square]: [&mut [f32]; 2]) {
        let (keep, rate, eps) = ((1.0 - self.alpha) as f32, self.rate as f32, self.eps as f32);
        let scale = self.scale as f32;
        with_widest_vectors(|| {
            for ((param, &g), s) in params.iter_mut().zip(gradient).zip(square) {
                let g = scale * g;
                *s += keep * (g * g - *s);
                *param -= rate * g / (*s + eps).sqrt();
            }
        });
    }
}

/// Adds numbers to others, equally many.
pub fn add(sums: &mut [f32], numbers: &[f32]) {
    with_widest_vectors(|| {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number;
        }
    });
}

/// Sum of the squares of all numbers. Few at a time are added in float32: it is exact to 1e-7.
#[must_use]
pub fn sum_of_squares(numbers: &[f32]) -> f64 {
    const LANES: usize = 16;
    let mut sum = 0.0;
    with_widest_vectors(|| {
        for block in numbers.chunks(64 * LANES) {
            let mut lanes = [0_f32; LANES];
            let (whole, rest) = block.as_chunks::<LANES>();
            for numbers in whole {
                for (lane, number) in lanes.iter_mut().zip(numbers) {
                    *lane += number * number;
                }
            }
            sum += lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>();
            sum += rest
                .iter()
                .map(|&x| f64::from(x) * f64::from(x))
                .sum::<f64>();
        }
    });
    sum
}

/// Whether all numbers are finite: none is infinite or NaN.
#[must_use]
pub fn are_finite(numbers: &[f32]) -> bool {
    let mut largest = 0;
    with_widest_vectors(|| {
        let sizes = numbers
            .iter()
            .map(|number| number.to_bits() & (u32::MAX >> 1));
        largest = sizes.fold(0, u32::max);
    });
    f32::from_bits(largest).is_finite()
}

/// Runs `work` compiled for the widest vectors that the processor has.
fn with_widest_vectors(work: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl")]
        fn avx512(work: impl FnOnce()) {
            work();
        }
        #[target_feature(enable = "avx2")]
        fn avx2(work: impl FnOnce()) {
            work();
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { avx2(work) };
        }
    }
    work();
}
