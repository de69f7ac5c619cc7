//! Steps of optimizers beside their formulas in float64.

use learner_kernels::{AdamStep, RmsPropStep, are_finite, sum_of_squares};

const COUNT: usize = 100_003;

/// Numbers that look normal enough.
fn numbers(seed: usize) -> Vec<f32> {
    let number = |place: usize| {
        let angle = (place * (2 * seed + 1) + seed) as f64 * 0.731;
        (angle.sin() + (1.7 * angle).cos() + (0.3 * angle).sin()) as f32
    };
    (0..COUNT).map(number).collect()
}

fn assert_close(ours: &[f32], theirs: impl Iterator<Item = f64>) {
    let largest = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| (f64::from(*ours) - theirs).abs());
    let largest = largest.fold(0.0, f64::max);
    assert!(largest < 1e-6, "{largest:e}");
}

#[test]
fn steps_are_those_of_the_formulas() {
    let [params, gradient, mean] = [1, 2, 3].map(numbers);
    // Not so small that the change is larger than the parameters: the bound is one of their rounding.
    let square: Vec<f32> = numbers(4).iter().map(|number| number.abs() + 0.1).collect();
    let of = |numbers: &[f32], place: usize| f64::from(numbers[place]);

    let rule = AdamStep {
        beta1: 0.9,
        beta2: 0.999,
        step: 0.01,
        root: 1.5,
        eps: 1e-5,
        scale: 0.5,
    };
    let mut after = [params.clone(), mean.clone(), square.clone()];
    rule.apply(&gradient, after.each_mut().map(Vec::as_mut_slice));
    let moments = |place| {
        let g = of(&gradient, place) * 0.5;
        let m = of(&mean, place) * 0.9 + g * 0.1;
        (m, of(&square, place) * 0.999 + g * g * 0.001)
    };
    let moved = |place| {
        let (m, v): (f64, f64) = moments(place);
        of(&params, place) - m / (v.sqrt() * 1.5 + 1e-5) * 0.01
    };
    assert_close(&after[0], (0..COUNT).map(moved));
    assert_close(&after[1], (0..COUNT).map(|place| moments(place).0));
    assert_close(&after[2], (0..COUNT).map(|place| moments(place).1));

    let rule = RmsPropStep {
        alpha: 0.99,
        rate: 0.01,
        eps: 1e-5,
        scale: 0.5,
    };
    let mut after = [params.clone(), square.clone()];
    rule.apply(&gradient, after.each_mut().map(Vec::as_mut_slice));
    let g = |place| of(&gradient, place) * 0.5;
    let mean_square = |place| of(&square, place) * 0.99 + g(place).powi(2) * 0.01;
    let moved = |place| of(&params, place) - g(place) / (mean_square(place) + 1e-5).sqrt() * 0.01;
    assert_close(&after[0], (0..COUNT).map(moved));
    assert_close(&after[1], (0..COUNT).map(mean_square));
}

#[test]
fn one_number_that_is_not_finite_is_found_anywhere() {
    let mut numbers = numbers(6);
    numbers[1] = f32::MIN;
    assert!(are_finite(&numbers) && are_finite(&[]));
    for place in (0..COUNT).step_by(997).chain(COUNT - 20..COUNT) {
        for wrong in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let before = std::mem::replace(&mut numbers[place], wrong);
            assert!(!are_finite(&numbers), "{wrong} at {place}");
            numbers[place] = before;
        }
    }
}

#[test]
fn sums_of_squares_are_exact() {
    let numbers = numbers(5);
    let exact: f64 = numbers
        .iter()
        .map(|&number| f64::from(number).powi(2))
        .sum();
    assert!((sum_of_squares(&numbers) / exact - 1.0).abs() < 1e-7);
    assert!(sum_of_squares(&[]).abs() < f64::MIN_POSITIVE);
}
