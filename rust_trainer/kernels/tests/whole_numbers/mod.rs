//! The residual network in whole numbers, written down from its definition: as long as they are small, bfloat16 and
//! sums of float32 are exact, and so must be all that the kernels make of them.

use learner_kernels::{ResidualShape, bf16};

use crate::{numbers::uniform, passes::Passes};

/// `[channels][rows][columns]` of an image.
#[derive(Clone)]
struct Plane {
    sides: [usize; 3],
    numbers: Vec<i64>,
}

/// Weights `[outputs][inputs][3][3]` and biases.
struct Conv {
    weight: Vec<i64>,
    bias: Vec<i64>,
}

/// A network of small whole numbers and what goes through it.
pub struct Case {
    shape: ResidualShape<'static>,
    convs: Vec<Conv>,
    linear: Option<Conv>,
    bytes: Vec<u8>,
    places: Vec<usize>,
    of_features: Vec<i64>,
}

/// What a forward and a backward pass make.
pub struct Expected {
    pub features: Vec<i64>,
    pub of_params: Vec<Vec<i64>>,
}

/// Whole numbers below `end`, the same each time.
fn below(end: usize, count: usize, seed: u64) -> Vec<usize> {
    let whole = |number: f32| ((number + 0.5) * end as f32) as usize;
    uniform(count, seed).into_iter().map(whole).collect()
}

impl Conv {
    /// For each output so many weights of 1 or -1 and a bias from -1 to 1.
    fn new([outputs, terms]: [usize; 2], weights: usize, seed: u64) -> Self {
        let mut weight = vec![0; outputs * terms];
        let places = below(2 * terms, outputs * weights, seed);
        for (number, place) in places.into_iter().enumerate() {
            weight[number / weights * terms + place / 2] = 1 - place as i64 % 2 * 2;
        }
        let bias = below(3, outputs, seed + 1).into_iter();
        let bias = bias.map(|number| number as i64 - 1).collect();
        Self { weight, bias }
    }
}

impl Plane {
    fn zeros(sides: [usize; 3]) -> Self {
        let numbers = vec![0; sides.iter().product()];
        Self { sides, numbers }
    }

    /// Where a pixel of a channel is, counted from the one before the first.
    fn at(&self, channel: usize, row: usize, column: usize) -> Option<usize> {
        let [_, rows, columns] = self.sides;
        let (row, column) = (row.checked_sub(1)?, column.checked_sub(1)?);
        (row < rows && column < columns).then_some((channel * rows + row) * columns + column)
    }

    fn rectified(&self) -> Self {
        let numbers = self.numbers.iter().map(|number| (*number).max(0)).collect();
        Self { numbers, ..*self }
    }

    /// Zero where `outputs` of rectified units are not above it.
    fn passed(mut self, outputs: &Self) -> Self {
        for (of, output) in self.numbers.iter_mut().zip(&outputs.numbers) {
            *of *= i64::from(*output > 0);
        }
        self
    }

    fn plus(mut self, other: &Self) -> Self {
        for (number, other) in self.numbers.iter_mut().zip(&other.numbers) {
            *number += other;
        }
        self
    }

    /// All are whole numbers that bfloat16 has.
    fn small(self) -> Self {
        assert!(self.numbers.iter().all(|number| number.abs() <= 256));
        self
    }

    /// Calls `product` with the places of input, weight and output of each product of a convolution of `outputs`.
    fn products(&self, outputs: usize, mut product: impl FnMut(usize, usize, usize)) {
        let [inputs, rows, columns] = self.sides;
        for to in 0..outputs * rows * columns {
            let (output, row, column) = (to / columns / rows, to / columns % rows, to % columns);
            for place in 0..inputs * 9 {
                let (input, below, beside) = (place / 9, place / 3 % 3, place % 3);
                if let Some(from) = self.at(input, row + below, column + beside) {
                    product(from, output * inputs * 9 + place, to);
                }
            }
        }
    }

    fn convolved(&self, conv: &Conv) -> Self {
        let [_, rows, columns] = self.sides;
        let mut made = Self::zeros([conv.bias.len(), rows, columns]);
        for (at, to) in made.numbers.iter_mut().enumerate() {
            *to = conv.bias[at / columns / rows];
        }
        self.products(conv.bias.len(), |from, weight, to| {
            made.numbers[to] += self.numbers[from] * conv.weight[weight];
        });
        made.small()
    }

    /// The gradient of this from that of what was [made of it](Self::convolved); adds to that of the weights.
    fn of_convolved(&self, conv: &Conv, of_y: &Self, of: &mut Conv) -> Self {
        let mut of_x = Self::zeros(self.sides);
        self.products(conv.bias.len(), |from, weight, to| {
            of_x.numbers[from] += conv.weight[weight] * of_y.numbers[to];
            of.weight[weight] += self.numbers[from] * of_y.numbers[to];
        });
        let pixels = self.sides[1] * self.sides[2];
        for (at, of_y) in of_y.numbers.iter().enumerate() {
            of.bias[at / pixels] += of_y;
        }
        of_x.small()
    }

    /// The maxima, and where each of them stands.
    fn pooled(&self) -> (Self, Vec<usize>) {
        let [channels, rows, columns] = self.sides;
        let mut made = Self::zeros([channels, rows.div_ceil(2), columns.div_ceil(2)]);
        let [_, out_rows, out_columns] = made.sides;
        let mut chosen = Vec::new();
        for (at, to) in made.numbers.iter_mut().enumerate() {
            let (row, column) = (at / out_columns % out_rows, at % out_columns);
            let channel = at / out_columns / out_rows;
            let seen = (0..9)
                .filter_map(|place| self.at(channel, 2 * row + place / 3, 2 * column + place % 3));
            // The first of the largest ones, as PyTorch has it.
            let largest = seen.rev().max_by_key(|place| self.numbers[*place]);
            let largest = largest.expect("a window sees something");
            *to = self.numbers[largest];
            chosen.push(largest);
        }
        (made, chosen)
    }
}

impl Case {
    pub fn new(shape: ResidualShape<'static>, images: usize) -> Self {
        let (mut inputs, mut convs) = (shape.channels, Vec::new());
        let mut sides = [shape.height, shape.width];
        for &outputs in shape.stages {
            for number in 0..5 {
                let (inputs, weights) = if number == 0 {
                    (inputs, 2)
                } else {
                    (outputs, 1)
                };
                let seed = 10 * convs.len() as u64 + 1;
                convs.push(Conv::new([outputs, inputs * 9], weights, seed));
            }
            (inputs, sides) = (outputs, sides.map(|side| side.div_ceil(2)));
        }
        let terms = inputs * sides[0] * sides[1];
        let linear = shape
            .hidden
            .map(|outputs| Conv::new([outputs, terms], 3, 501));
        let image = shape.channels * shape.height * shape.width;
        let features = shape.hidden.unwrap_or(terms);
        let of_features = below(40, images * features, 502).into_iter();
        Self {
            shape,
            convs,
            linear,
            bytes: below(3, 3 * image, 503)
                .into_iter()
                .map(|byte| byte as u8)
                .collect(),
            places: below(2 * image + 1, images, 504),
            of_features: of_features
                .map(|of| i64::from(of == 0) - i64::from(of == 1))
                .collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Conv> {
        self.convs.iter().chain(&self.linear)
    }

    /// For the kernels, to which bytes count as 0 to 1.
    pub fn passes(&self) -> Passes {
        let of_conv = |(number, conv): (usize, &Conv)| {
            let factor = if number == 0 { 255.0 } else { 1.0 };
            let weight = conv.weight.iter().map(|weight| *weight as f32 * factor);
            let bias = conv.bias.iter().map(|bias| *bias as f32);
            [weight.collect(), bias.collect()]
        };
        let of_features = self.of_features.iter();
        Passes {
            shape: self.shape,
            params: self.all().enumerate().flat_map(of_conv).collect(),
            bytes: self.bytes.clone(),
            places: self.places.clone(),
            of_features: of_features.map(|of| bf16::from_f32(*of as f32)).collect(),
        }
    }

    /// By their definition.
    pub fn expected(&self) -> Expected {
        let zeros = |conv: &Conv| Conv {
            weight: vec![0; conv.weight.len()],
            bias: vec![0; conv.bias.len()],
        };
        let mut of: Vec<Conv> = self.all().map(zeros).collect();
        let per_image = self.of_features.len() / self.places.len();
        let mut features = Vec::new();
        for (place, of_features) in self.places.iter().zip(self.of_features.chunks(per_image)) {
            features.extend(self.pass(*place, of_features, &mut of));
        }
        let of_params = of.into_iter().flat_map(|of| [of.weight, of.bias]);
        Expected {
            features,
            of_params: of_params.collect(),
        }
    }

    /// The features of an image; adds to the gradients.
    fn pass(&self, place: usize, of_features: &[i64], of: &mut [Conv]) -> Vec<i64> {
        let ResidualShape {
            channels,
            height,
            width,
            ..
        } = self.shape;
        let mut x = Plane::zeros([channels, height, width]);
        for (at, number) in x.numbers.iter_mut().enumerate() {
            let (channel, pixel) = (at / (height * width), at % (height * width));
            *number = self.bytes[place + pixel * channels + channel].into();
        }
        let mut kept = Vec::new();
        for convs in self.convs.chunks(5) {
            let made = x.convolved(&convs[0]);
            let (pooled, chosen) = made.pooled();
            kept.push((x, made.sides, chosen, Vec::new()));
            x = pooled;
            for branch in convs[1..].chunks(2) {
                let first = x.rectified();
                let second = first.convolved(&branch[0]).rectified();
                x = x.plus(&second.convolved(&branch[1])).small();
                let inputs = &mut kept.last_mut().expect("a stage").3;
                inputs.extend([first, second]);
            }
        }
        let last = x.rectified();
        let (features, of_last) = self.behind(&last, of_features, of);
        let mut of_x = of_last.passed(&last);
        for (number, (x, sides, chosen, inputs)) in kept.into_iter().enumerate().rev() {
            let (convs, of) = (&self.convs[5 * number..][..5], &mut of[5 * number..][..5]);
            for branch in [1, 0] {
                let [first, second] = [&inputs[2 * branch], &inputs[2 * branch + 1]];
                let at = 2 * branch + 2;
                let of_second = second.of_convolved(&convs[at], &of_x, &mut of[at]);
                let of_second = of_second.passed(second);
                let of_first = first.of_convolved(&convs[at - 1], &of_second, &mut of[at - 1]);
                of_x = of_x.plus(&of_first.passed(first)).small();
            }
            let mut of_made = Plane::zeros(sides);
            for (chosen, of) in chosen.into_iter().zip(&of_x.numbers) {
                of_made.numbers[chosen] += of;
            }
            of_x = x.of_convolved(&convs[0], &of_made.small(), &mut of[0]);
        }
        features
    }

    /// The layer behind all stages.
    fn behind(&self, x: &Plane, of_features: &[i64], of: &mut [Conv]) -> (Vec<i64>, Plane) {
        let mut of_x = Plane::zeros(x.sides);
        let (Some(linear), Some(of)) = (&self.linear, of.last_mut()) else {
            of_x.numbers.copy_from_slice(of_features);
            return (x.numbers.clone(), of_x);
        };
        let features = linear.weight.chunks(x.numbers.len()).zip(&linear.bias);
        let features = features.map(|(weight, bias)| {
            let products = weight.iter().zip(&x.numbers).map(|(weight, x)| weight * x);
            (products.sum::<i64>() + bias).max(0)
        });
        let features: Vec<i64> = features.collect();
        for (output, (y, of_y)) in features.iter().zip(of_features).enumerate() {
            let of_y = if *y > 0 { *of_y } else { 0 };
            of.bias[output] += of_y;
            for (at, number) in x.numbers.iter().enumerate() {
                let weight = output * x.numbers.len() + at;
                of.weight[weight] += of_y * number;
                of_x.numbers[at] += of_y * linear.weight[weight];
            }
        }
        (features, of_x.small())
    }
}
