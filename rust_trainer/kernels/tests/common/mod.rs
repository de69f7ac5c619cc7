//! Trunks with parameters, images and gradients to run them with.

#[path = "../numbers/mod.rs"]
mod numbers;

use learner_kernels::{Images, PackedTrunk, TileUnit, Trunk, TrunkShape, bf16};
pub use numbers::uniform;

/// A layer by its definition. The fully connected one is a convolution whose kernel is as large as its images.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Channels, rows and columns.
    pub from: [usize; 3],
    /// Rows and columns.
    pub kernel: [usize; 2],
    pub stride: usize,
    pub to: [usize; 3],
}

impl Layer {
    fn new(from: [usize; 3], outputs: usize, kernel: [usize; 2], stride: usize) -> Self {
        let out = |side: usize| (from[1 + side] - kernel[side]) / stride + 1;
        let to = [outputs, out(0), out(1)];
        Self {
            from,
            kernel,
            stride,
            to,
        }
    }

    /// Numbers that an output is made of.
    pub fn terms(&self) -> usize {
        self.from[0] * self.kernel.iter().product::<usize>()
    }

    /// Numbers of an image, and of what becomes of it.
    pub fn sizes(&self) -> [usize; 2] {
        [self.from, self.to].map(|extents| extents.iter().product())
    }
}

/// A trunk's extents and what goes through it.
pub struct Case {
    pub shape: TrunkShape<'static>,
    pub layers: Vec<Layer>,
    pub params: Vec<Vec<f32>>,
    pub bytes: Vec<u8>,
    pub places: Vec<usize>,
    pub of_features: Vec<bf16>,
}

/// What a forward and a backward pass make.
pub struct Made {
    pub features: Vec<bf16>,
    pub of_params: Vec<Vec<f32>>,
}

impl Made {
    pub fn bits(&self) -> Vec<u32> {
        let of_params = self.of_params.iter().flatten();
        let features = self.features.iter().map(|number| number.to_bits().into());
        features.chain(of_params.map(|of| of.to_bits())).collect()
    }
}

impl Case {
    pub fn new(shape: TrunkShape<'static>, images: usize) -> Self {
        let mut layers: Vec<Layer> = Vec::new();
        let mut from = [shape.channels, shape.height, shape.width];
        for &[outputs, kernel, stride] in shape.convolutions {
            layers.push(Layer::new(from, outputs, [kernel; 2], stride));
            from = layers[layers.len() - 1].to;
        }
        let hidden = |outputs| Layer::new(from, outputs, [from[1], from[2]], 1);
        layers.extend(shape.hidden.map(hidden));
        let params = (1..).zip(&layers).flat_map(|(seed, layer)| {
            let scale = 2.0 * (6.0 / layer.terms() as f32).sqrt();
            let numbers = |count, seed| {
                let numbers = uniform(count, seed).into_iter();
                numbers.map(|number| number * scale).collect()
            };
            let outputs = layer.to[0];
            // Scales of either sign.
            let scales = uniform(outputs, seed + 300).into_iter();
            let of_norm = [
                scales.map(|number| 2.0 * number + 0.5).collect(),
                uniform(outputs, seed + 400),
            ];
            let of_layer = [
                numbers(outputs * layer.terms(), seed),
                numbers(outputs, seed + 100),
            ];
            of_layer
                .into_iter()
                .chain(of_norm.into_iter().filter(|_| shape.norm))
        });

        // They overlap in any order; one begins with the bytes, one ends with them, and one is there twice.
        let image = shape.channels * shape.height * shape.width;
        let place = |number: f32| ((number + 0.5) * 2.0 * image as f32) as usize;
        let mut places: Vec<usize> = uniform(images, 201).into_iter().map(place).collect();
        if images > 2 {
            places[0] = 2 * image;
            places[1] = 0;
            places[images - 1] = places[2];
        }
        let byte = |number: f32| ((number + 0.5) * 255.0).round() as u8;
        let bytes = uniform(3 * image, 202).into_iter().map(byte).collect();
        let features = layers[layers.len() - 1].sizes()[1];
        let of_features = uniform(images * features, 203).into_iter();
        Self {
            params: params.collect(),
            of_features: of_features.map(bf16::from_f32).collect(),
            shape,
            layers,
            bytes,
            places,
        }
    }

    /// Parameters of each layer.
    pub fn per_layer(&self) -> usize {
        if self.shape.norm { 4 } else { 2 }
    }

    pub fn images(&self) -> Images<'_> {
        Images {
            bytes: &self.bytes,
            places: &self.places,
        }
    }

    pub fn params(&self) -> Vec<&[f32]> {
        self.params.iter().map(Vec::as_slice).collect()
    }

    pub fn run(&self, unit: TileUnit) -> Made {
        let trunk = Trunk::new(self.shape, unit).expect("extents that fill tiles");
        let packed = trunk.room_for_weights();
        trunk.pack(&packed, &self.params());
        self.pass(&trunk, &packed)
    }

    /// Both passes with weights that are packed already.
    pub fn pass(&self, trunk: &Trunk, packed: &PackedTrunk) -> Made {
        let mut features = vec![bf16::NAN; self.of_features.len()];
        let mut activations = trunk.forward(self.images(), packed, &self.params(), &mut features);
        let of = |param: &Vec<f32>| vec![f32::NAN; param.len()];
        let mut of_params: Vec<_> = self.params.iter().map(of).collect();
        let mut to: Vec<_> = of_params.iter_mut().map(Vec::as_mut_slice).collect();
        let of_features = [&*features, &self.of_features];
        trunk.backward(
            self.images(),
            packed,
            &mut activations,
            of_features,
            &mut to,
        );
        Made {
            features,
            of_params,
        }
    }
}
