//! Steps of optimizers on the CPU, in one pass over parameters, gradient and moments: they are larger than
//! the caches, and each operation of libtorch would read and write them once more.
//!
//! Each number is computed by itself and in the same order everywhere: threads and the width of vectors
//! change nothing.

use tch::{Device, Kind, Tensor};

use crate::parallel::{self, Threads};

/// `m ← lerp(m, g, 1 − β1)`, `v ← lerp(v, g², 1 − β2)`, `θ ← θ − step · m / (root · √v + eps)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub beta1: f64,
    pub beta2: f64,
    pub step: f64,
    pub root: f64,
    pub eps: f64,
}

/// `s ← lerp(s, g², 1 − α)`, `θ ← θ − rate · g / √(s + eps)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeanSquare {
    pub alpha: f64,
    pub rate: f64,
    pub eps: f64,
}

/// Whether the numbers are here.
pub(super) fn is_possible(tensor: &Tensor) -> bool {
    tensor.device() == Device::Cpu && tensor.kind() == Kind::Float && tensor.is_contiguous()
}

impl Moments {
    pub fn apply(
        self,
        threads: Threads,
        params: &mut Tensor,
        gradient: &Tensor,
        (mean, variance): (&mut Tensor, &mut Tensor),
    ) {
        let parts = threads.num_chunks(params.numel());
        let (params, gradient) = (split_mut(params, parts), split(gradient, parts));
        let moments = split_mut(mean, parts).zip(split_mut(variance, parts));
        let chunks = params.zip(gradient).zip(moments);
        parallel::map(
            chunks.collect(),
            |((params, gradient), (mean, variance))| {
                widest(|| self.apply_to(params, gradient, mean, variance));
            },
        );
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each width of vectors")]
    fn apply_to(
        self,
        params: &mut [f32],
        gradient: &[f32],
        mean: &mut [f32],
        variance: &mut [f32],
    ) {
        let (keep1, keep2) = ((1.0 - self.beta1) as f32, (1.0 - self.beta2) as f32);
        let (step, root, eps) = (self.step as f32, self.root as f32, self.eps as f32);
        let moments = mean.iter_mut().zip(variance);
        for ((param, &g), (m, v)) in params.iter_mut().zip(gradient).zip(moments) {
            *m += keep1 * (g - *m);
            *v += keep2 * (g * g - *v);
            *param -= step * *m / (root * v.sqrt() + eps);
        }
    }
}

impl MeanSquare {
    pub fn apply(
        self,
        threads: Threads,
        params: &mut Tensor,
        gradient: &Tensor,
        square: &mut Tensor,
    ) {
        let parts = threads.num_chunks(params.numel());
        let (params, gradient) = (split_mut(params, parts), split(gradient, parts));
        let chunks = params.zip(gradient).zip(split_mut(square, parts));
        parallel::map(chunks.collect(), |((params, gradient), square)| {
            widest(|| self.apply_to(params, gradient, square));
        });
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each width of vectors")]
    fn apply_to(self, params: &mut [f32], gradient: &[f32], square: &mut [f32]) {
        let (keep, rate, eps) = ((1.0 - self.alpha) as f32, self.rate as f32, self.eps as f32);
        for ((param, &g), s) in params.iter_mut().zip(gradient).zip(square) {
            *s += keep * (g * g - *s);
            *param -= rate * g / (*s + eps).sqrt();
        }
    }
}

/// Sum of the squares of all numbers. Few at a time are added in float32: it is exact to 1e-7.
pub(super) fn sum_of_squares(tensor: &Tensor) -> f64 {
    const LANES: usize = 16;
    let mut sum = 0.0;
    widest(|| {
        for block in numbers(tensor).chunks(64 * LANES) {
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

/// The numbers of a tensor for which [`is_possible`].
fn numbers(tensor: &Tensor) -> &[f32] {
    assert!(is_possible(tensor), "float32 in a row, on the CPU");
    #[expect(unsafe_code, reason = "tch has no safe view of a tensor's numbers")]
    // SAFETY: they are `numel` numbers of this type, and live as long as the tensor; nobody writes to them
    // meanwhile, for that is done through `&mut` of the network or of the optimizer.
    unsafe {
        std::slice::from_raw_parts(tensor.data_ptr().cast(), tensor.numel())
    }
}

fn split(tensor: &Tensor, parts: usize) -> impl Iterator<Item = &[f32]> {
    parallel::split(numbers(tensor), parts)
}

fn split_mut(tensor: &mut Tensor, parts: usize) -> impl Iterator<Item = &mut [f32]> {
    assert!(is_possible(tensor), "float32 in a row, on the CPU");
    #[expect(unsafe_code, reason = "tch has no safe view of a tensor's numbers")]
    // SAFETY: as in `numbers`; who has `&mut` of the flat tensor is the only one who uses its views, too.
    let mut left: &mut [f32] =
        unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), tensor.numel()) };
    (0..parts).rev().map(move |after| {
        let length = left.len().div_ceil(after + 1);
        let (part, rest) = std::mem::take(&mut left).split_at_mut(length);
        left = rest;
        part
    })
}

/// Runs `work` compiled for the widest vectors that the processor has.
#[expect(
    unsafe_code,
    reason = "code for a processor is called where the processor is that"
)]
fn widest(work: impl FnOnce()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::MachineSettings;

    /// Beside the formula in float64, for more numbers than one thread takes.
    #[test]
    fn a_step_in_several_threads_is_that_of_the_formula() {
        let settings = MachineSettings {
            torch_threads: 3,
            ..MachineSettings::default()
        };
        let (threads, numel) = (Threads::new(&settings, Device::Cpu), (3 << 18) + 5);
        assert_eq!(threads.num_chunks(numel), 3);
        let normal = || Tensor::randn([numel as i64], (Kind::Float, Device::Cpu));
        let [params, gradient, mean] = [normal(), normal(), normal()];
        // Not so small that the change is larger than the parameters: the bound is one of their rounding.
        let variance = normal().abs() + 0.1;
        let length = gradient.square().sum(Kind::Double).double_value(&[]);
        assert!((sum_of_squares(&gradient) / length - 1.0).abs() < 1e-7);

        let double = |tensor: &Tensor| tensor.to_kind(Kind::Double);
        let (g, squared) = (double(&gradient), double(&gradient).square());
        let (m, v) = (double(&mean), double(&variance));
        let rule = Moments {
            beta1: 0.9,
            beta2: 0.999,
            step: 0.01,
            root: 1.5,
            eps: 1e-5,
        };
        let (m, v) = (m * 0.9 + &g * 0.1, v * 0.999 + &squared * 0.001);
        let expected = double(&params) - &m / (v.sqrt() * 1.5 + 1e-5) * 0.01;
        let mut after = [params.copy(), mean.copy(), variance.copy()];
        let [ours, mean, square] = &mut after;
        rule.apply(threads, ours, &gradient, (mean, square));
        for (ours, theirs) in after.iter().zip([expected, m, v]) {
            let difference = (double(ours) - theirs).abs().max().double_value(&[]);
            assert!(difference < 1e-6, "{difference:e}");
        }

        let rule = MeanSquare {
            alpha: 0.99,
            rate: 0.01,
            eps: 1e-5,
        };
        let s = double(&variance) * 0.99 + squared * 0.01;
        let expected = double(&params) - &g / (&s + 1e-5).sqrt() * 0.01;
        let (mut ours, mut square) = (params.copy(), variance.copy());
        rule.apply(threads, &mut ours, &gradient, &mut square);
        for (ours, theirs) in [(&ours, expected), (&square, s)] {
            let difference = (double(ours) - theirs).abs().max().double_value(&[]);
            assert!(difference < 1e-6, "{difference:e}");
        }
    }
}
