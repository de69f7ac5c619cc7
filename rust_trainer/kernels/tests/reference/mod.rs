//! Passes through a trunk in float64, written down from their definition, beside those of the kernels.
//!
//! Each layer starts from the kernels' own activations, so that a new one must be what a sum of float32 that is a little
//! off is rounded to. Gradients of activations are not shown: how far apart they may be rounded goes along with them to
//! the layers before. Most are not, so that these bounds are narrow, too.

use learner_kernels::{TileUnit, bf16};

use crate::common::{Case, Layer, Made};
use norm::Normed;

mod norm;

/// A sum of what the kernels add up in float32.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    /// What it would be without signs.
    absolute: f64,
    /// How far it may be off because of the numbers that are added.
    off: f64,
}

/// A number that the kernels round to bfloat16: it, and how far theirs may be off.
type Near = (f64, f64);

impl Sum {
    fn add(&mut self, factor: f64, (number, off): Near) {
        self.value += factor * number;
        self.absolute += (factor * number).abs();
        self.off += factor.abs() * off;
    }

    /// Where that of the kernels lies.
    fn range(self) -> [f64; 2] {
        let off = self.off + 4.0 * self.absolute / f64::from(1 << 24);
        [self.value - off, self.value + off]
    }

    fn rounded(self) -> Near {
        rounded_near(self.value, self.range())
    }
}

/// What a number in this range is rounded to.
fn rounded_near(number: f64, range: [f64; 2]) -> Near {
    let value = rounded(number);
    let [low, high] = range.map(rounded);
    (value, (value - low).max(high - value))
}

fn rounded(number: f64) -> f64 {
    bf16::from_f32(number as f32).into()
}

fn assert_within(what: &str, layer: &Layer, ours: f64, [low, high]: [f64; 2]) {
    let is_within = low <= ours && ours <= high;
    assert!(
        is_within,
        "{what} of {layer:?}: {ours:e}, not {low:e} to {high:e}"
    );
}

/// Calls `product` with the places of input, weight and output of each product of an image.
fn products(layer: &Layer, mut product: impl FnMut(usize, usize, usize)) {
    let ([channels, rows, columns], [height, width]) = (layer.from, layer.kernel);
    let [outputs, out_rows, out_columns] = layer.to;
    for to in 0..outputs * out_rows * out_columns {
        let row = to / out_columns % out_rows * layer.stride;
        let column = to % out_columns * layer.stride;
        let output = to / (out_columns * out_rows);
        for line in 0..channels * height {
            let from = (line / height * rows + row + line % height) * columns + column;
            let weight = (output * channels * height + line) * width;
            (0..width).for_each(|at| product(from + at, weight + at, to));
        }
    }
}

/// The images as `[channel][row][column]`, one after the other.
fn pixels(case: &Case) -> Vec<f64> {
    let [channels, height, width] = case.layers[0].from;
    let byte = |at: usize| at % (height * width) * channels + at / (height * width);
    let image = |place: &usize| {
        let bytes = &case.bytes[*place..];
        (0..channels * height * width).map(move |at| bytes[byte(at)].into())
    };
    case.places.iter().flat_map(image).collect()
}

/// Its parameters.
fn of_layer(case: &Case, number: usize) -> &[Vec<f32>] {
    &case.params[number * case.per_layer()..][..case.per_layer()]
}

/// A pixel's outputs among those of an image.
fn pixel<N: Copy>(image: &[N], layer: &Layer, pixel: usize) -> Vec<N> {
    let pixels = layer.to[1] * layer.to[2];
    image[pixel..].iter().step_by(pixels).copied().collect()
}

/// The weights of a layer as they are multiplied: those of the first one include that bytes count as 0 to 1.
fn weights(case: &Case, number: usize) -> Vec<f64> {
    let divisor = if number == 0 { 255.0 } else { 1.0 };
    let weights = of_layer(case, number)[0].iter();
    weights
        .map(|weight| bf16::from_f32(weight / divisor).into())
        .collect()
}

/// The kernels' activations, from the images on; each layer's are what float64 makes of those before. Behind them what
/// each layer normalizes, pixel by pixel.
fn activations(case: &Case, unit: TileUnit) -> (Vec<Vec<f64>>, Vec<Vec<Normed>>) {
    let (mut activations, mut normed) = (vec![pixels(case)], Vec::new());
    for (number, layer) in case.layers.iter().enumerate() {
        let y = case.features(unit, number + 1, false);
        let (weight, bias) = (weights(case, number), &of_layer(case, number)[1]);
        normed.push(Vec::new());
        let [ins, outs] = layer.sizes();
        for (x, y) in activations[number].chunks(ins).zip(y.chunks(outs)) {
            let mut sums = vec![Sum::default(); y.len()];
            for (at, sum) in sums.iter_mut().enumerate() {
                sum.add(1.0, (bias[at * bias.len() / outs].into(), 0.0));
            }
            products(layer, |from, by, to| {
                sums[to].add(x[from], (weight[by], 0.0));
            });
            let mut ranges: Vec<_> = sums.iter().map(|sum| sum.range()).collect();
            if let [_, _, scale, shift] = of_layer(case, number) {
                let sums: Vec<Near> = sums.into_iter().map(Sum::rounded).collect();
                let pixels = y.len() / scale.len();
                for at in 0..pixels {
                    let made = Normed::new(&pixel(&sums, layer, at));
                    let places = (at..).step_by(pixels);
                    for (place, range) in places.zip(made.outputs([scale, shift])) {
                        ranges[place] = range;
                    }
                    normed[number].push(made);
                }
            }
            for (y, range) in y.iter().zip(ranges) {
                let range = range.map(|number| rounded(number.max(0.0)));
                assert_within("output", layer, (*y).into(), range);
            }
        }
        assert_eq!(y.len(), outs * case.places.len());
        activations.push(y.into_iter().map(f64::from).collect());
    }
    (activations, normed)
}

/// The gradient of the sums from that of what the norm made of them; adds to those of scale and shift.
fn before_norm(
    layer: &Layer,
    (scale, normed): (&[f32], &[Normed]),
    of_y: &[Near],
    [of_scale, of_shift]: [&mut [Sum]; 2],
) -> Vec<Near> {
    let mut of_sums = of_y.to_vec();
    let (size, pixels) = (layer.sizes()[1], layer.to[1] * layer.to[2]);
    for (number, normed) in normed.iter().enumerate() {
        let (image, at) = (number / pixels * size, number % pixels);
        let of_y = pixel(&of_y[image..][..size], layer, at);
        let of = normed.backward(scale, &of_y, [of_scale, of_shift]);
        let places = (image + at..).step_by(pixels);
        places.zip(of).for_each(|(place, of)| of_sums[place] = of);
    }
    of_sums
}

/// Compares features and gradients.
pub fn compare(case: &Case, unit: TileUnit, made: &Made) {
    let (activations, normed) = activations(case, unit);
    let features = made.features.iter().map(|number| f64::from(*number));
    assert!(
        features.eq(activations[case.layers.len()].iter().copied()),
        "features"
    );
    let of_features = case.of_features.iter();
    let mut of_y: Vec<Near> = of_features.map(|&of| (of.into(), 0.0)).collect();
    for (number, layer) in case.layers.iter().enumerate().rev() {
        let weight = weights(case, number);
        let (x, y) = (&activations[number], &activations[number + 1]);
        for (of_y, _) in of_y.iter_mut().zip(y).filter(|(_, y)| **y <= 0.0) {
            *of_y = (0.0, 0.0);
        }
        let mut of_x = vec![Sum::default(); x.len()];
        let mut of_weight = vec![Sum::default(); weight.len()];
        let [mut of_bias, mut of_scale, mut of_shift] =
            [(); 3].map(|()| vec![Sum::default(); layer.to[0]]);
        if let [_, _, scale, _] = of_layer(case, number) {
            let of_params = [&mut *of_scale, &mut *of_shift];
            of_y = before_norm(layer, (scale, &normed[number]), &of_y, of_params);
        }
        let scale = if number == 0 { 1.0 / 255.0 } else { 1.0 };
        let [ins, outs] = layer.sizes();
        let images = x.chunks(ins).zip(of_x.chunks_mut(ins));
        for ((x, of_x), of_y) in images.zip(of_y.chunks(outs)) {
            for (at, of_y) in of_y.iter().enumerate() {
                of_bias[at * layer.to[0] / outs].add(1.0, *of_y);
            }
            products(layer, |from, by, to| {
                of_weight[by].add(x[from] * scale, of_y[to]);
                if number > 0 {
                    of_x[from].add(weight[by], of_y[to]);
                }
            });
        }
        let of_params = [of_weight, of_bias, of_scale, of_shift];
        for (ours, sums) in made.of_params[case.per_layer() * number..]
            .iter()
            .zip(of_params.into_iter().take(case.per_layer()))
        {
            assert_eq!(ours.len(), sums.len());
            for (ours, sum) in ours.iter().zip(sums) {
                assert_within("gradient", layer, (*ours).into(), sum.range());
            }
        }
        of_y = of_x.into_iter().map(Sum::rounded).collect();
    }
}
