//! The residual network in emulated tiles, and in the processor's where it has some: beside whole numbers and beside one
//! another, and what it refuses.

use std::iter;

use learner_kernels::{ResidualShape, TileUnit, Trunk};
use whole_numbers::Case;

mod numbers;
mod passes;
mod whole_numbers;

const IMPALA: &[usize] = &[16, 32, 32];

const fn shape(
    [height, width]: [usize; 2],
    stages: &'static [usize],
    hidden: Option<usize>,
) -> ResidualShape<'static> {
    ResidualShape {
        channels: 4,
        height,
        width,
        stages,
        hidden,
    }
}

/// Rows of an odd number; the last stage has 4 by 5 pixels.
const SMALL: ResidualShape<'static> = shape([13, 20], IMPALA, Some(64));

fn units() -> impl Iterator<Item = TileUnit> {
    let emulated = TileUnit::emulated();
    TileUnit::processor().into_iter().chain([emulated])
}

#[test]
fn small_whole_numbers_are_exact() {
    for (shape, images) in [
        (SMALL, 33),
        (shape([12, 12], IMPALA, None), 5),
        (shape([2, 4], IMPALA, Some(32)), 3),
        (shape([3, 8], &[16, 32], Some(32)), 32),
    ] {
        let case = Case::new(shape, images);
        let (expected, passes) = (case.expected(), case.passes());
        assert!(expected.features.iter().any(|feature| *feature > 0));
        for unit in units() {
            let (features, of_params) = passes.run(unit);
            let features = features.into_iter().map(f64::from);
            let whole = expected.features.iter().map(|feature| *feature as f64);
            assert!(features.eq(whole), "{shape:?}: features");
            let divisors = iter::once(255.0).chain(iter::repeat(1.0));
            for (number, (ours, divisor)) in of_params.iter().zip(divisors).enumerate() {
                let whole = &expected.of_params[number];
                let whole: Vec<f32> = whole.iter().map(|of| *of as f32 / divisor).collect();
                assert!(*ours == whole, "{shape:?}: gradient {number}");
            }
        }
    }
}

#[test]
fn emulated_tiles_are_the_processors() {
    let Some(unit) = TileUnit::processor() else {
        return;
    };
    for (shape, images) in [(SMALL, 40), (shape([84, 84], IMPALA, Some(256)), 3)] {
        let passes = Case::new(shape, images).passes().random();
        let bits = |unit| {
            let (features, of_params) = passes.run(unit);
            let features = features.into_iter().map(|feature| feature.to_bits().into());
            let of_params = of_params.into_iter().flatten().map(f32::to_bits);
            features.chain(of_params).collect::<Vec<u32>>()
        };
        assert!(bits(unit) == bits(TileUnit::emulated()), "{shape:?}");
    }
}

#[test]
fn acting_is_the_forward_pass() {
    for hidden in [Some(64), None] {
        let passes = Case::new(ResidualShape { hidden, ..SMALL }, 33).passes();
        let passes = passes.random();
        for unit in units() {
            let (features, _) = passes.run(unit);
            for images in [33, 17, 16, 8, 1] {
                let acted = passes.act(unit, images);
                assert!(acted == features[..acted.len()], "{images} images");
            }
        }
    }
}

#[test]
fn what_does_not_fill_tiles_is_no_trunk() {
    let unit = TileUnit::emulated();
    assert!(Trunk::residual(SMALL, unit).is_some());
    for refused in [
        ResidualShape {
            channels: 3,
            ..SMALL
        },
        ResidualShape { height: 1, ..SMALL },
        ResidualShape { width: 22, ..SMALL },
        ResidualShape {
            width: 1 << 22, // more than offsets reach
            ..SMALL
        },
        ResidualShape { width: 0, ..SMALL },
        ResidualShape {
            stages: &[],
            ..SMALL
        },
        ResidualShape {
            stages: &[16],
            ..SMALL
        },
        ResidualShape {
            stages: &[32, 32],
            ..SMALL
        },
        ResidualShape {
            stages: &[16, 64],
            ..SMALL
        },
        ResidualShape {
            hidden: Some(0),
            ..SMALL
        },
        ResidualShape {
            hidden: Some(33),
            ..SMALL
        },
    ] {
        assert!(Trunk::residual(refused, unit).is_none(), "{refused:?}");
    }
}
