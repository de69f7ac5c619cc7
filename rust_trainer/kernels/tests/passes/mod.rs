//! A residual network's passes by the kernels.

use learner_kernels::{Images, PackedTrunk, ResidualShape, TileUnit, Trunk, bf16};

use crate::numbers::uniform;

/// A network's parameters and what goes through it.
pub struct Passes {
    pub shape: ResidualShape<'static>,
    pub params: Vec<Vec<f32>>,
    pub bytes: Vec<u8>,
    pub places: Vec<usize>,
    pub of_features: Vec<bf16>,
}

impl Passes {
    /// The same with numbers that look random.
    pub fn random(self) -> Self {
        let draw = |(seed, numbers): (u64, &Vec<f32>)| {
            let drawn = uniform(numbers.len(), seed).into_iter();
            drawn.map(|number| number * 0.3).collect()
        };
        let byte = |number: f32| ((number + 0.5) * 255.0).round() as u8;
        let of_features = uniform(self.of_features.len(), 601).into_iter();
        Self {
            params: (603..).zip(&self.params).map(draw).collect(),
            bytes: uniform(self.bytes.len(), 602)
                .into_iter()
                .map(byte)
                .collect(),
            of_features: of_features.map(bf16::from_f32).collect(),
            ..self
        }
    }

    fn params(&self) -> Vec<&[f32]> {
        self.params.iter().map(Vec::as_slice).collect()
    }

    fn images(&self) -> Images<'_> {
        Images {
            bytes: &self.bytes,
            places: &self.places,
        }
    }

    pub fn trunk(&self, unit: TileUnit) -> (Trunk, PackedTrunk) {
        let trunk = Trunk::residual(self.shape, unit).expect("extents that fill tiles");
        let packed = trunk.room_for_weights();
        trunk.pack(&packed, &self.params());
        (trunk, packed)
    }

    /// Features of the first images, as for acting.
    pub fn act(&self, unit: TileUnit, images: usize) -> Vec<bf16> {
        let (trunk, packed) = self.trunk(unit);
        let mut features = vec![bf16::NAN; images * trunk.features()];
        let images = Images {
            places: &self.places[..images],
            ..self.images()
        };
        trunk.act(images, &packed, &self.params(), &mut features);
        features
    }

    /// Features and the gradients of all parameters.
    pub fn run(&self, unit: TileUnit) -> (Vec<bf16>, Vec<Vec<f32>>) {
        let (trunk, packed) = self.trunk(unit);
        let (images, params) = (self.images(), self.params());
        let mut features = vec![bf16::NAN; self.of_features.len()];
        let mut activations = trunk.forward(images, &packed, &params, &mut features);
        let of = |param: &Vec<f32>| vec![f32::NAN; param.len()];
        let mut of_params: Vec<_> = self.params.iter().map(of).collect();
        let mut to: Vec<_> = of_params.iter_mut().map(Vec::as_mut_slice).collect();
        let of_features = [&*features, &self.of_features];
        trunk.backward(images, &packed, &mut activations, of_features, &mut to);
        (features, of_params)
    }
}
