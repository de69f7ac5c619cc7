//! The trunk in emulated tiles, and in the processor's where it has some: beside sums in float64 and beside one another,
//! and what it refuses.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Barrier,
    thread,
};

use common::Case;
use learner_kernels::{Images, PackedTrunk, TileUnit, Trunk, TrunkShape, bf16};

mod common;
mod reference;

/// Rows, columns and channels; outputs, kernel and stride of each convolution.
const fn shape(
    [height, width, channels]: [usize; 3],
    convolutions: &'static [[usize; 3]],
    hidden: Option<usize>,
) -> TrunkShape<'static> {
    TrunkShape {
        channels,
        height,
        width,
        convolutions,
        hidden,
        norm: false,
    }
}

/// The same with layer normalization.
const fn normed(shape: TrunkShape<'static>) -> TrunkShape<'static> {
    TrunkShape {
        norm: true,
        ..shape
    }
}

const NATURE: &[[usize; 3]] = &[[32, 8, 4], [64, 4, 2], [64, 3, 1]];
/// Rows of outputs of 5, 2 and 1 pixels.
const NARROW: TrunkShape<'static> = shape(
    [14, 10, 16],
    &[[32, 2, 2], [64, 3, 2], [32, 2, 1]],
    Some(64),
);

const WIDE: TrunkShape<'static> =
    shape([20, 24, 4], &[[32, 8, 4], [64, 3, 1], [64, 2, 1]], Some(64));

fn units() -> impl Iterator<Item = TileUnit> {
    let emulated = TileUnit::emulated();
    TileUnit::processor().into_iter().chain([emulated])
}

impl Case {
    /// Features of all images behind so many layers, for acting or for learning.
    fn features(&self, unit: TileUnit, layers: usize, is_acting: bool) -> Vec<bf16> {
        let convolutions = self.shape.convolutions;
        let shape = TrunkShape {
            convolutions: &convolutions[..layers.min(convolutions.len())],
            hidden: self.shape.hidden.filter(|_| layers > convolutions.len()),
            ..self.shape
        };
        let trunk = Trunk::new(shape, unit).expect("extents that fill tiles");
        let params = &self.params()[..self.per_layer() * layers];
        let packed = trunk.room_for_weights();
        trunk.pack(&packed, params);
        let mut features = vec![bf16::NAN; self.places.len() * trunk.features()];
        if is_acting {
            trunk.act(self.images(), &packed, params, &mut features);
        } else {
            trunk.forward(self.images(), &packed, params, &mut features);
        }
        features
    }
}

#[test]
fn outputs_and_gradients_are_those_of_float64() {
    for (shape, images) in [
        (WIDE, 33),
        // Three pieces in a line of a square, and pixels that no output sees.
        (shape([12, 16, 12], &[[32, 8, 4], [64, 1, 2]], None), 31),
        // As many pixels as a vector has numbers; more of them, and more terms than are added up at once.
        (shape([32, 32, 2], &[[32, 8, 8]], Some(32)), 32),
        (shape([20, 24, 4], &[[96, 4, 4]], Some(64)), 33),
        (NARROW, 1),
        // One, two and three blocks that are normalized together; images that do not fill tiles.
        (normed(WIDE), 33),
        (normed(NARROW), 1),
        (normed(shape([20, 24, 4], &[[96, 4, 4]], Some(64))), 33),
        (
            normed(shape([12, 16, 12], &[[32, 8, 4], [96, 1, 2]], None)),
            31,
        ),
    ] {
        let case = Case::new(shape, images);
        let made = case.run(TileUnit::emulated());
        reference::compare(&case, TileUnit::emulated(), &made);
        if let Some(unit) = TileUnit::processor() {
            let is_same = case.run(unit).bits() == made.bits();
            assert!(is_same, "{shape:?}: not as emulated");
        }
    }
}

#[test]
fn the_nature_cnn_is_that_of_float64() {
    let nature = shape([84, 84, 4], NATURE, Some(512));
    let unit = TileUnit::processor().unwrap_or(TileUnit::emulated());
    // The emulated ones take a second for 33 images.
    for (shape, images) in [(nature, 33), (normed(nature), 3)] {
        let case = Case::new(shape, 2);
        reference::compare(&case, unit, &case.run(unit));
        if let Some(unit) = TileUnit::processor() {
            let case = Case::new(shape, images);
            let emulated = case.run(TileUnit::emulated());
            assert!(case.run(unit).bits() == emulated.bits());
        }
    }
}

#[test]
fn acting_is_the_forward_pass() {
    for (hidden, norm) in [NARROW.hidden, None]
        .into_iter()
        .flat_map(|hidden| [(hidden, false), (hidden, true)])
    {
        let shape = TrunkShape {
            hidden,
            norm,
            ..NARROW
        };
        for unit in units() {
            let mut case = Case::new(shape, 33);
            let layers = case.layers.len();
            let expected = case.features(unit, layers, false);
            for images in [33, 17, 16, 8, 1] {
                case.places.truncate(images);
                let ours = case.features(unit, layers, true);
                let is_same = ours == expected[..ours.len()];
                assert!(is_same, "{images} images of {shape:?}, {unit:?}");
            }
        }
    }
}

#[test]
fn weights_are_packed_by_any_number_of_threads() {
    // What is packed last takes longest.
    let layers = &[[32, 4, 4], [256, 2, 1], [256, 1, 1]];
    let shape = shape([8, 8, 4], layers, Some(64));
    let (case, mut other) = (Case::new(shape, 3), Case::new(shape, 3));
    for number in other.params.iter_mut().flatten() {
        *number *= -0.75;
    }
    for unit in units() {
        let trunk = Trunk::new(shape, unit).unwrap();
        let mut packed = trunk.room_for_weights();
        for case in [&case, &other].repeat(6) {
            let (expected, start) = (case.run(unit).bits(), Barrier::new(4));
            let pack = || {
                start.wait();
                trunk.pack(&packed, &case.params());
                // They are whole for each that took part.
                assert!(case.pass(&trunk, &packed).bits() == expected);
            };
            thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(pack))));
            packed.clear();
        }
    }
}

#[test]
fn what_does_not_fill_tiles_is_no_trunk() {
    let is_trunk = |image, convolutions, hidden| {
        let shape = shape(image, convolutions, hidden);
        Trunk::new(shape, TileUnit::emulated()).is_some()
    };
    let image = [84, 84, 4];
    assert!(is_trunk(image, NATURE, None));
    let images = [
        [84, 84, 0],
        [84, 84, 1],
        [84, 84, 2],
        [84, 84, 3],
        [82, 84, 4], // rows that squares do not fill
        [84, 86, 4],
        [4, 84, 4], // less than the kernel
        [84, 4, 4],
        [4096, 4096, 4], // more than offsets reach
        [1 << 60, 4, 4], // more than can be counted
    ];
    for image in images {
        assert!(!is_trunk(image, NATURE, None), "{image:?}");
    }
    let layers: [&[[usize; 3]]; 11] = [
        &[],
        &[[32, 6, 4]],             // a stride that does not divide
        &[[32, 4, 2]],             // half a block of channels
        &[[48, 8, 4]],             // half a block of outputs
        &[[32, 8, 4], [48, 3, 1]], // the same behind
        &[[0, 8, 4]],              // no outputs, kernel or stride
        &[[32, 0, 4]],
        &[[32, 8, 0]],
        &[[32, 8, 4], [32, 3, 0]],
        &[[32, 8, 4], [32, 21, 1]], // 20 by 20 pixels
        &[[1 << 57, 84, 84]],       // more weights than can be counted
    ];
    for layers in layers {
        assert!(!is_trunk(image, layers, None), "{layers:?}");
    }
    for hidden in [0, 80, 1 << 60] {
        assert!(!is_trunk(image, NATURE, Some(hidden)), "{hidden}");
    }
}

/// What `work` says when it panics.
fn refusal(work: &dyn Fn()) -> String {
    let said = panic::catch_unwind(AssertUnwindSafe(work)).expect_err("a refusal");
    let fixed = said.downcast_ref().map(|text: &&str| (*text).to_owned());
    fixed.unwrap_or_else(|| *said.downcast().expect("a text"))
}

#[test]
fn what_does_not_fit_the_trunk_is_refused() {
    let tiny = |outputs| shape([8, 8, 4], outputs, Some(32));
    let case = Case::new(tiny(&[[32, 4, 4]]), 33);
    let (wide, params, images) = (
        Case::new(tiny(&[[64, 4, 4]]), 1),
        case.params(),
        case.images(),
    );
    for unit in units() {
        let [trunk, other] = [&case, &wide].map(|case| Trunk::new(case.shape, unit).unwrap());
        let [packed, unpacked] = [(); 2].map(|()| trunk.room_for_weights());
        let of_other = other.room_for_weights();
        trunk.pack(&packed, &params);
        other.pack(&of_other, &wide.params());
        let act = |places: &[usize], packed, params, images_out: usize| {
            let images = Images { places, ..images };
            trunk.act(
                images,
                packed,
                params,
                &mut vec![bf16::ZERO; 32 * images_out],
            );
        };
        let backward = || {
            let places = &[0];
            let mut features = [bf16::ZERO; 33 * 32];
            let mut of_params = case.params.clone();
            let mut of_params: Vec<_> = of_params.iter_mut().map(Vec::as_mut_slice).collect();
            let few = Images { places, ..images };
            let mut few = trunk.forward(few, &packed, &params, &mut features[..32]);
            let features = [&features[..]; 2];
            trunk.backward(images, &packed, &mut few, features, &mut of_params);
        };
        act(&[0], &packed, &params, 1);
        let behind = case.bytes.len() - 8 * 8 * 4 + 1;
        let cases: [(&str, &dyn Fn()); 10] = [
            ("images", &|| act(&[behind], &packed, &params, 1)),
            ("images", &|| act(&[0, usize::MAX], &packed, &params, 2)),
            ("images", &|| act(&[], &packed, &params, 0)),
            ("features", &|| act(&[0], &packed, &params, 2)),
            ("parameters", &|| act(&[0], &packed, &params[..3], 1)),
            ("parameters", &|| trunk.pack(&unpacked, &wide.params())),
            ("not packed", &|| act(&[0], &unpacked, &params, 1)),
            ("room for other", &|| trunk.pack(&of_other, &params)),
            ("other weights", &|| act(&[0], &of_other, &params, 1)),
            ("activations", &backward),
        ];
        for (expected, work) in cases {
            let said = refusal(work);
            assert!(said.contains(expected), "{said:?}, not {expected:?}");
        }
    }
}

/// A convolution over a whole picture has as many weights as a fully connected layer.
#[test]
fn room_is_of_a_network_and_not_of_its_numbers_alone() {
    let shapes = [
        shape([24, 24, 2], &[[32, 8, 8], [64, 3, 1]], None),
        shape([24, 24, 2], &[[32, 8, 8]], Some(64)),
    ];
    let cases = shapes.map(|shape| Case::new(shape, 1));
    for unit in units() {
        let trunks = [0, 1].map(|number| Trunk::new(cases[number].shape, unit).unwrap());
        let room = trunks[0].room_for_weights();
        let said = refusal(&|| trunks[1].pack(&room, &cases[1].params()));
        assert!(said.contains("room for other"), "{said:?}");
    }
}

#[test]
fn a_norm_has_parameters_and_activations_of_its_own() {
    let tiny = shape([8, 8, 4], &[[32, 4, 4]], Some(64));
    let cases = [tiny, normed(tiny)].map(|shape| Case::new(shape, 2));
    for unit in units() {
        let trunks = [&cases[0], &cases[1]].map(|case| Trunk::new(case.shape, unit).unwrap());
        let packed = [&trunks[0], &trunks[1]].map(Trunk::room_for_weights);
        for number in 0..2 {
            trunks[number].pack(&packed[number], &cases[number].params());
        }
        // The forward pass of one trunk, and the backward pass of another.
        let passes = |forward: usize, backward: usize| {
            let mut features = [bf16::ZERO; 2 * 64];
            let (images, params) = (cases[forward].images(), cases[forward].params());
            let mut made =
                trunks[forward].forward(images, &packed[forward], &params, &mut features);
            let mut of_params = cases[backward].params.clone();
            let mut of_params: Vec<_> = of_params.iter_mut().map(Vec::as_mut_slice).collect();
            let features = [&features[..]; 2];
            let packed = &packed[backward];
            trunks[backward].backward(images, packed, &mut made, features, &mut of_params);
        };
        for (number, other) in [(0, 1), (1, 0)] {
            passes(number, number);
            let trunk = &trunks[number];
            let act = |packed: &PackedTrunk, params: &[&[f32]]| {
                let mut features = [bf16::ZERO; 2 * 64];
                trunk.act(cases[0].images(), packed, params, &mut features);
            };
            let (ours, theirs) = (cases[number].params(), cases[other].params());
            let mut short = ours.clone();
            let last = short.len() - 1;
            short[last] = &ours[last][1..];
            let refused: [(&str, &dyn Fn()); 6] = [
                ("parameters", &|| trunk.pack(&packed[number], &theirs)),
                ("parameters", &|| act(&packed[number], &theirs)),
                ("parameters", &|| act(&packed[number], &ours[..last])),
                ("parameters", &|| act(&packed[number], &short)),
                ("other weights", &|| act(&packed[other], &ours)),
                ("activations", &|| passes(other, number)),
            ];
            for (expected, work) in refused {
                let said = refusal(work);
                assert!(said.contains(expected), "{said:?}, not {expected:?}");
            }
        }
    }
}
