//! Convolutions with the layer behind them in tiles ([`learner_kernels::Trunk`]), as one node of libtorch's graph: images
//! and parameters in, features out.

use std::sync::{Arc, Mutex, PoisonError};

use learner_kernels::{Activations, Images, PackedTrunk, Trunk, bf16};
use tch::{Device, Kind, Tensor};

use super::{
    node::{self, Backward},
    observed::Observed,
    params::Version,
};
use crate::{
    processor,
    tensors::{is_plain, numbers, numbers_mut},
};

/// A trunk over parameters of a network.
#[derive(Debug)]
pub(super) struct TiledTrunk {
    trunk: Arc<Trunk>,
    /// Extents of an image, channels first.
    image: Vec<i64>,
    /// Those of each layer in turn, float32, as a [`Trunk`] takes them.
    params: Vec<Tensor>,
    version: Version,
    packed: Mutex<Option<Packed>>,
}

/// The parameters as they are multiplied, and which ones they were.
#[derive(Debug)]
struct Packed {
    version: (u64, i64),
    weights: Arc<PackedTrunk>,
}

impl Packed {
    fn is_of(&self, version: (u64, i64)) -> bool {
        self.version == version && !self.weights.has_failed()
    }
}

impl TiledTrunk {
    /// A trunk over such parameters, of images `[channels, height, width]`.
    pub fn new(trunk: Trunk, image: &[usize], params: Vec<Tensor>, version: Version) -> Self {
        Self {
            trunk: Arc::new(trunk),
            image: image.iter().map(|extent| *extent as i64).collect(),
            params,
            version,
            packed: Mutex::new(None),
        }
    }

    /// Features, bfloat16 `[images, features]`, of bytes `[images, channels, height, width]`, which are read where they
    /// lie if channels lie last; none where these or the parameters are on another device, or all is left to libtorch.
    ///
    /// # Panics
    /// Where libtorch fails, as its own operations do, and for images of other extents.
    pub fn forward(&self, obs: &Observed) -> Option<Tensor> {
        let (all, places) = obs.rows();
        let is_ours = !processor::is_left_to_libtorch()
            && (all.device(), all.kind()) == (Device::Cpu, Kind::Uint8)
            && self.params.iter().all(|param| is_plain(param, Kind::Float));
        let count = obs.count() as usize;
        if !is_ours || count == 0 {
            return None;
        }
        assert_eq!(all.size()[1..], self.image, "extents of the images");
        let images = all.permute([0, 2, 3, 1]).contiguous();
        let image = images.numel() / images.size()[0] as usize;
        let places: Vec<usize> = match places {
            Some(places) => places.iter().map(|place| *place as usize * image).collect(),
            None => (0..count).map(|number| number * image).collect(),
        };
        let inputs: Vec<&Tensor> = self.params.iter().collect();
        let params: Vec<&[f32]> = self.params.iter().map(numbers).collect();
        let weights = self.weights(&params);
        let shape = [count as i64, self.trunk.features() as i64];
        let mut features = Tensor::empty(shape, (Kind::BFloat16, Device::Cpu));
        let bytes = Images {
            bytes: numbers(&images),
            places: &places,
        };
        if !node::wants_gradients(&inputs) {
            let to = numbers_mut(&mut features);
            self.trunk.act(bytes, &weights, &params, to);
            return Some(features);
        }
        let to = numbers_mut(&mut features);
        let activations = self.trunk.forward(bytes, &weights, &params, to);
        let saved = Saved {
            trunk: Arc::clone(&self.trunk),
            weights,
            images,
            places,
            activations,
            features: features.detach(),
        };
        node::attach(&mut features, &inputs, 0, saved);
        Some(features)
    }

    /// The present weights, packed by whoever comes first, together with those who come meanwhile.
    fn weights(&self, params: &[&[f32]]) -> Arc<PackedTrunk> {
        // libtorch counts what is written to a tensor through it, `Version` what is written to all of them at once.
        let of_tensors = self.params.iter().map(Tensor::internal_version).sum();
        let version = (self.version.get(), of_tensors);
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let present = match packed.take() {
            Some(present) if present.is_of(version) => present,
            before => {
                // Their memory is used again, unless a graph still needs it.
                let room = before.and_then(|before| Arc::into_inner(before.weights));
                let mut room = room.unwrap_or_else(|| self.trunk.room_for_weights());
                room.clear();
                let weights = Arc::new(room);
                Packed { version, weights }
            }
        };
        let weights = Arc::clone(&present.weights);
        *packed = Some(present);
        drop(packed);
        self.trunk.pack(&weights, params);
        weights
    }
}

/// What the backward pass wants to know.
struct Saved {
    trunk: Arc<Trunk>,
    weights: Arc<PackedTrunk>,
    images: Tensor,
    places: Vec<usize>,
    activations: Activations,
    features: Tensor,
}

impl Backward for Saved {
    fn backward(&mut self, of_features: &Tensor, mut of_params: Vec<Tensor>) {
        let images = Images {
            bytes: numbers(&self.images),
            places: &self.places,
        };
        let features: [&[bf16]; 2] = [numbers(&self.features), numbers(of_features)];
        let mut of_params: Vec<&mut [f32]> = of_params.iter_mut().map(numbers_mut).collect();
        let (weights, activations) = (&self.weights, &mut self.activations);
        self.trunk
            .backward(images, weights, activations, features, &mut of_params);
    }
}
