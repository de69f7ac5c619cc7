//! Layer normalization of a pixel in float64 (Ba et al. 2016), and how far float32 may be off.

use super::{Near, Sum};

const EPS: f64 = 1e-6;
/// Half of the last place of a float32 from 1 to 2.
const HALF: f64 = 1.0 / (1 << 24) as f64;

/// A product that is rounded to float32.
fn product((a, off_a): Near, (b, off_b): Near) -> Near {
    let off = a.abs() * off_b + off_a * b.abs() + off_a * off_b;
    (a * b, off + HALF * (a * b).abs())
}

fn mean(numbers: impl Iterator<Item = Near>, count: usize) -> Near {
    let mut sum = Sum::default();
    numbers.for_each(|number| sum.add(1.0, number));
    let [low, high] = sum.range().map(|sum| sum / count as f64);
    (f64::midpoint(low, high), (high - low) / 2.0)
}

/// A pixel's sums with the mean 0 and the variance 1, and what their differences were multiplied by.
pub struct Normed {
    numbers: Vec<Near>,
    factor: Near,
}

impl Normed {
    pub fn new(sums: &[Near]) -> Self {
        let (middle, off_middle) = mean(sums.iter().copied(), sums.len());
        let centered = sums
            .iter()
            .map(|(sum, off)| (sum - middle, off + off_middle));
        let squares = centered.clone().map(|centered| product(centered, centered));
        let (variance, off) = mean(squares, sums.len());
        let factor = 1.0 / (variance + EPS).sqrt();
        let factor = (factor, factor * (off / (variance + EPS) / 2.0 + 2.0 * HALF));
        // The mean is multiplied by itself.
        let rounding = 2.0 * HALF * (middle * factor.0).abs();
        let normed = centered.map(|centered| {
            let (number, off) = product(centered, factor);
            (number, off + rounding)
        });
        let numbers = normed.collect();
        Self { numbers, factor }
    }

    /// Where outputs lie before they are rounded.
    pub fn outputs(&self, params: [&[f32]; 2]) -> impl Iterator<Item = [f64; 2]> {
        self.numbers.iter().enumerate().map(move |(at, number)| {
            let [scale, shift] = params.map(|param| f64::from(param[at]));
            let (scaled, off) = product(*number, (scale, 0.0));
            let (y, off) = (scaled + shift, off + HALF * (scaled + shift).abs());
            [y - off, y + off]
        })
    }

    /// The gradient of the sums, rounded, from that of the outputs; adds to those of scale and shift.
    pub fn backward(
        &self,
        scale: &[f32],
        of_y: &[Near],
        [of_scale, of_shift]: [&mut [Sum]; 2],
    ) -> Vec<Near> {
        for (at, (of, number)) in of_y.iter().zip(&self.numbers).enumerate() {
            of_scale[at].add(1.0, product(*of, *number));
            of_shift[at].add(1.0, *of);
        }
        let of_normed = of_y.iter().zip(scale);
        let of_normed: Vec<Near> = of_normed
            .map(|(of, scale)| product(*of, (f64::from(*scale), 0.0)))
            .collect();
        let first = mean(of_normed.iter().copied(), scale.len());
        let products = of_normed.iter().zip(&self.numbers);
        let products = products.map(|(of, number)| product(*of, *number));
        let second = mean(products, scale.len());
        let of_sum = |(of, number): (&Near, &Near)| {
            let along = product(*number, second);
            let size = of.0.abs() + first.0.abs() + along.0.abs();
            let off = of.1 + first.1 + along.1 + HALF * size;
            let (value, off) = product((of.0 - first.0 - along.0, off), self.factor);
            super::rounded_near(value, [value - off, value + off])
        };
        of_normed.iter().zip(&self.numbers).map(of_sum).collect()
    }
}
